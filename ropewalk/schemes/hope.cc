// HoPE: only high frequencies tell positions. Pairs that do not finish their turn within the trained
// length, of which a model has seen a part only, stand still. Source: Chen et al. 2024, arXiv
// 2410.21216 (there trained so).
#include "ropewalk/schemes/registry.h"
#include "ropewalk/schemes/slow_pairs.h"
#include "ropewalk/schemes/source.h"

namespace ropewalk {
namespace {

Rotary build(const SchemeParams& p, Rotary declared) {
  declared.spectrum = SpectrumRule(without_slow_pairs(plain_spectrum(declared), p.number("turns"),
                                                      original_length(p, declared)));
  return declared;
}

std::vector<std::string> candidates(int64_t, int64_t) { return {"hope"}; }

}  // namespace

SchemeInfo hope_scheme() {
  return {.name = "hope",
          .kind = PartKind::kSpectrum,
          .formula = "inv_freq where L inv_freq / (2 pi) >= t, else 0",
          .source = "Chen et al. 2024, arXiv 2410.21216",
          .params = {{.name = "turns",
                      .fallback = "1",
                      .least = 0,
                      .unit = "turns",
                      .help = "t, pairs of fewer turns stand still"},
                     original_param()},
          .build = build,
          .candidates = candidates};
}

}  // namespace ropewalk
