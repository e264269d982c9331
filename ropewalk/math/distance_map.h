// DistanceMap: which distance the rotation of a pair of tokens sees.
#ifndef ROPEWALK_MATH_DISTANCE_MAP_H_
#define ROPEWALK_MATH_DISTANCE_MAP_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "ropewalk/math/double_double.h"

namespace ropewalk {

// No bound: larger than any position. Positions and distances are below 2^53.
inline constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max();

// How one side's position becomes its rotation position:
//   min(limit, offset + slope * floor((p mod period) / group))
struct PositionMap {
  DoubleDouble offset = 0.0;
  DoubleDouble slope = 1.0;
  int64_t group = 1;            // >= 1
  int64_t period = kUnbounded;  // >= 1
  double limit = std::numeric_limits<double>::infinity();

  DoubleDouble operator()(int64_t position) const;
  bool operator==(const PositionMap&) const = default;
};

inline PositionMap fixed_position(DoubleDouble value) { return {.offset = value, .slope = 0.0}; }

// For distances first <= d < last the rotation sees query(i) - key(j).
struct Branch {
  int64_t first = 0;
  int64_t last = kUnbounded;
  PositionMap query;
  PositionMap key;
};

// Pairs `first` to `last`, both included.
struct PairRange {
  int64_t first = 0;
  int64_t last = kUnbounded;

  bool holds(int64_t pair) const { return first <= pair && pair <= last; }
};

// A list of branches, or one exact f(d); plain RoPE (f(d) = d) by default.
class DistanceMap {
 public:
  using Curve = std::function<DoubleDouble(int64_t distance)>;

  DistanceMap() : branches_{Branch{}} {}

  //   branches  in order of distance, the first from 0, each beginning where the one before ends,
  //   the last unbounded;
  //             a Branch's bounds are tested, its maps trusted. Throws Error.
  explicit DistanceMap(std::vector<Branch> branches, PairRange pairs = {});

  //   curve  f(d) for every d >= 0, finite
  explicit DistanceMap(Curve curve, PairRange pairs = {});

  bool is_identity() const;
  bool is_curve() const { return static_cast<bool>(curve_); }
  const std::vector<Branch>& branches() const { return branches_; }  // empty for a curve
  const PairRange& pairs() const { return pairs_; }

  // The distance that pairs() see between query i and key j, 0 <= j <= i. Other pairs see i - j.
  DoubleDouble at(int64_t i, int64_t j) const;

 private:
  std::vector<Branch> branches_;
  Curve curve_;
  PairRange pairs_;
};

// The pieces that most maps are made of.
// f(d) = d below `window`, then start + slope * (d - window): cap with slope 0 and start = window,
// leaky with slope 1/k.
DistanceMap piecewise_linear(int64_t window, DoubleDouble start, DoubleDouble slope,
                             PairRange pairs = {});

// f through `points`, straight lines between them, the last line's slope beyond.
//   points  (distance, value), at least two, distances whole, rising, the first 0; values finite.
//   Throws Error.
struct CurvePoint {
  int64_t distance = 0;
  DoubleDouble value;
};
DistanceMap through_points(const std::vector<CurvePoint>& points, PairRange pairs = {});

}  // namespace ropewalk

#endif  // ROPEWALK_MATH_DISTANCE_MAP_H_
