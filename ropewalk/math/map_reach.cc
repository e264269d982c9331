#include "ropewalk/math/map_reach.h"

#include <algorithm>
#include <cassert>

namespace ropewalk {
namespace {

// Keys first <= j < last, where one branch holds for row i.
struct Run {
  int64_t first = 0;
  int64_t last = 0;
};

Run run_of(const DistanceMap& map, const Branch& branch, int64_t i) {
  const int64_t size = map.chunk() == 0 ? 1 : map.chunk();
  const int64_t own = i / size;
  Run run{.last = std::min(i + 1, (own - branch.first + 1) * size)};
  if (branch.last < kUnbounded) run.first = std::max<int64_t>(0, (own - branch.last + 1) * size);
  return run;
}

// Where a key's position can be least or largest: at the ends of the run and of its periods.
template <typename Visit>
void for_extremes(const Run& run, int64_t period, const Visit& visit) {
  visit(run.first);
  visit(run.last - 1);
  if (period == kUnbounded) return;
  const int64_t starts[] = {(run.first + period - 1) / period * period,
                            (run.last - 1) / period * period};
  for (const int64_t start : starts) {
    for (const int64_t key : {start - 1, start}) {
      if (run.first <= key && key < run.last) visit(key);
    }
  }
}

// The largest |f(i, j)| over the keys of one run; `map` free of the length.
DoubleDouble farthest_of_keys(const DistanceMap& map, int64_t i, const Run& keys) {
  if (map.is_curve()) return abs(map.at(i, keys.first));  // the rows before had the others
  DoubleDouble farthest = 0.0;
  for (const Branch& branch : map.branches()) {
    Run run = run_of(map, branch, i);
    run = {std::max(run.first, keys.first), std::min(run.last, keys.last)};
    if (run.first >= run.last) continue;
    const auto look = [&](const PositionMap& query, const PositionMap& key) {
      const DoubleDouble at = query(i);
      for_extremes(run, key.period, [&](int64_t j) { farthest = max(farthest, abs(at - key(j))); });
    };
    look(branch.query, branch.key);
    for (const PairBand& band : branch.bands) look(band.query, band.key);
  }
  return farthest;
}

DoubleDouble farthest_of_row(const DistanceMap& map, int64_t i, const Visibility& seen) {
  const int64_t first = i < seen.window ? 0 : i - seen.window + 1;
  DoubleDouble farthest = farthest_of_keys(map, i, {first, i + 1});
  const Run sinks{0, std::min(first, seen.sinks)};
  if (sinks.first < sinks.last) {
    farthest = max(farthest, farthest_of_keys(map, seen.standing(i, 0), sinks));
  }
  return farthest;
}

}  // namespace

DoubleDouble farthest_distance(const DistanceMap& map, int64_t n, const Visibility& seen) {
  assert(n >= 1);
  const DistanceMap fixed = map.for_length(n);
  DoubleDouble farthest = 0.0;
  for (int64_t i = 0; i < n; ++i) farthest = max(farthest, farthest_of_row(fixed, i, seen));
  return farthest;
}

int64_t longest_within(const DistanceMap& map, DoubleDouble bound, int64_t most,
                       const Visibility& seen) {
  for (int64_t n = 1; n <= most; ++n) {
    const bool fits = map.depends_on_length() ? farthest_distance(map, n, seen) < bound
                                              : farthest_of_row(map, n - 1, seen) < bound;
    if (!fits) return n - 1;
  }
  return most;
}

std::optional<DoubleDouble> effective_distance(const Rotary& rotary, int64_t n, int64_t d) {
  const int64_t i = n - 1;
  const int64_t j = i - d;
  if (!rotary.visibility.sees(i, j)) return std::nullopt;
  return rotary.distance.at(rotary.visibility.standing(i, j), j);
}

}  // namespace ropewalk
