// Error-free transforms: the rounding error of one operation, as a double of its own.
// Sources: Knuth, TAOCP 2, 4.2.2 (two_sum); Dekker 1971 (quick_two_sum). Valid in round-to-nearest,
// without overflow, and only where the compiler neither fuses nor reorders (-ffp-contract=off, no
// -ffast-math).
#ifndef ROPEWALK_MATH_ERROR_FREE_H_
#define ROPEWALK_MATH_ERROR_FREE_H_

#include <cmath>

#include "ropewalk/math/double_double.h"

namespace ropewalk {

// a + b = hi + lo exactly.
inline DoubleDouble two_sum(double a, double b) {
  const double sum = a + b;
  const double b_seen = sum - a;
  return {sum, (a - (sum - b_seen)) + (b - b_seen)};
}

// The same where |a| >= |b| or a is 0.
inline DoubleDouble quick_two_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

// a * b = hi + lo exactly.
inline DoubleDouble two_product(double a, double b) {
  const double product = a * b;
  return {product, std::fma(a, b, -product)};
}

}  // namespace ropewalk

#endif  // ROPEWALK_MATH_ERROR_FREE_H_
