// Dynamic YaRN: YaRN with the factor that the length reached so far asks for, plain RoPE within the
// trained length. Source: Peng et al. 2023, arXiv 2309.00071, section 3.3; ramp and rounding as in
// github.com/jquesnelle/yarn, LlamaDynamicYaRNScaledRotaryEmbedding, not finetuned.
#include "ropewalk/schemes/index_ramp.h"
#include "ropewalk/schemes/registry.h"
#include "ropewalk/schemes/source.h"

namespace ropewalk {
namespace {

Rotary build(const SchemeParams& p, Rotary declared) {
  if (p.number("beta_slow") > p.number("beta_fast")) {
    p.refuse("beta_slow", "must be at most beta_fast");
  }
  const int64_t length = original_length(p, declared);
  const IndexRamp ramp =
      index_ramp(p, declared.source, p.number("beta_fast"), p.number("beta_slow"), length, true);
  const auto at = [length, ramp, plain = plain_spectrum(declared)](int64_t n) {
    if (n <= length) return plain;
    const DoubleDouble factor = DoubleDouble(n) / length;
    Spectrum spectrum = slowed_along(ramp, factor, plain);
    spectrum.amplitude = static_cast<double>(yarn_magnitude(factor, 1, DoubleDouble(1) / 10));
    return spectrum;
  };
  declared.spectrum = per_block(p, at);
  return declared;
}

std::vector<std::string> candidates(int64_t, int64_t) { return {"dynamic_yarn,block=64"}; }

}  // namespace

SchemeInfo dynamic_yarn_scheme() {
  return {.name = "dynamic_yarn",
          .kind = PartKind::kSpectrum,
          .formula =
              "yarn with s = n / L where n > L, else b^(-2 pair / D), n the end of the row's "
              "block",
          .source = "Peng et al. 2023, arXiv 2309.00071",
          .params = {{.name = "beta_fast",
                      .fallback = "32",
                      .least = 0,
                      .most = 1e6,
                      .above_least = true,
                      .unit = "turns",
                      .help = "pairs of more turns stay as they are"},
                     {.name = "beta_slow",
                      .fallback = "1",
                      .least = 0,
                      .most = 1e6,
                      .above_least = true,
                      .unit = "turns",
                      .help = "pairs of fewer turns are slowed by s"},
                     original_param(),
                     block_param("all")},
          .build = build,
          .candidates = candidates,
          .depends_on_length = true,
          .relative = false};
}

}  // namespace ropewalk
