// AttentionWalk: which parts of a rotation plan hold between a run of rows and a run of keys. No
// arithmetic on queries or keys is known here.
#ifndef ROPEWALK_KERNELS_ATTENTION_WALK_H_
#define ROPEWALK_KERNELS_ATTENTION_WALK_H_

#include <cstdint>
#include <span>
#include <vector>

#include "ropewalk/kernels/rotations.h"
#include "ropewalk/math/rotation_plan.h"

namespace ropewalk {

// How much of a rectangle of rows and keys a part holds for.
enum class Cover : uint8_t {
  kNone,  // nothing
  kSome,  // perhaps not all; the rows' own intervals tell
  kAll,
};

// Rows [first_row, last_row], both included and counted in positions, and keys [first_key,
// end_key).
struct WalkRectangle {
  int64_t first_row = 0;
  int64_t last_row = 0;
  int64_t first_key = 0;
  int64_t end_key = 0;
};

struct EndRows {
  KeyInterval first;
  KeyInterval last;
};

// Branches that turn their pairs alike and hear the last ones of the same list: pairs are summed
// from the last, the slowest as a rule, to the first, so that a score under one branch is how the
// sum for the next begins. The order of a sum does not depend on which branches share the family.
struct WalkFamily {
  std::vector<HeardPair> pairs;  // falling
  std::vector<bool> key_stands;  // of each: keys are not turned, as beyond a cap
};

// One branch, or one run of keys that goes by distance.
struct WalkPart {
  enum class Kind : uint8_t { kBranch, kByDistance, kSinksByDistance };
  Kind kind = Kind::kBranch;
  const PlanBranch* branch = nullptr;  // of a kBranch
  size_t family = 0;                   // of a kBranch
  int64_t n_pairs = 0;                 // the first ones of the family are heard
};

class AttentionWalk {
 public:
  //   rotations  kept by reference
  //   first_key  keys before it are not seen by anyone
  AttentionWalk(const Rotations& rotations, int64_t first_key);

  const std::vector<WalkFamily>& families() const { return families_; }

  // Those by distance first, then by family, and in a family by rising n_pairs.
  const std::vector<WalkPart>& parts() const { return parts_; }

  // Costs the same whatever the size of the rectangle; kSome may also be said of nothing.
  Cover cover(const WalkPart& part, const WalkRectangle& rectangle) const;

  // The keys of the row at position i for which the part holds.
  KeyInterval keys(const WalkPart& part, int64_t i) const;

  // The same as bits: bit k of bits[r] is the part's word on row first_row + r and key first_key + k
  // of the rectangle, k < 64.
  //   ends  keys() of the rectangle's first row and of its last
  void key_bits(const WalkPart& part, const WalkRectangle& rectangle, const EndRows& ends,
                std::span<uint64_t> bits) const;

  // Whether each row sees each key, under some part; false may also be said where it does.
  bool sees_all(const WalkRectangle& rectangle) const;

 private:
  Cover cover_of_branch(const PlanBranch& branch, const WalkRectangle& rectangle) const;

  const RotationPlan& plan_;
  int64_t first_key_;
  std::vector<WalkFamily> families_;
  std::vector<WalkPart> parts_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_KERNELS_ATTENTION_WALK_H_
