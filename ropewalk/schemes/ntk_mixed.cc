// NTK mixed: RoPE read as digits of mixed radix; the slow-down grows with the pair as a power law.
// Source: Su 2023, kexue.fm/archives/9706; power 0.75 as in github.com/bojone/rerope.
#include "ropewalk/schemes/registry.h"
#include "ropewalk/schemes/source.h"

namespace ropewalk {
namespace {

// inv_freq * exp(-a (pair + 1)^power), a = ln(s) / P^power: the last of the P pairs is slowed by s.
Rotary build(const SchemeParams& p, Rotary declared) {
  const DoubleDouble power = p.number("power");
  const DoubleDouble n_pairs = declared.source.frequency_dim / 2;
  const DoubleDouble a = log(p.number("factor")) / pow(n_pairs, power);
  Spectrum spectrum = plain_spectrum(declared);
  DoubleDouble count = 0;
  for (DoubleDouble& turns : spectrum.turns_per_token) {
    count += 1;
    turns *= exp(-(a * pow(count, power)));
  }
  declared.spectrum = SpectrumRule(spectrum);
  return declared;
}

std::vector<std::string> candidates(int64_t trained_length, int64_t target_length) {
  const std::string part = "ntk_mixed,factor=" + stretch(trained_length, target_length);
  return {part, part + ",power=0.625"};
}

}  // namespace

SchemeInfo ntk_mixed_scheme() {
  return {.name = "ntk_mixed",
          .kind = PartKind::kSpectrum,
          .formula = "inv_freq exp(-ln(s) ((pair + 1) / P)^power), P = D / 2",
          .source = "Su 2023, kexue.fm/archives/9706",
          .params = {factor_param("s, how many times slower the last pair turns"),
                     {.name = "power",
                      .fallback = "0.75",
                      .least = 0,
                      .most = 16,
                      .above_least = true,
                      .help = "how late the slow-down sets in"}},
          .build = build,
          .candidates = candidates};
}

}  // namespace ropewalk
