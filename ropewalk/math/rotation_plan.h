// RotationPlan: a Rotary spelt out as a list of branches, the form in which kernels take it.
#ifndef ROPEWALK_MATH_ROTATION_PLAN_H_
#define ROPEWALK_MATH_ROTATION_PLAN_H_

#include <cstdint>
#include <vector>

#include "ropewalk/math/rotary.h"

namespace ropewalk {

// What a branch does with a pair.
enum class PairState : uint8_t {
  kMapped,  // turns with the branch's query and key positions
  kTrue,    // turns with the tokens' own positions
  kFrozen,  // stands at the mask's turns
  kSilent,  // adds nothing
};

// Keys that one row sees: first <= j < last.
struct KeyInterval {
  int64_t first = 0;
  int64_t last = 0;

  bool empty() const { return first >= last; }
};

// Holds for a query i and a key j, d = i - j, standing = min(i, query_limit), where all of these
// hold:
//   first <= d < last;  j < key_end;  i >= first_query;
//   first_standing <= s < last_standing, where s = standing - j, or, where chunk > 0, the gap
//   floor(standing / chunk) - floor(j / chunk)
// There, a mapped pair turns by query(standing) - key(j) tokens, a true one by standing - j.
struct PlanBranch {
  int64_t first = 0;
  int64_t last = kUnbounded;
  int64_t key_end = kUnbounded;
  int64_t first_query = 0;
  int64_t query_limit = kUnbounded;
  int64_t chunk = 0;
  int64_t first_standing = 0;
  int64_t last_standing = kUnbounded;

  Branch positions;                         // query and key by pair; its bounds say nothing here
  std::vector<DoubleDouble> key_positions;  // (key_end) in place of the keys', or empty
  std::vector<PairState> pairs;             // (n_pairs)

  // The keys of row i for which the branch holds: always one run.
  KeyInterval keys(int64_t i) const;
};

// Every (i, j) that is seen falls into exactly one branch, or, where the map is a curve and no
// branch holds, turns pair by pair with the angle that distance_turns() gives for d.
struct RotationPlan {
  std::vector<PlanBranch> branches;
  bool by_distance = false;        // pairs of tokens outside every branch go by distance_turns()
  bool sinks_by_distance = false;  // those of far sinks too, which then have a run of their own
  int64_t n_by_distance = 0;       // distances 0 <= d < n_by_distance occur there
  Visibility visibility;

  // The keys of row i that go by distance; empty where by_distance is false.
  KeyInterval keys_by_distance(int64_t i) const;
  // The far sinks of row i that go by distance; empty where sinks_by_distance is false.
  KeyInterval sinks_by_distance_of(int64_t i) const;
};

// The plan for sequences of at most n tokens: branches that cannot hold there are left out.
//   rotary  with a map free of the length: see at_length()
RotationPlan plan_rotation(const Rotary& rotary, const Spectrum& spectrum, int64_t n);

// Where a pair stands past a mask that freezes it, reduced to [-1/2, 1/2] turns: it stops as it went,
// forwards or backwards.
DoubleDouble frozen_turns(const PairMask& mask, DoubleDouble turns_per_token);

// The angle of `pair` at distance d >= 0 where no sink is involved, as the map and the mask have
// it.
PairAngle distance_turns(const Rotary& rotary, const Spectrum& spectrum, int64_t pair, int64_t d);

}  // namespace ropewalk

#endif  // ROPEWALK_MATH_ROTATION_PLAN_H_
