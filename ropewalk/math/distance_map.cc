// Building and evaluating distance maps.
#include "ropewalk/math/distance_map.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <string>
#include <utility>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

void check_branches(const std::vector<Branch>& branches) {
  if (branches.empty()) throw Error("distance map", "must have a branch");
  int64_t covered = 0;
  for (const Branch& branch : branches) {
    if (branch.first != covered) {
      throw Error("distance map", "a branch must begin at " + std::to_string(covered),
                  std::to_string(branch.first));
    }
    if (branch.last <= branch.first) {
      throw Error("distance map",
                  "a branch must end after it begins at " + std::to_string(branch.first),
                  std::to_string(branch.last));
    }
    covered = branch.last;
  }
  if (covered != kUnbounded) {
    throw Error("distance map", "the last branch must be unbounded", std::to_string(covered));
  }
}

bool shifts_only(const PositionMap& map) { return map == PositionMap{.offset = map.offset}; }

bool is_plain(const PositionMap& query, const PositionMap& key) {
  return shifts_only(query) && shifts_only(key) && query.offset == key.offset;
}

// s of the table: see PositionMap.
int64_t stepped(const std::vector<PositionStep>& steps, int64_t position) {
  const auto next = std::ranges::upper_bound(steps, position, {}, &PositionStep::first);
  if (next == steps.begin()) return 0;
  const PositionStep& step = *std::prev(next);
  return step.value + (position - step.first) / step.group;
}

// f(d) = value + slope * (d - first) for first <= d < last.
Branch straight_line(int64_t first, int64_t last, DoubleDouble value, DoubleDouble slope) {
  return {.first = first,
          .last = last,
          .query = {.offset = value - slope * DoubleDouble(first), .slope = slope},
          .key = {.slope = slope}};
}

}  // namespace

DoubleDouble PositionMap::operator()(int64_t position) const {
  assert(position >= 0 && group >= 1 && period >= 1);
  const int64_t whole = steps.empty() ? position % period / group : stepped(steps, position);
  const DoubleDouble value = offset + slope * DoubleDouble(whole);
  return min(limit, carry == 0.0 ? value : value + carry * DoubleDouble(position / period));
}

const PositionMap& Branch::query_of(int64_t pair) const {
  for (const PairBand& band : bands) {
    if (band.pairs.holds(pair)) return band.query;
  }
  return query;
}

const PositionMap& Branch::key_of(int64_t pair) const {
  for (const PairBand& band : bands) {
    if (band.pairs.holds(pair)) return band.key;
  }
  return key;
}

DistanceMap::DistanceMap(std::vector<Branch> branches, PairRange pairs)
    : branches_(std::move(branches)), pairs_(pairs) {
  check_branches(branches_);
}

DistanceMap::DistanceMap(Curve curve, PairRange pairs) : curve_(std::move(curve)), pairs_(pairs) {
  assert(curve_);
}

DistanceMap DistanceMap::by_chunks(int64_t chunk, std::vector<Branch> branches, PairRange pairs) {
  if (chunk < 1) throw Error("distance map", "chunks must hold a token", std::to_string(chunk));
  DistanceMap map(std::move(branches), pairs);
  map.chunk_ = chunk;
  return map;
}

DistanceMap DistanceMap::by_length(LengthFunction at) {
  assert(at);
  DistanceMap map;
  map.branches_.clear();
  map.by_length_ = std::move(at);
  return map;
}

DistanceMap DistanceMap::for_length(int64_t n) const {
  assert(n >= 1);
  if (!depends_on_length()) return *this;
  DistanceMap map = by_length_(n);
  assert(!map.depends_on_length());
  return map;
}

bool DistanceMap::is_identity() const {
  if (is_curve() || depends_on_length()) return false;
  return std::ranges::all_of(branches_, [](const Branch& branch) {
    return is_plain(branch.query, branch.key) &&
           std::ranges::all_of(branch.bands,
                               [](const PairBand& band) { return is_plain(band.query, band.key); });
  });
}

const Branch& DistanceMap::branch_between(int64_t i, int64_t j) const {
  assert(!depends_on_length() && !is_curve());
  const int64_t apart = chunk_ == 0 ? i - j : i / chunk_ - j / chunk_;
  return *std::ranges::find_if(branches_,
                               [apart](const Branch& candidate) { return apart < candidate.last; });
}

DoubleDouble DistanceMap::at(int64_t i, int64_t j, int64_t pair) const {
  assert(0 <= j && j <= i && !depends_on_length());
  if (is_curve()) return curve_(i - j);
  const Branch& branch = branch_between(i, j);
  return branch.query_of(pair)(i) - branch.key_of(pair)(j);
}

bool DistanceMap::operator==(const DistanceMap& other) const {
  const auto is_list = [](const DistanceMap& map) {
    return !map.is_curve() && !map.depends_on_length();
  };
  return is_list(*this) && is_list(other) && branches_ == other.branches_ &&
         chunk_ == other.chunk_ && pairs_ == other.pairs_;
}

DistanceMap piecewise_linear(int64_t window, DoubleDouble start, DoubleDouble slope,
                             PairRange pairs) {
  if (window < 0) throw Error("window", "must not be negative", std::to_string(window));
  std::vector<Branch> branches;
  if (window > 0) {
    Branch plain;
    plain.last = window;
    branches.push_back(plain);
  }
  if (window < kUnbounded) branches.push_back(straight_line(window, kUnbounded, start, slope));
  return DistanceMap(std::move(branches), pairs);
}

DistanceMap through_points(const std::vector<CurvePoint>& points, PairRange pairs) {
  if (points.size() < 2) {
    throw Error("distance map", "must have at least two points", std::to_string(points.size()));
  }
  if (points[0].distance != 0) {
    throw Error("distance map", "the first point must be at distance 0",
                std::to_string(points[0].distance));
  }
  for (const CurvePoint& point : points) {
    if (!is_finite(point.value)) {
      throw Error("distance map",
                  "the value at distance " + std::to_string(point.distance) + " must be finite",
                  to_decimal(point.value, 6));
    }
  }
  std::vector<Branch> branches;
  for (size_t line = 0; line + 1 < points.size(); ++line) {
    const auto& [here, value] = points[line];
    const auto& [next, next_value] = points[line + 1];
    if (next <= here) {
      throw Error("distance map", "distances must rise after " + std::to_string(here),
                  std::to_string(next));
    }
    const DoubleDouble slope = (next_value - value) / DoubleDouble(next - here);
    const bool is_last = line + 2 == points.size();
    branches.push_back(straight_line(here, is_last ? kUnbounded : next, value, slope));
  }
  return DistanceMap(std::move(branches), pairs);
}

}  // namespace ropewalk
