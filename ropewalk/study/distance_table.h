// How every pair has turned at a distance: what scores are taken apart with.
#ifndef ROPEWALK_STUDY_DISTANCE_TABLE_H_
#define ROPEWALK_STUDY_DISTANCE_TABLE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "ropewalk/math/rotary.h"

namespace ropewalk {

// cos and sin, times the squared amplitude and the pair's gain, 0 where it is silent; each
// (n_pairs, n_distances). A pair (q0, q1), (k0, k1) adds
//   (q0 k0 + q1 k1) cos - (q1 k0 - q0 k1) sin
// to the score.
struct DistanceTable {
  size_t n_distances = 0;
  std::vector<double> cos, sin;
};

// As the last row of a sequence of n_tokens sees its keys.
//   distances  each >= 0, < n_tokens and seen
DistanceTable distance_table(const Rotary& rotary, int64_t n_tokens,
                             std::span<const int64_t> distances);

// The largest distance that the last row of a sequence of n_tokens sees; sinks do not count.
int64_t farthest_seen(const Rotary& rotary, int64_t n_tokens);

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_DISTANCE_TABLE_H_
