// Biases on scores that are formulas of the distance of two tokens: KERPLE, Sandwich, FIRE.
#ifndef ROPEWALK_MATH_DISTANCE_BIAS_H_
#define ROPEWALK_MATH_DISTANCE_BIAS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "ropewalk/math/double_double.h"
#include "ropewalk/math/score_bias.h"

namespace ropewalk {

// KERPLE's two kernels. Source: Chi et al. 2022, arXiv 2205.09921.
//   logarithmic  -r1 ln(1 + r2 d), r1, r2 > 0
//   power        -r1 d^r2,         r1 > 0, 0 < r2 <= 2
// One head's learned pair of numbers.
struct Kerple {
  enum class Kernel { kLogarithmic, kPower };
  Kernel kernel = Kernel::kLogarithmic;
  DoubleDouble r1 = 1;
  DoubleDouble r2 = 1;

  // Within 1 ulp.
  //   distance  |i - j|, >= 0
  double bias(int64_t distance) const;
};

// Throws Error where a field breaks the bounds stated above.
void validate(const Kerple& kerple);

//   heads  (n_heads), each valid, or Error
ScoreBias kerple_bias(std::vector<Kerple> heads);

// Sandwich: the inner product of two sinusoids of width d_bar,
//   sum over k = 1 to d_bar / 2 of cos(d / 10000^(2k / d_bar)).
// Source: Chi, Fan, Rudnicky 2022, arXiv 2212.10356.
struct Sandwich {
  int64_t d_bar = 128;  // even, >= 2

  // Within d_bar * 2^-53.
  //   distance  |i - j|, >= 0
  double inner_product(int64_t distance) const;
};

// Throws Error where d_bar is odd or below 2.
void validate(const Sandwich& sandwich);

// 8 (head + 1) / n_heads * (inner product - d_bar / 2): 0 at d = 0, as its authors' code has it.
//   sandwich  valid, or Error
ScoreBias sandwich_bias(const Sandwich& sandwich, int64_t n_heads);

// FIRE: a learned function of psi(i - j) / psi(max(i, threshold)), psi(x) = ln(c x + 1), which is 0
// for the token itself and at most 1. Source: Li et al. 2023, arXiv 2310.04418.
struct Fire {
  DoubleDouble c = 0.1;            // learned, > 0
  DoubleDouble threshold = 512.0;  // learned ("L"), > 0

  // Within 1 ulp.
  //   0 <= j <= i
  double input(int64_t i, int64_t j) const;
};

// Throws Error where a field breaks the bounds stated above.
void validate(const Fire& fire);

//   learned  what the trained network makes of the input, for each head
ScoreBias fire_bias(const Fire& fire, std::function<double(int64_t head, double input)> learned);

}  // namespace ropewalk

#endif  // ROPEWALK_MATH_DISTANCE_BIAS_H_
