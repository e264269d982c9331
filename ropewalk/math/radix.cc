#include "ropewalk/math/radix.h"

#include <cassert>
#include <cmath>
#include <limits>

namespace ropewalk {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// x, or the whole number that it would be but for the rounding of its formula.
DoubleDouble settled(DoubleDouble x) {
  const DoubleDouble whole = round(x);
  return abs(x - whole) <= 0x1p-80 * max(1, abs(whole)) ? whole : x;
}

// x mod radix, in [0, radix).
double modulo(DoubleDouble x, DoubleDouble radix) {
  if (!is_finite(radix)) return static_cast<double>(x);
  return static_cast<double>(max(0, x - floor(settled(x / radix)) * radix));
}

// Radix of the pair: how many times slower the next one turns.
DoubleDouble radix_of(const std::vector<DoubleDouble>& turns, size_t pair) {
  const auto turning = [&turns](size_t c) { return c < turns.size() && turns[c] != 0; };
  if (turning(pair + 1)) return settled(turns[pair] / turns[pair + 1]);
  if (pair > 0 && turning(pair - 1)) return settled(turns[pair - 1] / turns[pair]);
  return kInfinity;
}

}  // namespace

std::vector<Digit> digits_of(const Spectrum& spectrum, int64_t position) {
  assert(0 <= position && position <= int64_t{1} << 53);
  std::vector<Digit> digits;
  for (size_t pair = 0; pair < spectrum.turns_per_token.size(); ++pair) {
    const DoubleDouble inv_freq = abs(spectrum.turns_per_token[pair]) * kTwoPi;
    if (inv_freq == 0) {
      digits.push_back({.place = kInfinity, .radix = kInfinity});
      continue;
    }
    const DoubleDouble quotient = settled(DoubleDouble(position) * inv_freq);
    const DoubleDouble radix = abs(radix_of(spectrum.turns_per_token, pair));
    digits.push_back({.place = static_cast<double>(settled(1 / inv_freq)),
                      .radix = static_cast<double>(radix),
                      .value = modulo(floor(quotient), radix),
                      .reading = modulo(quotient, radix)});
  }
  return digits;
}

}  // namespace ropewalk
