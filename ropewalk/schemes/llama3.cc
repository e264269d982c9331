// Llama 3.1: fast pairs stay, slow pairs slow down by `factor`, those between go over smoothly.
// Source: Llama Team 2024, arXiv 2407.21783; formula in github.com/meta-llama/llama-models,
// model.py, apply_scaling.
#include "ropewalk/schemes/registry.h"
#include "ropewalk/schemes/source.h"

namespace ropewalk {
namespace {

// In turns r over the original length: r > high keeps the pair, r < low slows it. Equal ends make a
// step.
Rotary build(const SchemeParams& p, Rotary declared) {
  const DoubleDouble low = p.number("low");
  const DoubleDouble high = p.number("high");
  if (low > high)
    p.refuse("low", FaultKind::kOrder, "must be at most high", to_text(static_cast<double>(low)),
             "are the two swapped?");
  const DoubleDouble length = original_length(p, declared);

  Spectrum spectrum = plain_spectrum(declared);
  for (DoubleDouble& turns : spectrum.turns_per_token) {
    const DoubleDouble made = length * turns;
    const DoubleDouble slowed = turns / p.number("factor");
    if (made > high) continue;
    const DoubleDouble keep = made <= low ? DoubleDouble(0) : (made - low) / (high - low);
    turns = (1 - keep) * slowed + keep * turns;
  }
  declared.spectrum = SpectrumRule(spectrum);
  return declared;
}

std::vector<std::string> candidates(int64_t trained_length, int64_t target_length) {
  return {"llama3,factor=" + stretch(trained_length, target_length) + ",low=1,high=4"};
}

}  // namespace

SchemeInfo llama3_scheme() {
  return {.name = "llama3",
          .kind = PartKind::kSpectrum,
          .formula =
              "(1 - g) inv_freq / s + g inv_freq, g = clamp((L inv_freq / (2 pi) - low) / (high - "
              "low), 0, 1)",
          .source = "Llama Team 2024, arXiv 2407.21783",
          .params = {slowdown_param("s, how many times slower pairs of few turns turn"),
                     {.name = "low",
                      .required = true,
                      .least = 0,
                      .unit = "turns",
                      .help = "pairs of fewer turns are slowed by s (Llama 3.1: 1)"},
                     {.name = "high",
                      .required = true,
                      .least = 0,
                      .unit = "turns",
                      .help = "pairs of more turns stay as they are (Llama 3.1: 4)"},
                     original_param()},
          .build = build,
          .candidates = candidates};
}

}  // namespace ropewalk
