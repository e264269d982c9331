// The radix view: a rotary position as the digits of a number, one digit to a pair.
//
// Plain RoPE of base b turns pair i by p / beta^i with beta = b^(2 / d): up to the unit of the angle
// it shows digit i of p in base beta, lowest first. Linear scaling divides the number that is
// written; NTK writes it in a larger base; a spectrum whose pairs slow down unequally is a mixed
// radix. Source: Su 2023, kexue.fm/archives/9675 and 9706.
#ifndef ROPEWALK_MATH_RADIX_H_
#define ROPEWALK_MATH_RADIX_H_

#include <cstdint>
#include <vector>

#include "ropewalk/math/spectrum.h"

namespace ropewalk {

// The digit that one pair shows.
struct Digit {
  double place =
      0;  // what it counts, in tokens: 1 / inv_freq; infinite where the pair stands still
  double radix = 0;  // it is below this: the next pair's place by this one's
  double value = 0;  // floor(position / place) mod radix
  double reading =
      0;  // (position / place) mod radix: the angle itself, fractions of a digit included
};

// The digits of `position` under a spectrum, lowest first; (n_pairs).
//   position  >= 0, <= 2^53
//
// The last pair that turns has the radix of the pair before it, as under plain RoPE all are beta;
// where it has none before it, infinity: it goes on counting. A pair that stands still shows 0.
// A quotient within 2^-80 (relative) of a whole number counts as it, so that the digits of 1000 in
// base 10 are 0 0 0 1 although 10 came out of a logarithm.
std::vector<Digit> digits_of(const Spectrum& spectrum, int64_t position);

}  // namespace ropewalk

#endif  // ROPEWALK_MATH_RADIX_H_
