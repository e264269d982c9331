// Angles counted in turns (1 turn = 2 pi), reduced exactly before any sine is taken.
#ifndef ROPEWALK_MATH_TURNS_H_
#define ROPEWALK_MATH_TURNS_H_

#include <cstdint>

#include "ropewalk/math/double_double.h"

namespace ropewalk {

// cos and sin of one angle.
struct CosSin {
  double cos = 1;
  double sin = 0;
};

// position * turns_per_token less its nearest integer, in [-1/2, 1/2]: the part of the angle that a
// sine can see.
//   position         any rotation position, fractions included; |position| <= 2^53
//   turns_per_token  |turns_per_token| <= 1
// Whole turns are removed exactly (FMA); what is left is off by at most 2^-104 * |position *
// turns_per_token| turns.
DoubleDouble fraction_of_turn(DoubleDouble position, DoubleDouble turns_per_token);

// cos and sin of 2 pi * turns; any finite turns.
// Error: at most 1 ulp of each result, zeros and neighbours of zeros included, for the `turns`
// given.
CosSin cos_sin_of_turns(DoubleDouble turns);

// cos and sin of the angle at `position`: cos_sin_of_turns(fraction_of_turn(position,
// turns_per_token)). With turns_per_token right to 2^-104 relative, positions up to 2^40: at most 2
// double ulps while the result is above 2^-10 in size, and 2^-62 absolute below; rounded to float,
// 1 float ulp wherever the result is above 2^-38.
CosSin cos_sin_at(DoubleDouble position, DoubleDouble turns_per_token);

}  // namespace ropewalk

#endif  // ROPEWALK_MATH_TURNS_H_
