// Plain RoPE under the model's own base. Source: Su et al. 2021, arXiv 2104.09864.
#include "ropewalk/schemes/registry.h"
#include "ropewalk/schemes/source.h"

namespace ropewalk {
namespace {

// Takes a declared scaling away; changes nothing where none is declared.
Rotary build(const SchemeParams&, Rotary declared) {
  declared.spectrum = SpectrumRule(plain_spectrum(declared));
  return declared;
}

std::vector<std::string> candidates(int64_t, int64_t) { return {"rope"}; }

}  // namespace

SchemeInfo rope_scheme() {
  return {.name = "rope",
          .kind = PartKind::kSpectrum,
          .formula = "b^(-2 pair / D)",
          .source = "Su et al. 2021, arXiv 2104.09864",
          .build = build,
          .candidates = candidates};
}

}  // namespace ropewalk
