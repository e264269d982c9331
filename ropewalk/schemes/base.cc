// Adjusted base: the base is multiplied, so slow pairs slow down more than fast ones.
// Source: Xiong et al. 2023, arXiv 2309.16039 (there 10000 -> 500000, with training).
#include "ropewalk/schemes/registry.h"
#include "ropewalk/schemes/source.h"

namespace ropewalk {
namespace {

Rotary build(const SchemeParams& p, Rotary declared) {
  const DoubleDouble base = declared.source.base * p.number("factor");
  if (base < 1)
    p.refuse("factor", FaultKind::kOutOfRange, "must keep the base >= 1",
             to_text(static_cast<double>(base)));
  declared.spectrum = SpectrumRule(spectrum_with_base(declared, base));
  return declared;
}

std::vector<std::string> candidates(int64_t, int64_t) {
  return {"base,factor=2", "base,factor=4", "base,factor=8", "base,factor=16"};
}

}  // namespace

SchemeInfo base_scheme() {
  return {.name = "base",
          .kind = PartKind::kSpectrum,
          .formula = "(b f)^(-2 pair / D)",
          .source = "Xiong et al. 2023, arXiv 2309.16039",
          .params = {{.name = "factor",
                      .required = true,
                      .least = 0,
                      .most = 1e12,
                      .above_least = true,
                      .help = "f, multiplies the base"}},
          .build = build,
          .candidates = candidates};
}

}  // namespace ropewalk
