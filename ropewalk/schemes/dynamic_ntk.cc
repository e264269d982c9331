// Dynamic NTK: the NTK base for the length reached so far, so that short texts see plain RoPE.
// Source: emozilla 2023, "Dynamically Scaled RoPE" (reddit.com/r/LocalLLaMA, 14mrgpr).
#include "ropewalk/schemes/registry.h"
#include "ropewalk/schemes/source.h"

namespace ropewalk {
namespace {

// Every query sees all its keys under its own base, so a cache of rotated keys cannot hold this
// scheme (see stale_dynamic_ntk). Rows share a base in blocks, or the whole sequence does.
Rotary build(const SchemeParams& p, Rotary declared) {
  dynamic_ntk_spectrum(p, declared, 1);  // refuses a model that it does not fit
  const auto at = [p, declared](int64_t n) { return dynamic_ntk_spectrum(p, declared, n); };
  declared.spectrum = per_block(p, at);
  return declared;
}

std::vector<std::string> candidates(int64_t, int64_t) {
  return {"dynamic_ntk", "dynamic_ntk,factor=2"};
}

}  // namespace

SchemeInfo dynamic_ntk_scheme() {
  return {
      .name = "dynamic_ntk",
      .kind = PartKind::kSpectrum,
      .formula =
          "(b max(1, f n / L - (f - 1))^(D / (D - 2)))^(-2 pair / D), n the end of the row's block",
      .source = "emozilla 2023, Dynamically Scaled RoPE",
      .params = {{.name = "factor",
                  .fallback = "1",
                  .least = 1,
                  .help = "how steeply the base grows past the trained length"},
                 block_param("64")},
      .build = build,
      .candidates = candidates,
      .depends_on_length = true,
      .relative = false};
}

}  // namespace ropewalk
