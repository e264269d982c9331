// Position interpolation: every pair turns `factor` times slower. Source: Chen et al. 2023, arXiv
// 2306.15595.
#include "ropewalk/schemes/registry.h"
#include "ropewalk/schemes/source.h"

namespace ropewalk {
namespace {

Rotary build(const SchemeParams& p, Rotary declared) {
  Spectrum spectrum = plain_spectrum(declared);
  for (DoubleDouble& turns : spectrum.turns_per_token) turns /= p.number("factor");
  declared.spectrum = SpectrumRule(spectrum);
  return declared;
}

std::vector<std::string> candidates(int64_t trained_length, int64_t target_length) {
  return {"linear,factor=" + stretch(trained_length, target_length)};
}

}  // namespace

SchemeInfo linear_scheme() {
  return {.name = "linear",
          .kind = PartKind::kSpectrum,
          .formula = "inv_freq / s",
          .source = "Chen et al. 2023, arXiv 2306.15595",
          .params = {slowdown_param("s, how many times slower")},
          .build = build,
          .candidates = candidates};
}

}  // namespace ropewalk
