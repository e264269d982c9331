// Exact removal of whole turns, then sine and cosine of at most an eighth of a turn.
#include "ropewalk/math/turns.h"

#include <cassert>
#include <cmath>
#include <cstdint>

#include "ropewalk/math/error_free.h"

namespace ropewalk {
namespace {

// x less its nearest integer, exact.
double fraction(double x) { return x - std::nearbyint(x); }

DoubleDouble fraction(DoubleDouble x) {
  const DoubleDouble sum = two_sum(fraction(x.hi), fraction(x.lo));
  // Each part left at most half a turn: their sum may be past it once more.
  return sum - round(sum);
}

// sin x for |x| <= pi/4: x + x^3 (-1/3! + x^2/5! - ...), up to x^17. The next term is below 2^-63
// of the result; the correction to x is below 12 % of it, so its own roundings add little to the
// final one.
double sin_small(DoubleDouble x) {
  const double squared = x.hi * x.hi;
  double series = 1.0 / 355687428096000;  // 17!
  series = std::fma(series, squared, -1.0 / 1307674368000);
  series = std::fma(series, squared, 1.0 / 6227020800);
  series = std::fma(series, squared, -1.0 / 39916800);
  series = std::fma(series, squared, 1.0 / 362880);
  series = std::fma(series, squared, -1.0 / 5040);
  series = std::fma(series, squared, 1.0 / 120);
  series = std::fma(series, squared, -1.0 / 6);
  const double cosine = std::fma(-0.5, squared, 1.0);  // enough for x.lo
  return x.hi + std::fma(x.hi * squared, series, x.lo * cosine);
}

// cos x for |x| <= pi/4: 1 - x^2/2, formed with its rounding errors, + x^4 (1/4! - x^2/6! + ...),
// up to x^18.
double cos_small(DoubleDouble x) {
  const DoubleDouble half_square = two_product(x.hi, 0.5 * x.hi);
  const double squared = 2 * half_square.hi;
  double series = -1.0 / 6402373705728000;  // 18!
  series = std::fma(series, squared, 1.0 / 20922789888000);
  series = std::fma(series, squared, -1.0 / 87178291200);
  series = std::fma(series, squared, 1.0 / 479001600);
  series = std::fma(series, squared, -1.0 / 3628800);
  series = std::fma(series, squared, 1.0 / 40320);
  series = std::fma(series, squared, -1.0 / 720);
  series = std::fma(series, squared, 1.0 / 24);
  const DoubleDouble leading = quick_two_sum(1.0, -half_square.hi);
  const double correction = leading.lo - half_square.lo - x.hi * x.lo;
  return leading.hi + std::fma(squared * squared, series, correction);
}

}  // namespace

DoubleDouble fraction_of_turn(DoubleDouble position, DoubleDouble turns_per_token) {
  assert(std::fabs(position.hi) <= 0x1p53 && std::fabs(turns_per_token.hi) <= 1);
  // The four partial products; only the first can hold whole turns by the thousand.
  const DoubleDouble leading = two_product(position.hi, turns_per_token.hi);
  DoubleDouble rest = two_product(position.hi, turns_per_token.lo);
  if (position.lo != 0) {
    rest += two_product(position.lo, turns_per_token.hi);
    rest += position.lo * turns_per_token.lo;
  }
  return fraction(two_sum(fraction(leading.hi), leading.lo) + rest);
}

CosSin cos_sin_of_turns(DoubleDouble turns) {
  assert(is_finite(turns));
  const DoubleDouble reduced = fraction(turns);
  const double quarters = std::nearbyint(4 * reduced.hi);
  const DoubleDouble rest = two_sum(reduced.hi - quarters / 4, reduced.lo);
  const DoubleDouble x = kTwoPi * rest;
  const double cosine = cos_small(x);
  const double sine = sin_small(x);
  // 0.0 - y, not -y: a zero stays +0.
  switch (static_cast<int>(quarters) & 3) {
    case 0:
      return {cosine, sine};
    case 1:
      return {0.0 - sine, cosine};
    case 2:
      return {0.0 - cosine, 0.0 - sine};
    default:
      return {sine, 0.0 - cosine};
  }
}

CosSin cos_sin_at(DoubleDouble position, DoubleDouble turns_per_token) {
  return cos_sin_of_turns(fraction_of_turn(position, turns_per_token));
}

}  // namespace ropewalk
