// xPos: beside its turn, each pair's part of a score decays with distance, the fast pairs most.
// Source: Sun et al. 2022, arXiv 2212.10554.
//
// The paper, torchscale, lucidrains' rotary-embedding-torch and flash-attn agree on zeta and gamma =
// 0.4, with scale_base 512 where one is not given (flash-attn: no xPos then). They differ in the
// centre that powers count from: 0 in the paper, half the length rounded up in torchscale, down in
// the other two. No score shows it, unless keys are cached with the centre of a shorter length.
#include "ropewalk/math/xpos.h"

#include "ropewalk/schemes/registry.h"
#include "ropewalk/schemes/source.h"

namespace ropewalk {
namespace {

Rotary build(const SchemeParams& p, Rotary declared) {
  const Xpos xpos{.rotary_dim = declared.layout.rotary_dim,
                  .scale_base = p.number("scale_base"),
                  .gamma = p.number("gamma")};
  Spectrum spectrum = plain_spectrum(declared);
  for (const DoubleDouble zeta : xpos.zeta()) {
    spectrum.decay.push_back(static_cast<double>(log(zeta) / xpos.scale_base));
  }
  declared.spectrum = SpectrumRule(spectrum);
  return declared;
}

// Of models that were trained with it.
std::string example(int64_t) { return "xpos"; }

}  // namespace

SchemeInfo xpos_scheme() {
  return {.name = "xpos",
          .kind = PartKind::kSpectrum,
          .formula = "inv_freq; times ((2 pair / d + gamma) / (1 + gamma))^(distance / scale_base)",
          .source = "Sun et al. 2022, arXiv 2212.10554",
          .params = {{.name = "scale_base",
                      .fallback = "512",
                      .least = 1e-3,
                      .most = 1e15,
                      .unit = "tokens",
                      .help = "over which the pair's factor is applied once"},
                     {.name = "gamma",
                      .fallback = "0.4",
                      .least = 1e-3,
                      .most = 1e6,
                      .help = "the larger, the less the fast pairs decay"}},
          .build = build,
          .example = example};
}

}  // namespace ropewalk
