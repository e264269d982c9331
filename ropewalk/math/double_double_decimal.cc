// DoubleDouble from and to decimal text.
//
// Both ways go through TripleDouble, where numerals up to 47 digits and powers of ten up to 10^68
// are exact; beyond, they are off by 2^-145. So the result is the nearest unless the exact value
// lies within that of a halfway case.
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "ropewalk/base/error.h"
#include "ropewalk/math/double_double.h"
#include "ropewalk/math/triple_double.h"

namespace ropewalk {
namespace {

// mantissa * 10^exponent, the powers of two split off so that 10^308 and its neighbours do not
// overflow.
TripleDouble times_power_of_ten(TripleDouble mantissa, int exponent) {
  TripleDouble five_power{1.0};
  for (int n = std::abs(exponent); n > 0; --n) five_power = five_power * 5.0;
  const TripleDouble scaled = exponent < 0 ? mantissa / five_power : mantissa * five_power;
  return {std::ldexp(scaled.hi, exponent), std::ldexp(scaled.mid, exponent),
          std::ldexp(scaled.lo, exponent)};
}

// Reads [sign] digits [. digits] [e [sign] digits], at least one digit before the e.
class NumeralReader {
 public:
  explicit NumeralReader(const std::string& text) : text_(text) {}

  DoubleDouble read() {
    const bool negative = read_sign();
    read_digits(0);
    if (at('.')) {
      ++next_;
      read_digits(1);
    }
    if (!any_digit_) refuse();
    if (at('e') || at('E')) {
      ++next_;
      read_exponent();
    }
    if (next_ != text_.size()) refuse();
    const DoubleDouble magnitude = value();
    return negative ? -magnitude : magnitude;
  }

 private:
  // Digits past these change nothing that the type can hold, nor do exponents.
  static constexpr int kMostDigits = 60;
  static constexpr int64_t kMostExponent = 100'000;

  bool at(char wanted) const { return next_ < text_.size() && text_[next_] == wanted; }

  bool at_digit() const {
    return next_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[next_])) != 0;
  }

  bool read_sign() {
    const bool negative = at('-');
    if (negative || at('+')) ++next_;
    return negative;
  }

  //   after_point  1 where each digit read lowers the exponent, 0 before the point
  void read_digits(int after_point) {
    for (; at_digit(); ++next_) {
      any_digit_ = true;
      const int digit = text_[next_] - '0';
      if (n_digits_ == kMostDigits) {
        exponent_ += 1 - after_point;
        continue;
      }
      if (n_digits_ > 0 || digit != 0) ++n_digits_;
      mantissa_ = mantissa_ * 10.0 + digit;
      exponent_ -= after_point;
    }
  }

  void read_exponent() {
    const bool negative = read_sign();
    if (!at_digit()) refuse();
    int64_t exponent = 0;
    for (; at_digit(); ++next_) {
      if (exponent < kMostExponent) exponent = 10 * exponent + (text_[next_] - '0');
    }
    exponent_ += negative ? -exponent : exponent;
  }

  DoubleDouble value() const {
    if (n_digits_ == 0) return 0.0;
    const int64_t magnitude = exponent_ + n_digits_;  // the value is below 10^magnitude
    if (magnitude < -330) return 0.0;
    const DoubleDouble nearest =
        magnitude > 310 ? DoubleDouble(HUGE_VAL)
                        : rounded(times_power_of_ten(mantissa_, static_cast<int>(exponent_)));
    if (!is_finite(nearest)) throw Error("number", "must be below 1.8e308 in size", text_);
    return nearest;
  }

  [[noreturn]] void refuse() const {
    throw Error("number", "must be a decimal numeral such as -1.5e-7", text_);
  }

  const std::string& text_;
  size_t next_ = 0;
  bool any_digit_ = false;
  int n_digits_ = 0;  // from the first that is not 0
  TripleDouble mantissa_;
  int64_t exponent_ = 0;
};

// The nearest integer of x, as decimal text; 0 <= x < 10^32.
std::string whole_digits(TripleDouble x) {
  constexpr double kHalf = 1e16;
  DoubleDouble whole = round(DoubleDouble(x.hi, x.mid));
  const TripleDouble rest = x + -whole;
  if (rest.hi > 0.5) whole += 1.0;
  if (rest.hi < -0.5) whole -= 1.0;
  const DoubleDouble upper = floor(whole / kHalf);
  // 10^16 is above 2^53, so the lower half needs both parts.
  const DoubleDouble lower = whole - upper * kHalf;
  const std::string upper_text = std::to_string(static_cast<int64_t>(upper.hi));
  const std::string lower_text =
      std::to_string(static_cast<int64_t>(lower.hi) + static_cast<int64_t>(lower.lo));
  if (upper_text == "0") return lower_text;
  return upper_text + std::string(16 - lower_text.size(), '0') + lower_text;
}

}  // namespace

DoubleDouble from_decimal(const std::string& text) { return NumeralReader(text).read(); }

std::string to_decimal(DoubleDouble x, int digits) {
  if (std::isnan(x.hi)) return "nan";
  const std::string sign = std::signbit(x.hi) ? "-" : "";
  if (std::isinf(x.hi)) return sign + "inf";

  std::string figures(static_cast<size_t>(digits), '0');
  int exponent = 0;
  if (x.hi != 0) {
    // The logarithm may be one off beside a power of ten, and rounding may reach the next one.
    exponent = static_cast<int>(std::floor(std::log10(std::fabs(x.hi))));
    const auto scaled = [&] {
      return whole_digits(times_power_of_ten(triple_of(abs(x)), digits - 1 - exponent));
    };
    figures = scaled();
    if (figures.size() < static_cast<size_t>(digits)) {
      --exponent;
      figures = scaled();
    }
    if (figures.size() > static_cast<size_t>(digits)) {
      ++exponent;
      figures = scaled();
    }
  }
  std::string text = sign + figures.substr(0, 1);
  if (digits > 1) text += "." + figures.substr(1);
  return text + "e" + std::to_string(exponent);
}

}  // namespace ropewalk
