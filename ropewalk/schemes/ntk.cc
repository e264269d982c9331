// NTK-aware scaling: the base that slows the slowest pair by `factor` and leaves the fastest alone.
// Source: bloc97 2023, "NTK-Aware Scaled RoPE" (reddit.com/r/LocalLLaMA, 14lz7j5).
#include "ropewalk/schemes/registry.h"
#include "ropewalk/schemes/source.h"

namespace ropewalk {
namespace {

Rotary build(const SchemeParams& p, Rotary declared) {
  declared.spectrum =
      SpectrumRule(spectrum_with_base(declared, ntk_base(p, declared.source, p.number("factor"))));
  return declared;
}

// Middle pairs reach past their trained arc before the slowest does, so the best factor lies about
// s, on either side.
std::vector<std::string> candidates(int64_t trained_length, int64_t target_length) {
  return {"ntk,factor=" + stretch(trained_length, target_length, 0.5),
          "ntk,factor=" + stretch(trained_length, target_length),
          "ntk,factor=" + stretch(trained_length, target_length, 2)};
}

}  // namespace

SchemeInfo ntk_scheme() {
  return {.name = "ntk",
          .kind = PartKind::kSpectrum,
          .formula = "(b s^(D / (D - 2)))^(-2 pair / D)",
          .source = "bloc97 2023, NTK-Aware Scaled RoPE",
          .params = {factor_param("s, how many times slower the slowest pair turns")},
          .build = build,
          .candidates = candidates};
}

}  // namespace ropewalk
