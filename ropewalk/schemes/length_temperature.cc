// Temperature by the length of the sequence: past the original length every logit grows with the
// logarithm of the stretch. Source: Qwen2.5-1M 2025, the dual chunk attention of vLLM and SGLang
// ("original_max_position_embeddings" of dual_chunk_attention_config).
#include "ropewalk/schemes/registry.h"
#include "ropewalk/schemes/source.h"

namespace ropewalk {
namespace {

DoubleDouble multiplier(int64_t n, int64_t length) {
  return max(1, log(DoubleDouble(n) / length) / 10 + 1);
}

// It is a logit multiplier of the spectrum, since a row's own position does not tell the length; a
// spectrum that goes by blocks gives it their ends. At one token it is 1: what is there beside it is
// the spectrum's own.
Rotary build(const SchemeParams& p, Rotary declared) {
  const auto at = [length = original_length(p, declared), rule = declared.spectrum](int64_t n) {
    Spectrum spectrum = rule.at(n);
    spectrum.logit_multiplier =
        static_cast<double>(rule.at(1).logit_multiplier * multiplier(n, length));
    return spectrum;
  };
  const SpectrumRule& rule = declared.spectrum;
  declared.spectrum = rule.length() == SpectrumRule::Length::kFixed
                          ? SpectrumRule(SpectrumRule::Length::kSequence, at)
                          : SpectrumRule(rule.length(), at, rule.block());
  return declared;
}

std::vector<std::string> candidates(int64_t, int64_t) { return {"length_temperature"}; }

}  // namespace

SchemeInfo length_temperature_scheme() {
  return {.name = "length_temperature",
          .kind = PartKind::kMultiplier,
          .formula = "every logit times max(1, 0.1 ln(n / L) + 1)",
          .source = "Qwen2.5-1M 2025, vLLM",
          .params = {{.name = "original",
                      .type = ParamType::kInteger,
                      .least = 1,
                      .unit = "tokens",
                      .help = "L, the model's trained length by default"}},
          .build = build,
          .candidates = candidates,
          .depends_on_length = true};
}

}  // namespace ropewalk
