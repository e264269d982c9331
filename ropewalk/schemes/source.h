// What spectrum parts start from: the model's own base and lengths, whatever scaling it declares.
#ifndef ROPEWALK_SCHEMES_SOURCE_H_
#define ROPEWALK_SCHEMES_SOURCE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "ropewalk/math/rotary.h"
#include "ropewalk/schemes/registry.h"

namespace ropewalk {

// The model's pairs under `base`, unscaled: plain RoPE where `base` is source.base. Pairs that the
// model leaves unturned (proportional RoPE; slower than a turn in 1e24 tokens) stay so, and so does
// the axis of each. Amplitude and logit multiplier are 1.
Spectrum spectrum_with_base(const Rotary& declared, DoubleDouble base);
Spectrum plain_spectrum(const Rotary& declared);

// base * scale^(d / (d - 2)) with d = frequency_dim: under it the slowest pair turns `scale` times
// slower and the fastest as before. Source: bloc97 2023, "NTK-aware scaled RoPE". Throws Error
// unless d > 2.
DoubleDouble ntk_base(const SchemeParams& params, const FrequencySource& source,
                      DoubleDouble scale);

// base * max(1, factor * n / L - (factor - 1))^(d / (d - 2)) at a length of n tokens, L the trained
// length: the base itself while n <= L. Source: emozilla 2023, "Dynamically scaled RoPE", as in
// Hugging Face transformers ("dynamic"). Throws Error where L is unknown or d <= 2.
Spectrum dynamic_ntk_spectrum(const SchemeParams& params, const Rotary& declared, int64_t n);

// Pairs `first` ... stand still: they tell nothing of positions, as if they were not rotated.
void stop_pairs_from(int64_t first, Spectrum& spectrum);

// A spectrum by the end of the row's block, `at` its function of that length, where the parameter
// `block` gives rows per block; by the whole sequence where it is "all".
SpectrumRule per_block(const SchemeParams& params, SpectrumRule::Function at);

// The parameter `block` of per_block().
ParamInfo block_param(const std::string& fallback);

// The declared trained length; throws Error where the model does not tell one.
int64_t trained_length(const SchemeParams& params, const Rotary& declared);

// The parameter `original` where given, else the trained length.
int64_t original_length(const SchemeParams& params, const Rotary& declared);

// The parameter `original` of what has another use for it than counting turns.
ParamInfo length_param(const std::string& help);

// `rule`, its spectra changed by `change`, which is told the length n. Where the rule is free of the
// length, n is that of the whole sequence, or of the end of a row's block; else what the rule sees.
//   block  rows, or kUnbounded for the whole sequence
using SpectrumChange = std::function<Spectrum(Spectrum spectrum, int64_t n)>;
SpectrumRule seeing_length(const SpectrumRule& rule, int64_t block, SpectrumChange change);

}  // namespace ropewalk

#endif  // ROPEWALK_SCHEMES_SOURCE_H_
