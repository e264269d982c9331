// xPos: beside its turn, each pair of a query grows and of a key shrinks with position, so that far
// scores decay. Source: Sun et al. 2022, arXiv 2212.10554.
#ifndef ROPEWALK_MATH_XPOS_H_
#define ROPEWALK_MATH_XPOS_H_

#include <cstdint>
#include <vector>

#include "ropewalk/math/double_double.h"

namespace ropewalk {

//   zeta[pair] = (2 pair + gamma rotary_dim) / ((1 + gamma) rotary_dim)
//   queries times zeta^(power(position)), keys times zeta^(-power(position)),
//   power(position) = (position - centre) / scale_base
// A score then carries zeta^(d / scale_base), whatever the centre.
struct Xpos {
  int64_t rotary_dim = 0;  // even, >= 2
  DoubleDouble scale_base = 512.0;
  DoubleDouble gamma = DoubleDouble(4) / DoubleDouble(10);
  int64_t centre = 0;  // of a sequence of n tokens: n / 2, rounded down, in flash-attention's and
                       // lucidrains' code, to keep powers small; it must not differ between the
                       // keys of a cache and its queries

  std::vector<DoubleDouble> zeta() const;  // (n_pairs), rising, all below 1

  // Factor on each pair of a query, or a key, at `position`; (n_pairs), each within 1 ulp while it
  // is a normal number.
  std::vector<double> query_scale(int64_t position) const;
  std::vector<double> key_scale(int64_t position) const;

  // Factor on each pair's part of the score of tokens i and j, d = i - j: zeta^(d / scale_base).
  std::vector<double> score_scale(int64_t distance) const;  // (n_pairs)
};

// Throws Error where rotary_dim is odd or below 2, or scale_base or gamma are not positive.
void validate(const Xpos& xpos);

}  // namespace ropewalk

#endif  // ROPEWALK_MATH_XPOS_H_
