// Building and evaluating distance maps.
#include "ropewalk/math/distance_map.h"

#include <algorithm>
#include <cassert>
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

bool shifts_only(const PositionMap& map) {
  return map.slope == 1.0 && map.group == 1 && map.period == kUnbounded &&
         map.limit == std::numeric_limits<double>::infinity();
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
  const int64_t whole = position % period / group;
  return min(limit, offset + slope * DoubleDouble(whole));
}

DistanceMap::DistanceMap(std::vector<Branch> branches, PairRange pairs)
    : branches_(std::move(branches)), pairs_(pairs) {
  check_branches(branches_);
}

DistanceMap::DistanceMap(Curve curve, PairRange pairs) : curve_(std::move(curve)), pairs_(pairs) {
  assert(curve_);
}

bool DistanceMap::is_identity() const {
  if (is_curve()) return false;
  return std::ranges::all_of(branches_, [](const Branch& branch) {
    return shifts_only(branch.query) && shifts_only(branch.key) &&
           branch.query.offset == branch.key.offset;
  });
}

DoubleDouble DistanceMap::at(int64_t i, int64_t j) const {
  assert(0 <= j && j <= i);
  const int64_t d = i - j;
  if (is_curve()) return curve_(d);
  const auto branch =
      std::ranges::find_if(branches_, [d](const Branch& candidate) { return d < candidate.last; });
  return branch->query(i) - branch->key(j);
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
