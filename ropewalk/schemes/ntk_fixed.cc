// NTK fixed: the other formula called "ntk", of vLLM's rope_type "ntk" and of the essays. RoPE read
// as digits: base b s, and every pair slowed by s^(2 / D) beside it, so that the last pair is slowed
// by s and the first not left alone. Source: Su 2023, kexue.fm/archives/9706.
#include "ropewalk/schemes/registry.h"
#include "ropewalk/schemes/source.h"

namespace ropewalk {
namespace {

Rotary build(const SchemeParams& p, Rotary declared) {
  const DoubleDouble factor = p.number("factor");
  const DoubleDouble slowed =
      pow(factor, DoubleDouble(2) / DoubleDouble(declared.source.frequency_dim));
  Spectrum spectrum = spectrum_with_base(declared, declared.source.base * factor);
  for (DoubleDouble& turns : spectrum.turns_per_token) turns /= slowed;
  declared.spectrum = SpectrumRule(spectrum);
  return declared;
}

std::vector<std::string> candidates(int64_t trained_length, int64_t target_length) {
  return {"ntk_fixed,factor=" + stretch(trained_length, target_length)};
}

}  // namespace

SchemeInfo ntk_fixed_scheme() {
  return {.name = "ntk_fixed",
          .kind = PartKind::kSpectrum,
          .formula = "(b s)^(-2 pair / D) s^(-2 / D)",
          .source = "Su 2023, kexue.fm/archives/9706",
          .params = {factor_param("s, how many times slower the last pair turns")},
          .build = build,
          .candidates = candidates};
}

}  // namespace ropewalk
