// Proportional RoPE: the first pairs turn with exponents over the whole head, the others stand
// still. Not the same as fewer coordinates that turn, whose exponents run over those alone. Source:
// Gemma 4 (Hugging Face transformers, rope_type "proportional"), 2026.
#include "ropewalk/schemes/registry.h"
#include "ropewalk/schemes/source.h"

namespace ropewalk {
namespace {

Rotary build(const SchemeParams& p, Rotary declared) {
  const int64_t rotating = p.integer("rotating");
  Spectrum spectrum = plain_spectrum(declared);
  if (rotating > spectrum.n_pairs()) {
    p.refuse("rotating", FaultKind::kOutOfRange,
             "must be at most the model's " + std::to_string(spectrum.n_pairs()) + " pairs",
             std::to_string(rotating));
  }
  for (DoubleDouble& turns : spectrum.turns_per_token) turns /= p.number("factor");
  stop_pairs_from(rotating, spectrum);
  declared.spectrum = SpectrumRule(spectrum);
  return declared;
}

// Gemma 4 turns a quarter of its pairs.
std::string example(int64_t n_pairs) {
  return "proportional,rotating=" + share_of(n_pairs, 0.25) + ",factor=2";
}

}  // namespace

SchemeInfo proportional_scheme() {
  return {.name = "proportional",
          .kind = PartKind::kSpectrum,
          .formula = "inv_freq / s where pair < k, else 0",
          .source = "Gemma 4 2026, Hugging Face transformers",
          .params = {{.name = "rotating",
                      .type = ParamType::kInteger,
                      .required = true,
                      .least = 0,
                      .unit = "pairs",
                      .help = "k, how many pairs turn, the fastest ones"},
                     {.name = "factor",
                      .fallback = "1",
                      .least = 1,
                      .most = 1e6,
                      .help = "s, how many times slower they turn",
                      .is_slowdown = true}},
          .build = build,
          .example = example};
}

}  // namespace ropewalk
