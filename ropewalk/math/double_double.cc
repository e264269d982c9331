// Arithmetic and comparison of DoubleDouble; elementary functions are in
// double_double_functions.cc, text in double_double_decimal.cc.
#include "ropewalk/math/double_double.h"

#include <bit>
#include <cmath>
#include <limits>

#include "ropewalk/math/error_free.h"

namespace ropewalk {

// From 60 decimals.
const DoubleDouble kPi{0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53};
const DoubleDouble kTwoPi{0x1.921fb54442d18p+2, 0x1.1a62633145c07p-52};
const DoubleDouble kLn2{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};

DoubleDouble::DoubleDouble(int64_t value) {
  constexpr double kHalfWord = 0x1p32;
  const auto low_half = static_cast<double>(value & 0xffffffff);
  const auto high_half = static_cast<double>(value >> 32);
  *this = two_sum(high_half * kHalfWord, low_half);
}

// A float halfway case is an even double, so hi is moved to its odd neighbour on the side of lo
// first: the odd double rounds to float as hi + lo does.
DoubleDouble::operator float() const {
  const bool even = (std::bit_cast<uint64_t>(hi) & 1) == 0;
  if (lo == 0 || !even || !std::isfinite(hi)) return static_cast<float>(hi);
  const double side = std::copysign(std::numeric_limits<double>::infinity(), lo);
  return static_cast<float>(std::nextafter(hi, side));
}

DoubleDouble& DoubleDouble::operator+=(DoubleDouble b) { return *this = *this + b; }
DoubleDouble& DoubleDouble::operator-=(DoubleDouble b) { return *this = *this - b; }
DoubleDouble& DoubleDouble::operator*=(DoubleDouble b) { return *this = *this * b; }
DoubleDouble& DoubleDouble::operator/=(DoubleDouble b) { return *this = *this / b; }

DoubleDouble operator-(DoubleDouble a) { return {-a.hi, -a.lo}; }

// AccurateDWPlusDW of Joldes, Muller, Popescu. A sum that overflows keeps the infinity that its
// first step made.
DoubleDouble operator+(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble high = two_sum(a.hi, b.hi);
  if (!std::isfinite(high.hi)) return high.hi;
  const DoubleDouble low = two_sum(a.lo, b.lo);
  const DoubleDouble carried = quick_two_sum(high.hi, high.lo + low.hi);
  return quick_two_sum(carried.hi, low.lo + carried.lo);
}

DoubleDouble operator-(DoubleDouble a, DoubleDouble b) { return a + -b; }

// DWTimesDW3 of the same paper.
DoubleDouble operator*(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble product = two_product(a.hi, b.hi);
  if (!std::isfinite(product.hi)) return product.hi;
  const double cross = std::fma(a.lo, b.hi, std::fma(a.hi, b.lo, a.lo * b.lo));
  return quick_two_sum(product.hi, product.lo + cross);
}

// Long division with three quotient digits: a quotient of doubles that is a double comes out exact.
DoubleDouble operator/(DoubleDouble a, DoubleDouble b) {
  const double first = a.hi / b.hi;
  if (!std::isfinite(first) || std::isinf(b.hi)) return first;
  DoubleDouble rest = a - b * first;
  const double second = rest.hi / b.hi;
  rest -= b * second;
  const double third = rest.hi / b.hi;
  return quick_two_sum(first, second) + third;
}

bool operator==(DoubleDouble a, DoubleDouble b) { return a.hi == b.hi && a.lo == b.lo; }

std::partial_ordering operator<=>(DoubleDouble a, DoubleDouble b) {
  return a.hi == b.hi ? a.lo <=> b.lo : a.hi <=> b.hi;
}

DoubleDouble abs(DoubleDouble x) { return std::signbit(x.hi) ? -x : x; }

DoubleDouble floor(DoubleDouble x) {
  const double whole = std::floor(x.hi);
  return whole == x.hi ? quick_two_sum(whole, std::floor(x.lo)) : DoubleDouble(whole);
}

DoubleDouble ceil(DoubleDouble x) { return -floor(-x); }

DoubleDouble round(DoubleDouble x) {
  const double whole = std::nearbyint(x.hi);
  if (whole == x.hi) return quick_two_sum(whole, std::nearbyint(x.lo));
  const bool halfway = std::fabs(x.hi - whole) == 0.5;
  if (!halfway || x.lo == 0) return whole;
  return x.lo > 0 ? std::ceil(x.hi) : std::floor(x.hi);
}

DoubleDouble min(DoubleDouble a, DoubleDouble b) { return b < a ? b : a; }
DoubleDouble max(DoubleDouble a, DoubleDouble b) { return a < b ? b : a; }
DoubleDouble clamp(DoubleDouble x, DoubleDouble low, DoubleDouble high) {
  return min(max(x, low), high);
}
bool is_finite(DoubleDouble x) { return std::isfinite(x.hi); }

}  // namespace ropewalk
