// PartNTK, the earlier "NTK by parts" of two ramps: fast pairs stay, slow pairs slow down by s, those
// between have the base of ntk. Source: github.com/jquesnelle/yarn, LlamaPartNTKScaledRotaryEmbedding,
// after bloc97 2023.
#include "ropewalk/schemes/index_ramp.h"
#include "ropewalk/schemes/registry.h"
#include "ropewalk/schemes/source.h"

namespace ropewalk {
namespace {

Rotary build(const SchemeParams& p, Rotary declared) {
  const DoubleDouble factor = p.number("factor");
  const PartNtkRamps ramps = part_ntk_ramps(p, declared.source, original_length(p, declared));

  const Spectrum plain = plain_spectrum(declared);
  Spectrum spectrum = spectrum_with_base(declared, ntk_base(p, declared.source, factor));
  spectrum.base = plain.base;
  for (int64_t pair = 0; pair < plain.n_pairs(); ++pair) {
    const DoubleDouble own = plain.turns_per_token[pair];
    DoubleDouble& turns = spectrum.turns_per_token[pair];
    const DoubleDouble slowed = ramps.to_slowed.at(pair);
    turns = own / factor * slowed + turns * (1 - slowed);
    const DoubleDouble changed = ramps.to_ntk.at(pair);
    turns = turns * changed + own * (1 - changed);
  }
  declared.spectrum = SpectrumRule(spectrum);
  return declared;
}

std::vector<std::string> candidates(int64_t trained_length, int64_t target_length) {
  return {"part_ntk,factor=" + stretch(trained_length, target_length)};
}

}  // namespace

SchemeInfo part_ntk_scheme() {
  return {.name = "part_ntk",
          .kind = PartKind::kSpectrum,
          .formula =
              "(1 - h) inv_freq + h (g inv_freq / s + (1 - g) ntk), g and h ramps by index between "
              "the pairs of 1.25 and 0.75, of 16 and 2 turns over L",
          .source = "github.com/jquesnelle/yarn, PartNTK, 2023",
          .params = {slowdown_param("s, how many times slower pairs of few turns turn"),
                     original_param()},
          .build = build,
          .candidates = candidates};
}

}  // namespace ropewalk
