// YaRN: pairs of many turns stay, pairs of few slow down, and logits grow. Source: Peng et al.
// 2023, arXiv 2309.00071.
//
// Two ramps go by the name. The paper's runs in turns over the original length (ramp=turns).
// Everyone's code, after jquesnelle/yarn, runs it in the pair's index between two whole numbers
// (ramp=index). On a head of few pairs they differ much.
#include <utility>

#include "ropewalk/math/reach.h"
#include "ropewalk/schemes/by_parts.h"
#include "ropewalk/schemes/index_ramp.h"
#include "ropewalk/schemes/registry.h"
#include "ropewalk/schemes/source.h"

namespace ropewalk {
namespace {

// The coefficient of the magnitude as the decimal that it is written as: 0.1 is a tenth, not the
// double next to it.
DoubleDouble coefficient(const SchemeParams& p) {
  return from_decimal(to_text(static_cast<double>(p.number("coefficient"))));
}

DoubleDouble amplitude(const SchemeParams& p) {
  if (p.has("attention_factor")) return p.number("attention_factor");
  return yarn_amplitude(p.number("factor"), p.number("mscale"), p.number("mscale_all_dim"),
                        coefficient(p));
}

// DeepSeek's: its code multiplies the softmax scale by the square of the magnitude that the
// amplitude was divided by, and so all logits, those of unrotated coordinates too. 1 where
// mscale_all_dim is 0.
DoubleDouble logit_multiplier(const SchemeParams& p) {
  if (p.choice("mscale_logits") == "false") return 1;
  const DoubleDouble m =
      yarn_magnitude(p.number("factor"), p.number("mscale_all_dim"), coefficient(p));
  return m * m;
}

Spectrum by_index(const SchemeParams& p, const Rotary& declared) {
  const IndexRamp ramp =
      beta_ramp(p, declared.source, original_length(p, declared), p.choice("truncate") == "true");
  return slowed_along(ramp, p.number("factor"), plain_spectrum(declared));
}

Rotary build(const SchemeParams& p, Rotary declared) {
  check_betas(p);
  Spectrum spectrum =
      p.choice("ramp") == "index"
          ? by_index(p, declared)
          : by_parts(plain_spectrum(declared), p.number("factor"), original_length(p, declared),
                     p.number("beta_slow"), p.number("beta_fast"));
  spectrum.amplitude = static_cast<double>(amplitude(p));
  spectrum.logit_multiplier = static_cast<double>(logit_multiplier(p));
  declared.spectrum = SpectrumRule(spectrum);
  return declared;
}

std::vector<std::string> candidates(int64_t trained_length, int64_t target_length) {
  const std::string part = "yarn,factor=" + stretch(trained_length, target_length);
  return {part, part + ",ramp=turns"};
}

}  // namespace

SchemeInfo yarn_scheme() {
  std::vector<ParamInfo> params =
      beta_params("pairs of more turns stay as they are; the paper's beta",
                  "pairs of fewer turns are slowed by s; the paper's alpha");
  params.insert(params.begin(),
                {slowdown_param("s, how many times slower pairs of few turns turn"),
                 {.name = "ramp",
                  .type = ParamType::kChoice,
                  .fallback = "index",
                  .choices = {"index", "turns"},
                  .help = "what g is linear in: index, as engines do, or turns, as the paper"}});
  params.insert(params.end(),
                {{.name = "truncate",
                  .type = ParamType::kChoice,
                  .fallback = "true",
                  .choices = {"true", "false"},
                  .help = "whether ramp=index runs between whole indices (gpt-oss: false)"},
                 {.name = "attention_factor",
                  .least = 1e-6,
                  .most = 1e6,
                  .help = "the amplitude itself, instead of c ln(s) + 1"},
                 {.name = "mscale",
                  .fallback = "0",
                  .least = 0,
                  .most = 1e6,
                  .help = "magnitude of this k over that of mscale_all_dim, c k ln(s) + 1 each"},
                 {.name = "mscale_all_dim",
                  .fallback = "0",
                  .least = 0,
                  .most = 1e6,
                  .help = "see mscale; the pair counts where neither is 0"},
                 {.name = "mscale_logits",
                  .type = ParamType::kChoice,
                  .fallback = "false",
                  .choices = {"true", "false"},
                  .help = "whether every logit is multiplied by the square of the magnitude with k "
                          "= mscale_all_dim (DeepSeek, Kimi: true)"},
                 {.name = "coefficient",
                  .fallback = "0.1",
                  .least = 0,
                  .most = 1e6,
                  .help = "c of the magnitudes c k ln(s) + 1 (TeleChat3: 0.07)"},
                 original_param()});
  return {
      .name = "yarn",
      .kind = PartKind::kSpectrum,
      .formula =
          "(1 - g) inv_freq / s + g inv_freq, g by index or as in ntk_by_parts; amplitude c ln(s) "
          "+ 1",
      .source = "Peng et al. 2023, arXiv 2309.00071",
      .params = std::move(params),
      .build = build,
      .candidates = candidates};
}

}  // namespace ropewalk
