// sqrt, log, exp and pow of DoubleDouble.
//
// pow multiplies the error of a logarithm by up to 64, so logarithms are formed in TripleDouble,
// good to about 2^-108, and only the result is rounded. sqrt: Lefevre, Louvet, Muller, Picot,
// Rideau 2023.
#include <cmath>
#include <limits>

#include "ropewalk/math/double_double.h"
#include "ropewalk/math/triple_double.h"

namespace ropewalk {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr TripleDouble kTripleLn2{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56,
                                  0x1.7b57a079a1934p-111};

// log x for finite x > 0: x = 2^exponent * m with m in [sqrt(1/2), sqrt(2)), and with s = (m - 1) /
// (m + 1) log m = 2 (s + s^3/3 + s^5/5 + ...). Only the first term needs the full width: the others
// are below 1 % of it.
TripleDouble log_wide(DoubleDouble x) {
  int exponent = 0;
  double high = std::frexp(x.hi, &exponent);
  if (high < 0x1.6a09e667f3bcdp-1) {
    high *= 2;
    --exponent;
  }
  const double low = std::ldexp(x.lo, -exponent);
  const TripleDouble numerator = triple_of(two_sum(high - 1, low));
  const TripleDouble denominator = triple_of(two_sum(high, 1)) + low;
  const TripleDouble wide_s = numerator / denominator;

  // |s| <= 0.1716, so the first term left out is below 2^-117 of s.
  constexpr int kLastPower = 43;
  const DoubleDouble s = rounded(wide_s);
  const DoubleDouble squared = s * s;
  DoubleDouble series = DoubleDouble(1.0) / kLastPower;
  for (int power = kLastPower - 2; power >= 3; power -= 2) {
    series = series * squared + DoubleDouble(1.0) / power;
  }
  const DoubleDouble tail = s * (squared * series);
  return kTripleLn2 * exponent + wide_s * 2.0 + tail * 2.0;
}

// exp x: x = n ln 2 + r with |r| <= ln(2)/2, then the Taylor series of exp r, innermost term first.
DoubleDouble exp_of_wide(TripleDouble x) {
  // Past these, n would not fit an int; the result is 0 or infinity anyway.
  if (x.hi > 710) return kInfinity;
  if (x.hi < -746) return 0.0;
  const double n = std::nearbyint(x.hi / kLn2.hi);
  const DoubleDouble r = rounded(x + -(kTripleLn2 * n));

  // 0.3466^24 / 24! is below 2^-115.
  constexpr int kLastTerm = 23;
  DoubleDouble sum = 1.0;
  for (int term = kLastTerm; term >= 1; --term) sum = r / term * sum + 1.0;

  const int exponent = static_cast<int>(n);
  const double high = std::ldexp(sum.hi, exponent);
  if (!std::isfinite(high)) return high;
  return two_sum(high, std::ldexp(sum.lo, exponent));
}

}  // namespace

DoubleDouble sqrt(DoubleDouble x) {
  if (x.hi == 0 || x.hi == kInfinity) return x.hi;
  if (!(x.hi > 0)) return kNan;
  const double root = std::sqrt(x.hi);
  const double rest = std::fma(-root, root, x.hi) + x.lo;
  return quick_two_sum(root, rest / (2 * root));
}

DoubleDouble log(DoubleDouble x) {
  if (!(x.hi > 0)) return kNan;
  if (x.hi == kInfinity) return kInfinity;
  return rounded(log_wide(x));
}

DoubleDouble exp(DoubleDouble x) {
  if (std::isnan(x.hi)) return kNan;
  return exp_of_wide(triple_of(x));
}

DoubleDouble pow(DoubleDouble base, DoubleDouble exponent) {
  if (exponent == 0.0 || base == 1.0) return 1.0;
  if (exponent == 1.0) return base;
  if (!(base.hi > 0) || std::isnan(exponent.hi)) return kNan;
  if (std::isinf(base.hi) || std::isinf(exponent.hi)) return std::pow(base.hi, exponent.hi);
  return exp_of_wide(log_wide(base) * exponent);
}

}  // namespace ropewalk
