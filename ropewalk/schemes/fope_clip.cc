// The clipping of FoPE: frequencies of a wavelength longer than the trained length, which training
// saw only in part, become the zero frequency. FoPE's other half, learned sums of frequencies for
// each pair, needs its weights and is not here. Source: Hua et al. 2024, arXiv 2412.17739, section
// 3; also the "fope" of vLLM.
#include "ropewalk/schemes/registry.h"
#include "ropewalk/schemes/slow_pairs.h"
#include "ropewalk/schemes/source.h"

namespace ropewalk {
namespace {

Rotary build(const SchemeParams& p, Rotary declared) {
  declared.spectrum =
      SpectrumRule(without_slow_pairs(plain_spectrum(declared), 1, original_length(p, declared)));
  return declared;
}

// The spectrum of hope, whose candidate stands for both.
std::string example(int64_t) { return "fope_clip"; }

}  // namespace

SchemeInfo fope_clip_scheme() {
  return {.name = "fope_clip",
          .kind = PartKind::kSpectrum,
          .formula = "inv_freq where 2 pi / inv_freq <= L, else 0",
          .source = "Hua et al. 2024, arXiv 2412.17739",
          .params = {original_param()},
          .build = build,
          .example = example};
}

}  // namespace ropewalk
