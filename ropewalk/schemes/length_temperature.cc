// Temperature by the length of the sequence: past the original length every logit grows with the
// logarithm of the stretch. Source: Qwen2.5-1M 2025, the dual chunk attention of vLLM and SGLang
// ("original_max_position_embeddings" of dual_chunk_attention_config).
#include "ropewalk/math/reach.h"
#include "ropewalk/schemes/registry.h"
#include "ropewalk/schemes/source.h"

namespace ropewalk {
namespace {

DoubleDouble multiplier(int64_t n, int64_t length) {
  return max(1, yarn_magnitude(DoubleDouble(n) / length));
}

// It is a logit multiplier of the spectrum, since a row's own position does not tell the length; a
// spectrum that goes by blocks gives it their ends. At one token it is 1: what is there beside it is
// the spectrum's own.
Rotary build(const SchemeParams& p, Rotary declared) {
  const int64_t length = original_length(p, declared);
  const double own = declared.spectrum.at(1).logit_multiplier;
  declared.spectrum =
      seeing_length(declared.spectrum, kUnbounded, [length, own](Spectrum spectrum, int64_t n) {
        spectrum.logit_multiplier = static_cast<double>(own * multiplier(n, length));
        return spectrum;
      });
  return declared;
}

std::vector<std::string> candidates(int64_t, int64_t) { return {"length_temperature"}; }

}  // namespace

SchemeInfo length_temperature_scheme() {
  return {.name = "length_temperature",
          .kind = PartKind::kMultiplier,
          .formula = "every logit times max(1, 0.1 ln(n / L) + 1)",
          .source = "Qwen2.5-1M 2025, vLLM",
          .params = {length_param("L, the model's trained length by default")},
          .build = build,
          .candidates = candidates,
          .depends_on_length = true};
}

}  // namespace ropewalk
