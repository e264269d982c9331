// NTK by parts, the YaRN paper's spectrum without its amplitude: pairs of many turns stay, pairs of
// few slow down. Source: Peng et al. 2023, arXiv 2309.00071, section 3.2; alpha and beta tuned
// there for Llama.
#include "ropewalk/schemes/by_parts.h"
#include "ropewalk/schemes/registry.h"
#include "ropewalk/schemes/source.h"

namespace ropewalk {
namespace {

Rotary build(const SchemeParams& p, Rotary declared) {
  if (p.number("alpha") > p.number("beta"))
    p.refuse("alpha", FaultKind::kOrder, "must be at most beta",
             to_text(static_cast<double>(p.number("alpha"))), "are the two swapped?");
  declared.spectrum =
      SpectrumRule(by_parts(plain_spectrum(declared), p.number("factor"),
                            original_length(p, declared), p.number("alpha"), p.number("beta")));
  return declared;
}

std::vector<std::string> candidates(int64_t trained_length, int64_t target_length) {
  return {"ntk_by_parts,factor=" + stretch(trained_length, target_length)};
}

}  // namespace

SchemeInfo ntk_by_parts_scheme() {
  return {.name = "ntk_by_parts",
          .kind = PartKind::kSpectrum,
          .formula =
              "(1 - g) inv_freq / s + g inv_freq, g = clamp((L inv_freq / (2 pi) - alpha) / (beta "
              "- alpha), 0, 1)",
          .source = "Peng et al. 2023, arXiv 2309.00071",
          .params = {slowdown_param("s, how many times slower pairs of few turns turn"),
                     {.name = "alpha",
                      .fallback = "1",
                      .least = 0,
                      .unit = "turns",
                      .help = "pairs of fewer turns are slowed by s"},
                     {.name = "beta",
                      .fallback = "32",
                      .least = 0,
                      .unit = "turns",
                      .help = "pairs of more turns stay as they are"},
                     original_param()},
          .build = build,
          .candidates = candidates};
}

}  // namespace ropewalk
