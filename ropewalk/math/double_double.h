// Double-double arithmetic: an unevaluated sum hi + lo of two doubles, about 106 bits.
// Formulas of position encodings are written once, in this type, and read like the paper.
//
// Sources: Dekker 1971; Knuth, TAOCP 2, 4.2.2; Hida, Li, Bailey 2001 (QD); Joldes, Muller, Popescu
// 2017 for the bounds.
#ifndef ROPEWALK_MATH_DOUBLE_DOUBLE_H_
#define ROPEWALK_MATH_DOUBLE_DOUBLE_H_

#include <compare>
#include <cstdint>
#include <string>

namespace ropewalk {

// Invariant: hi is the double nearest to hi + lo. A value made from a double or an integer is
// exact.
struct DoubleDouble {
  double hi = 0;
  double lo = 0;

  constexpr DoubleDouble() = default;
  constexpr DoubleDouble(double value) : hi(value) {}  // NOLINT: exact, so implicit
  constexpr DoubleDouble(int value) : hi(value) {}     // NOLINT: exact, so implicit
  constexpr DoubleDouble(double high, double low) : hi(high), lo(low) {}
  DoubleDouble(int64_t value);  // NOLINT: exact, so implicit

  explicit operator double() const { return hi; }
  explicit operator float() const;  // rounded once, from both parts

  DoubleDouble& operator+=(DoubleDouble b);
  DoubleDouble& operator-=(DoubleDouble b);
  DoubleDouble& operator*=(DoubleDouble b);
  DoubleDouble& operator/=(DoubleDouble b);
};

// Relative error of one operation, |result - exact| <= k * 2^-106 * |exact|:
// + and - of any signs 3 (of the larger operand under cancellation: 3 * 2^-106 * (|a| + |b|)), * 5,
// / 10, sqrt 8.
DoubleDouble operator-(DoubleDouble a);
DoubleDouble operator+(DoubleDouble a, DoubleDouble b);
DoubleDouble operator-(DoubleDouble a, DoubleDouble b);
DoubleDouble operator*(DoubleDouble a, DoubleDouble b);
DoubleDouble operator/(DoubleDouble a, DoubleDouble b);

bool operator==(DoubleDouble a, DoubleDouble b);
std::partial_ordering operator<=>(DoubleDouble a, DoubleDouble b);

DoubleDouble abs(DoubleDouble x);
DoubleDouble floor(DoubleDouble x);  // exact
DoubleDouble ceil(DoubleDouble x);   // exact
DoubleDouble round(DoubleDouble x);  // nearest integer, ties to even; exact
DoubleDouble min(DoubleDouble a, DoubleDouble b);
DoubleDouble max(DoubleDouble a, DoubleDouble b);
DoubleDouble clamp(DoubleDouble x, DoubleDouble low, DoubleDouble high);
bool is_finite(DoubleDouble x);

// Right to 2^-100 relative (log near 1: relative too). x > 0 for log, x >= 0 for sqrt; NaN
// otherwise.
DoubleDouble sqrt(DoubleDouble x);
DoubleDouble log(DoubleDouble x);
DoubleDouble exp(
    DoubleDouble x);  // overflows to infinity; below 2^-968 the low part underflows, then all

// base^exponent for base > 0, to 2^-100 relative while |exponent * log(base)| <= 64.
// pow(x, 0) and pow(1, y) are exactly 1; pow(x, 1) is exactly x.
DoubleDouble pow(DoubleDouble base, DoubleDouble exponent);

// pi, 2 pi and ln 2 to the last bit of the type.
extern const DoubleDouble kPi;
extern const DoubleDouble kTwoPi;
extern const DoubleDouble kLn2;

// Nearest value of the type to a decimal numeral such as "0.1" or "-1.5e-7".
// Throws Error where the text is not a finite decimal numeral.
DoubleDouble from_decimal(const std::string& text);

// Scientific notation with `digits` significant digits (1 to 31), rounded to nearest:
// "1.0000000e-1".
std::string to_decimal(DoubleDouble x, int digits);

}  // namespace ropewalk

#endif  // ROPEWALK_MATH_DOUBLE_DOUBLE_H_
