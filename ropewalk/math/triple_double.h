// Triple-double arithmetic, about 159 bits: the working precision inside functions that owe a
// DoubleDouble. Only what they need; sums and products are off by at most 2^-150 of the larger
// operand.
#ifndef ROPEWALK_MATH_TRIPLE_DOUBLE_H_
#define ROPEWALK_MATH_TRIPLE_DOUBLE_H_

#include "ropewalk/math/double_double.h"
#include "ropewalk/math/error_free.h"

namespace ropewalk {

// hi + mid + lo, each at most half an ulp of the one before.
struct TripleDouble {
  double hi = 0;
  double mid = 0;
  double lo = 0;
};

// Restores the order of size after a sum in which the first parts may have cancelled.
inline TripleDouble normalised(double hi, double mid, double lo) {
  DoubleDouble low = two_sum(mid, lo);
  const DoubleDouble high = two_sum(hi, low.hi);
  low = two_sum(high.lo, low.lo);
  const DoubleDouble top = quick_two_sum(high.hi, low.hi);
  low = quick_two_sum(top.lo, low.lo);
  return {top.hi, low.hi, low.lo};
}

inline TripleDouble triple_of(DoubleDouble x) { return {x.hi, x.lo, 0.0}; }

// Nearest DoubleDouble.
inline DoubleDouble rounded(TripleDouble x) {
  const DoubleDouble low = quick_two_sum(x.mid, x.lo);
  return quick_two_sum(x.hi, low.hi);
}

inline TripleDouble operator-(TripleDouble x) { return {-x.hi, -x.mid, -x.lo}; }

inline TripleDouble operator+(TripleDouble x, double y) {
  const DoubleDouble first = two_sum(x.hi, y);
  const DoubleDouble second = two_sum(x.mid, first.lo);
  return normalised(first.hi, second.hi, x.lo + second.lo);
}

inline TripleDouble operator+(TripleDouble x, DoubleDouble y) { return x + y.hi + y.lo; }
inline TripleDouble operator+(TripleDouble x, TripleDouble y) { return x + y.hi + y.mid + y.lo; }

inline TripleDouble operator*(TripleDouble x, double y) {
  return triple_of(two_product(x.hi, y)) + two_product(x.mid, y) + x.lo * y;
}

inline TripleDouble operator*(TripleDouble x, DoubleDouble y) {
  return x * y.hi + two_product(x.hi, y.lo) + x.mid * y.lo;
}

inline TripleDouble operator*(TripleDouble x, TripleDouble y) {
  return x * DoubleDouble(y.hi, y.mid) + x.hi * y.lo;
}

// Long division: three quotient digits of 53 bits. Exact where the quotient is a TripleDouble and x
// and y are exact.
inline TripleDouble operator/(TripleDouble x, TripleDouble y) {
  const double first = x.hi / y.hi;
  TripleDouble rest = x + -(y * first);
  const double second = rest.hi / y.hi;
  rest = rest + -(y * second);
  return normalised(first, second, rest.hi / y.hi);
}

}  // namespace ropewalk

#endif  // ROPEWALK_MATH_TRIPLE_DOUBLE_H_
