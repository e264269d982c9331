#include "ropewalk/config/spectrum_form.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ropewalk/base/error.h"
#include "ropewalk/schemes/source.h"

namespace ropewalk {
namespace {

// float32 rounds by 6e-8, a base that is kept as a double moves frequencies by 1e-16.
constexpr double kSame = 1e-13;

}  // namespace

bool sees_everything(const LayerGroup& group) {
  const bool sliding = group.name.starts_with("sliding") || group.name.starts_with("chunked");
  return !sliding && (!group.rotary || group.rotary->visibility.window == kUnbounded);
}

const LayerGroup& leading_group(const ModelConfig& config) {
  const LayerGroup* first = nullptr;
  for (const LayerGroup& group : config.groups) {
    if (!group.rotary) continue;
    if (first == nullptr) first = &group;
    if (sees_everything(group)) return group;
  }
  if (first != nullptr) return *first;
  throw Error("model", "must have rotary positions: no other ones can be rewritten",
              config.architecture);
}

bool same_frequencies(const Spectrum& a, const Spectrum& b) {
  return a.decay == b.decay && std::ranges::equal(a.turns_per_token, b.turns_per_token,
                                                  [](const DoubleDouble& x, const DoubleDouble& y) {
                                                    return abs(x - y) <= abs(x) * kSame;
                                                  });
}

// Schemes that slow pairs down leave `base` as the one they started from.
std::optional<double> plain_base(const Rotary& declared, const Spectrum& wanted) {
  if (wanted.base <= 0) return std::nullopt;
  if (!same_frequencies(spectrum_with_base(declared, wanted.base), wanted)) return std::nullopt;
  return wanted.base;
}

std::optional<double> common_factor(const Rotary& declared, const Spectrum& wanted) {
  Spectrum slowed = plain_spectrum(declared);
  if (wanted.turns_per_token.empty() || wanted.turns_per_token[0] == 0) return std::nullopt;
  const DoubleDouble factor = slowed.turns_per_token[0] / wanted.turns_per_token[0];
  for (DoubleDouble& turns : slowed.turns_per_token) turns /= factor;
  if (factor < 1 || !same_frequencies(slowed, wanted)) return std::nullopt;
  return static_cast<double>(factor);
}

std::vector<double> frequency_divisors(const Rotary& declared, const Spectrum& wanted) {
  const Spectrum plain = plain_spectrum(declared);
  std::vector<double> divisors;
  for (size_t pair = 0; pair < plain.turns_per_token.size(); ++pair) {
    const DoubleDouble& turns = wanted.turns_per_token[pair];
    divisors.push_back(turns == 0 ? std::numeric_limits<double>::infinity()
                                  : static_cast<double>(plain.turns_per_token[pair] / turns));
  }
  return divisors;
}

std::vector<double> stored_divisors(const Rotary& declared, const Spectrum& wanted) {
  std::vector<double> divisors = frequency_divisors(declared, wanted);
  std::ranges::replace_if(
      divisors, [](double divisor) { return std::isinf(divisor); }, kNeverTurns);
  return divisors;
}

}  // namespace ropewalk
