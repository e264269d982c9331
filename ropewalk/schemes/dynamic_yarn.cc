// Dynamic YaRN: YaRN with the factor that the length reached so far asks for, plain RoPE within the
// trained length. Source: Peng et al. 2023, arXiv 2309.00071, section 3.3; ramp and rounding as in
// github.com/jquesnelle/yarn, LlamaDynamicYaRNScaledRotaryEmbedding, not finetuned.
#include <utility>

#include "ropewalk/math/reach.h"
#include "ropewalk/schemes/index_ramp.h"
#include "ropewalk/schemes/registry.h"
#include "ropewalk/schemes/source.h"

namespace ropewalk {
namespace {

Rotary build(const SchemeParams& p, Rotary declared) {
  check_betas(p);
  const int64_t length = original_length(p, declared);
  const IndexRamp ramp = beta_ramp(p, declared.source, length, true);
  const auto at = [length, ramp, plain = plain_spectrum(declared)](int64_t n) {
    if (n <= length) return plain;
    const DoubleDouble factor = DoubleDouble(n) / length;
    Spectrum spectrum = slowed_along(ramp, factor, plain);
    spectrum.amplitude = static_cast<double>(yarn_magnitude(factor));
    return spectrum;
  };
  declared.spectrum = per_block(p, at);
  return declared;
}

std::vector<std::string> candidates(int64_t, int64_t) { return {"dynamic_yarn,block=64"}; }

}  // namespace

SchemeInfo dynamic_yarn_scheme() {
  std::vector<ParamInfo> params =
      beta_params("pairs of more turns stay as they are", "pairs of fewer turns are slowed by s");
  params.insert(params.end(), {original_param(), block_param("all")});
  return {.name = "dynamic_yarn",
          .kind = PartKind::kSpectrum,
          .formula =
              "yarn with s = n / L where n > L, else b^(-2 pair / D), n the end of the row's "
              "block",
          .source = "Peng et al. 2023, arXiv 2309.00071",
          .params = std::move(params),
          .build = build,
          .candidates = candidates,
          .depends_on_length = true,
          .relative = false};
}

}  // namespace ropewalk
