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

// From token `first` on: value + floor((p - first) / group).
struct PositionStep {
  int64_t first = 0;
  int64_t value = 0;
  int64_t group = 1;  // >= 1

  bool operator==(const PositionStep&) const = default;
};

// How one side's position becomes its rotation position:
//   min(limit, offset + slope * floor((p mod period) / group) + carry * floor(p / period))
// or, where there are steps, min(limit, offset + slope * s) with s from the last step that has
// begun at p, and 0 before the first.
struct PositionMap {
  DoubleDouble offset = 0.0;
  DoubleDouble slope = 1.0;
  int64_t group = 1;            // >= 1
  int64_t period = kUnbounded;  // >= 1
  double limit = std::numeric_limits<double>::infinity();
  DoubleDouble carry = 0.0;         // what each whole period adds
  std::vector<PositionStep> steps;  // rising in `first`

  DoubleDouble operator()(int64_t position) const;
  bool operator==(const PositionMap&) const = default;
};

inline PositionMap fixed_position(DoubleDouble value) { return {.offset = value, .slope = 0.0}; }

// Pairs `first` to `last`, both included.
struct PairRange {
  int64_t first = 0;
  int64_t last = kUnbounded;

  bool holds(int64_t pair) const { return first <= pair && pair <= last; }
  bool operator==(const PairRange&) const = default;
};

// The positions of pairs that differ from the others of their branch.
struct PairBand {
  PairRange pairs;
  PositionMap query;
  PositionMap key;

  bool operator==(const PairBand&) const = default;
};

// Where first <= d < last the rotation sees query(i) - key(j). In a map that goes by chunks the
// bounds are those of the chunk gap instead.
struct Branch {
  int64_t first = 0;
  int64_t last = kUnbounded;
  PositionMap query;
  PositionMap key;
  std::vector<PairBand> bands;  // the first that holds a pair is its own; query and key else

  const PositionMap& query_of(int64_t pair) const;
  const PositionMap& key_of(int64_t pair) const;
  bool operator==(const Branch&) const = default;
};

// A list of branches, one exact f(d), or either as a function of the length; plain RoPE (f(d) = d)
// by default.
class DistanceMap {
 public:
  using Curve = std::function<DoubleDouble(int64_t distance)>;
  using LengthFunction = std::function<DistanceMap(int64_t length)>;

  DistanceMap() : branches_{Branch{}} {}

  //   branches  in order of distance, the first from 0, each beginning where the one before ends,
  //   the last unbounded;
  //             a Branch's bounds are tested, its maps trusted. Throws Error.
  explicit DistanceMap(std::vector<Branch> branches, PairRange pairs = {});

  //   curve  f(d) for every d >= 0, finite
  explicit DistanceMap(Curve curve, PairRange pairs = {});

  // Branches by the chunk gap floor(i / chunk) - floor(j / chunk) in place of the distance.
  //   chunk     tokens, >= 1
  //   branches  as above, in order of the gap. Throws Error.
  static DistanceMap by_chunks(int64_t chunk, std::vector<Branch> branches, PairRange pairs = {});

  //   at  the map of a sequence of n tokens, itself free of the length. The length that a row
  //       sees is that of its spectrum: SpectrumRule::length_for_row().
  static DistanceMap by_length(LengthFunction at);

  bool depends_on_length() const { return static_cast<bool>(by_length_); }
  // The map for a length of n tokens, n >= 1. Everything below asks for one free of the length.
  DistanceMap for_length(int64_t n) const;

  bool is_identity() const;
  bool is_curve() const { return static_cast<bool>(curve_); }
  const std::vector<Branch>& branches() const { return branches_; }  // empty for a curve
  int64_t chunk() const { return chunk_; }  // that branches go by; 0: they go by distance
  const PairRange& pairs() const { return pairs_; }

  // The branch that holds between query i and key j, 0 <= j <= i; not for a curve.
  const Branch& branch_between(int64_t i, int64_t j) const;

  // The distance that `pair`, one of pairs(), sees between query i and key j, 0 <= j <= i. Other
  // pairs see i - j. Without a pair: what the first of pairs() sees.
  DoubleDouble at(int64_t i, int64_t j, int64_t pair) const;
  DoubleDouble at(int64_t i, int64_t j) const { return at(i, j, pairs_.first); }

  // Whether two maps are the same list of branches; false where one is a curve or depends on the
  // length.
  bool operator==(const DistanceMap& other) const;

 private:
  std::vector<Branch> branches_;
  Curve curve_;
  LengthFunction by_length_;
  int64_t chunk_ = 0;
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
