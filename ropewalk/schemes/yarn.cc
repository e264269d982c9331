// YaRN: pairs of many turns stay, pairs of few slow down, and logits grow. Source: Peng et al.
// 2023, arXiv 2309.00071.
//
// Two ramps go by the name. The paper's runs in turns over the original length (ramp=turns).
// Everyone's code, after jquesnelle/yarn, runs it in the pair's index between two whole numbers
// (ramp=index). On a head of few pairs they differ much.
#include "ropewalk/schemes/by_parts.h"
#include "ropewalk/schemes/registry.h"
#include "ropewalk/schemes/source.h"

namespace ropewalk {
namespace {

// The (fractional) index of the pair that makes `turns` turns over `length` tokens.
DoubleDouble index_of_turns(const FrequencySource& source, DoubleDouble turns,
                            DoubleDouble length) {
  return DoubleDouble(source.frequency_dim) * log(length / (kTwoPi * turns)) /
         (2 * log(source.base));
}

// The ramp of Hugging Face transformers: 0 keeps a pair, 1 slows it. Its upper end is held to
// d - 1, not to the last pair, and ends that meet are kept 0.001 apart.
Spectrum by_index(const SchemeParams& p, const Rotary& declared) {
  const FrequencySource& source = declared.source;
  const DoubleDouble length = original_length(p, declared);
  DoubleDouble low = index_of_turns(source, p.number("beta_fast"), length);
  DoubleDouble high = index_of_turns(source, p.number("beta_slow"), length);
  if (p.choice("truncate") == "true") {
    low = floor(low);
    high = ceil(high);
  }
  low = max(low, 0);
  high = min(high, DoubleDouble(source.frequency_dim - 1));
  if (low == high) high += DoubleDouble(1) / 1000;

  Spectrum spectrum = plain_spectrum(declared);
  DoubleDouble index = 0;
  for (DoubleDouble& turns : spectrum.turns_per_token) {
    const DoubleDouble slow = clamp((index - low) / (high - low), 0, 1);
    turns = turns / p.number("factor") * slow + turns * (1 - slow);
    index += 1;
  }
  return spectrum;
}

// 0.1 k ln(s) + 1; the factor on queries and keys that the paper fitted on Llama with k = 1.
DoubleDouble magnitude(DoubleDouble factor, DoubleDouble k) { return k * log(factor) / 10 + 1; }

// As Hugging Face transformers decides it; 0 there means "not given".
DoubleDouble amplitude(const SchemeParams& p) {
  if (p.has("attention_factor")) return p.number("attention_factor");
  const DoubleDouble factor = p.number("factor");
  const DoubleDouble mscale = p.number("mscale");
  const DoubleDouble mscale_all_dim = p.number("mscale_all_dim");
  if (mscale == 0 || mscale_all_dim == 0) return magnitude(factor, 1);
  return magnitude(factor, mscale) / magnitude(factor, mscale_all_dim);
}

Rotary build(const SchemeParams& p, Rotary declared) {
  if (p.number("beta_slow") > p.number("beta_fast")) {
    p.refuse("beta_slow", "must be at most beta_fast");
  }
  if (declared.source.base <= 1) p.refuse("", "needs a model with base > 1");
  Spectrum spectrum =
      p.choice("ramp") == "index"
          ? by_index(p, declared)
          : by_parts(plain_spectrum(declared), p.number("factor"), original_length(p, declared),
                     p.number("beta_slow"), p.number("beta_fast"));
  spectrum.amplitude = static_cast<double>(amplitude(p));
  declared.spectrum = SpectrumRule(spectrum);
  return declared;
}

std::vector<std::string> candidates(int64_t trained_length, int64_t target_length) {
  const std::string part = "yarn,factor=" + stretch(trained_length, target_length);
  return {part, part + ",ramp=turns"};
}

}  // namespace

SchemeInfo yarn_scheme() {
  return {
      .name = "yarn",
      .kind = PartKind::kSpectrum,
      .formula =
          "(1 - g) inv_freq / s + g inv_freq, g by index or as in ntk_by_parts; amplitude 0.1 "
          "ln(s) + 1",
      .source = "Peng et al. 2023, arXiv 2309.00071",
      .params = {factor_param("s, how many times slower pairs of few turns turn"),
                 {.name = "ramp",
                  .type = ParamType::kChoice,
                  .fallback = "index",
                  .choices = {"index", "turns"},
                  .help = "what g is linear in: index, as engines do, or turns, as the paper"},
                 {.name = "beta_fast",
                  .fallback = "32",
                  .least = 0,
                  .above_least = true,
                  .unit = "turns",
                  .help = "pairs of more turns stay as they are; the paper's beta"},
                 {.name = "beta_slow",
                  .fallback = "1",
                  .least = 0,
                  .above_least = true,
                  .unit = "turns",
                  .help = "pairs of fewer turns are slowed by s; the paper's alpha"},
                 {.name = "truncate",
                  .type = ParamType::kChoice,
                  .fallback = "true",
                  .choices = {"true", "false"},
                  .help = "whether ramp=index runs between whole indices (gpt-oss: false)"},
                 {.name = "attention_factor",
                  .least = 1e-6,
                  .most = 1e6,
                  .help = "the amplitude itself, instead of 0.1 ln(s) + 1"},
                 {.name = "mscale",
                  .fallback = "0",
                  .least = 0,
                  .help = "amplitude of this k over that of mscale_all_dim, 0.1 k ln(s) + 1 each"},
                 {.name = "mscale_all_dim",
                  .fallback = "0",
                  .least = 0,
                  .help = "see mscale; the pair counts where neither is 0"},
                 original_param()},
      .build = build,
      .candidates = candidates};
}

}  // namespace ropewalk
