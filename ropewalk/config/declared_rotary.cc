#include "ropewalk/config/declared_rotary.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/math/reach.h"
#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk {
namespace {

bool is_plain_scheme(const FrequencyDeclaration& declaration) {
  return declaration.amplitude == 1 && declaration.long_amplitude == 0 &&
         declaration.least_length == 0 &&
         std::all_of(declaration.divisors.begin(), declaration.divisors.end(),
                     [](double divisor) { return divisor == 1; });
}

Spectrum modified(Spectrum spectrum, const FrequencyDeclaration& declaration) {
  if (!declaration.divisors.empty()) {
    assert(declaration.divisors.size() == spectrum.turns_per_token.size());
    for (size_t pair = 0; pair < declaration.divisors.size(); ++pair) {
      spectrum.turns_per_token[pair] /= declaration.divisors[pair];
    }
    spectrum.divisors.assign(declaration.divisors.begin(), declaration.divisors.end());
  }
  spectrum.amplitude *= declaration.amplitude;
  spectrum.axis = declaration.axis;
  return spectrum;
}

void require_finite(double value, const std::string& name) {
  if (std::isfinite(value)) return;
  throw Error("rotary positions: " + name, "must be finite", to_text(value),
              "a parameter of the scaling is far too large or too small")
      .of(FaultKind::kOutOfRange);
}

void require_finite(const Spectrum& spectrum) {
  for (size_t pair = 0; pair < spectrum.turns_per_token.size(); ++pair) {
    require_finite(static_cast<double>(spectrum.turns_per_token[pair]),
                   "turns_per_token[" + std::to_string(pair) + "]");
  }
  for (const double decay : spectrum.decay) require_finite(decay, "decay");
  require_finite(spectrum.amplitude, "amplitude");
  require_finite(spectrum.logit_multiplier, "logit_multiplier");
}

// Within the trained length and beyond it, where other lists and factors count.
Rotary finite(Rotary rotary) {
  const int64_t trained = std::max<int64_t>(1, rotary.source.trained_length);
  require_finite(rotary.spectrum.at(trained));
  if (rotary.spectrum.length() != SpectrumRule::Length::kFixed) {
    require_finite(rotary.spectrum.at(2 * trained));
  }
  return rotary;
}

}  // namespace

Rotary build_rotary(const FrequencySource& source, const PairLayout& layout,
                    const FrequencyDeclaration& declaration) {
  validate(layout);
  Rotary rotary = apply_scheme(declaration.scheme, plain_rotary(source, layout));
  if (is_plain_scheme(declaration) && declaration.axis.empty()) return finite(std::move(rotary));
  const SpectrumRule rule = rotary.spectrum;
  // What goes by the length would be lost in one set of frequencies.
  const bool is_fixed = rule.length() == SpectrumRule::Length::kFixed;
  assert(!is_fixed || (declaration.long_amplitude == 0 && declaration.least_length == 0));
  const auto at = [rule, declaration, trained = source.trained_length](int64_t n) {
    const int64_t least = declaration.least_length;
    Spectrum spectrum = modified(rule.at(std::max(n, least)), declaration);
    if (least != 0 && n > least) {
      spectrum.amplitude *= static_cast<double>(yarn_magnitude(DoubleDouble(n) / least));
    }
    const bool is_long = declaration.long_amplitude != 0 && n > trained;
    if (is_long) spectrum.amplitude *= declaration.long_amplitude;
    return spectrum;
  };
  rotary.spectrum = is_fixed ? SpectrumRule(at(1)) : SpectrumRule(rule.length(), at, rule.block());
  return finite(std::move(rotary));
}

std::string scheme_text(const FrequencyDeclaration& declaration) {
  return is_plain_scheme(declaration) ? parse_scheme(declaration.scheme).text() : std::string();
}

}  // namespace ropewalk
