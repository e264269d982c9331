// The usual fault of dynamic NTK with a cache of rotated keys: a key keeps the base of the moment
// it was cached, and meets queries of another base. Here to be recognised in an engine's output,
// never to be used. Source: described in github.com/NormXU/Consistent-DynamicNTKRoPE, 2023.
#include "ropewalk/schemes/registry.h"
#include "ropewalk/schemes/source.h"

namespace ropewalk {
namespace {

Rotary build(const SchemeParams& p, Rotary declared) {
  dynamic_ntk_spectrum(p, declared, 1);  // refuses a model that it does not fit
  declared.spectrum = SpectrumRule(SpectrumRule::Length::kToken, [p, declared](int64_t n) {
    return dynamic_ntk_spectrum(p, declared, n);
  });
  return declared;
}

std::vector<std::string> candidates(int64_t, int64_t) { return {"stale_dynamic_ntk"}; }

}  // namespace

SchemeInfo stale_dynamic_ntk_scheme() {
  return {.name = "stale_dynamic_ntk",
          .kind = PartKind::kSpectrum,
          .formula =
              "(b max(1, f n / L - (f - 1))^(D / (D - 2)))^(-2 pair / D), n = position + 1 of each "
              "token",
          .source = "github.com/NormXU/Consistent-DynamicNTKRoPE, 2023",
          .params = {{.name = "factor",
                      .fallback = "1",
                      .least = 1,
                      .help = "how steeply the base grows past the trained length"}},
          .build = build,
          .candidates = candidates,
          .recommended = false,
          .relative = false};
}

}  // namespace ropewalk
