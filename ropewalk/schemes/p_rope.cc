// p-RoPE: only the given share of pairs turns, the fastest ones; the others carry meaning without
// position. Source: Barbero et al. 2024, arXiv 2410.06205 (there trained so, best with 0.75).
#include <algorithm>
#include <cmath>

#include "ropewalk/schemes/registry.h"
#include "ropewalk/schemes/source.h"

namespace ropewalk {
namespace {

// The paper's code rounds down, and multiplies in double.
Rotary build(const SchemeParams& p, Rotary declared) {
  const auto share = static_cast<double>(p.number("keep"));
  const auto width = static_cast<double>(declared.source.frequency_dim);
  const auto kept = static_cast<int64_t>(std::floor(share * width / 2));
  Spectrum spectrum = plain_spectrum(declared);
  stop_pairs_from(std::min(kept, spectrum.n_pairs()), spectrum);
  declared.spectrum = SpectrumRule(spectrum);
  return declared;
}

std::vector<std::string> candidates(int64_t, int64_t) { return {"p_rope,keep=0.75"}; }

}  // namespace

SchemeInfo p_rope_scheme() {
  return {.name = "p_rope",
          .kind = PartKind::kSpectrum,
          .formula = "inv_freq where pair < floor(p D / 2), else 0",
          .source = "Barbero et al. 2024, arXiv 2410.06205",
          .params = {{.name = "keep",
                      .required = true,
                      .least = 0,
                      .most = 1,
                      .help = "p, the share of pairs that turn, the fastest ones"}},
          .build = build,
          .candidates = candidates};
}

}  // namespace ropewalk
