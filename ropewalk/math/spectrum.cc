// Spectrum of plain RoPE, and spectra that depend on a length.
#include "ropewalk/math/spectrum.h"

#include <cassert>
#include <utility>

namespace ropewalk {

std::vector<double> Spectrum::inv_freq() const {
  std::vector<double> radians;
  radians.reserve(turns_per_token.size());
  for (const DoubleDouble turns : turns_per_token) {
    radians.push_back(static_cast<double>(turns * kTwoPi));
  }
  return radians;
}

std::vector<DoubleDouble> rope_inv_freq(DoubleDouble base, int64_t frequency_dim, int64_t n_pairs) {
  assert(base > 0.0);
  assert(frequency_dim >= 2 && frequency_dim % 2 == 0 && n_pairs <= frequency_dim / 2);
  std::vector<DoubleDouble> inv_freq;
  inv_freq.reserve(static_cast<size_t>(n_pairs));
  for (int64_t pair = 0; pair < n_pairs; ++pair) {
    inv_freq.push_back(pow(base, DoubleDouble(-2 * pair) / DoubleDouble(frequency_dim)));
  }
  return inv_freq;
}

Spectrum spectrum_of(const std::vector<DoubleDouble>& inv_freq) {
  Spectrum spectrum;
  spectrum.turns_per_token.reserve(inv_freq.size());
  for (const DoubleDouble radians : inv_freq) {
    assert(is_finite(radians));
    spectrum.turns_per_token.push_back(radians / kTwoPi);
  }
  return spectrum;
}

Spectrum rope_spectrum(DoubleDouble base, int64_t frequency_dim, int64_t n_pairs) {
  Spectrum spectrum = spectrum_of(rope_inv_freq(base, frequency_dim, n_pairs));
  spectrum.base = static_cast<double>(base);
  spectrum.frequency_dim = frequency_dim;
  return spectrum;
}

SpectrumRule::SpectrumRule(Spectrum fixed)
    : at_([fixed = std::move(fixed)](int64_t) { return fixed; }) {}

SpectrumRule::SpectrumRule(Length length, Function at, int64_t block)
    : length_(length), block_(block), at_(std::move(at)) {
  assert(block_ >= 1 && at_);
}

Spectrum SpectrumRule::at(int64_t n) const {
  assert(n >= 1);
  return at_(n);
}

int64_t SpectrumRule::length_for_row(int64_t i, int64_t n) const {
  assert(0 <= i && i < n);
  switch (length_) {
    case Length::kToken:
      return i + 1;
    case Length::kBlock: {
      const int64_t first_row = i - i % block_;
      return block_ < n - first_row ? first_row + block_ : n;
    }
    case Length::kFixed:
    case Length::kSequence:
      break;
  }
  return n;
}

}  // namespace ropewalk
