#include "ropewalk/schemes/source.h"

#include <string>

namespace ropewalk {

Spectrum spectrum_with_base(const Rotary& declared, DoubleDouble base) {
  Spectrum spectrum = rope_spectrum(base, declared.source.frequency_dim, declared.layout.n_pairs());
  const Spectrum own = declared.spectrum.at(1);
  for (size_t pair = 0; pair < own.turns_per_token.size(); ++pair) {
    if (own.turns_per_token[pair] == 0.0) spectrum.turns_per_token[pair] = 0.0;
  }
  return spectrum;
}

Spectrum plain_spectrum(const Rotary& declared) {
  return spectrum_with_base(declared, declared.source.base);
}

DoubleDouble ntk_base(const SchemeParams& params, const FrequencySource& source,
                      DoubleDouble scale) {
  const int64_t d = source.frequency_dim;
  if (d <= 2) params.refuse("", "needs a model with frequency_dim > 2", std::to_string(d));
  return source.base * pow(scale, DoubleDouble(d) / DoubleDouble(d - 2));
}

Spectrum dynamic_ntk_spectrum(const SchemeParams& params, const Rotary& declared, int64_t n) {
  const DoubleDouble factor = params.number("factor");
  const DoubleDouble trained = trained_length(params, declared);
  const DoubleDouble scale = max(1, factor * DoubleDouble(n) / trained - (factor - 1));
  return spectrum_with_base(declared, ntk_base(params, declared.source, scale));
}

int64_t trained_length(const SchemeParams& params, const Rotary& declared) {
  const int64_t length = declared.source.trained_length;
  if (length < 1) params.refuse("", "needs a model that tells its trained length");
  return length;
}

int64_t original_length(const SchemeParams& params, const Rotary& declared) {
  return params.has("original") ? params.integer("original") : trained_length(params, declared);
}

}  // namespace ropewalk
