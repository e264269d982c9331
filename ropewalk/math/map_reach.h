// How far a distance map lets tokens of a sequence see: what decides whether a text fits into the
// distances that training showed.
#ifndef ROPEWALK_MATH_MAP_REACH_H_
#define ROPEWALK_MATH_MAP_REACH_H_

#include <cstdint>
#include <optional>

#include "ropewalk/math/distance_map.h"
#include "ropewalk/math/rotary.h"

namespace ropewalk {

// The largest of |f(i, j)| over 0 <= j <= i < n that are seen, for any pair that the map moves; i is
// where the query stands. Maps are taken to
// rise or fall within a period, as PositionMap's formula does; steps to rise.
//   n  tokens, >= 1; time grows with it
DoubleDouble farthest_distance(const DistanceMap& map, int64_t n, const Visibility& seen = {});

// The most tokens, up to `most`, for which every distance is below `bound`; 0 where not even one
// token is. Of a map that depends on the length, the first length that does not fit ends it.
//   bound  tokens, as the trained length
//   most   >= 0
int64_t longest_within(const DistanceMap& map, DoubleDouble bound, int64_t most,
                       const Visibility& seen = {});

// The distance that the last query of n tokens sees at the true distance d, for the first of the
// pairs that the map moves; nothing where it does not see that key.
//   rotary  of that length: see at_length()
//   d       0 <= d < n
std::optional<DoubleDouble> effective_distance(const Rotary& rotary, int64_t n, int64_t d);

}  // namespace ropewalk

#endif  // ROPEWALK_MATH_MAP_REACH_H_
