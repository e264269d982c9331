// Qwen-1's dynamic NTK: the NTK base for a scale that grows in powers of two, so that it stays the
// same while a text doubles. Source: Qwen 2023, modeling_qwen.py ("use_dynamic_ntk"), at inference.
#include <bit>

#include "ropewalk/schemes/registry.h"
#include "ropewalk/schemes/source.h"

namespace ropewalk {
namespace {

// max(1, 2^ceil(log2(n / L) + 1) - 1): ceil(log2(n / L)) is how many doublings of L it takes to hold
// n tokens.
DoubleDouble scale_at(int64_t n, int64_t length) {
  const auto doublings = std::bit_width(static_cast<uint64_t>((n - 1) / length));
  return DoubleDouble((int64_t{2} << doublings) - 1);
}

Rotary build(const SchemeParams& p, Rotary declared) {
  const int64_t length = original_length(p, declared);
  ntk_base(p, declared.source, 1);  // refuses a model that it does not fit
  const auto at = [p, declared, length](int64_t n) {
    return spectrum_with_base(declared, ntk_base(p, declared.source, scale_at(n, length)));
  };
  declared.spectrum = per_block(p, at);
  return declared;
}

std::vector<std::string> candidates(int64_t, int64_t) { return {"qwen_dynamic_ntk,block=64"}; }

}  // namespace

SchemeInfo qwen_dynamic_ntk_scheme() {
  return {.name = "qwen_dynamic_ntk",
          .kind = PartKind::kSpectrum,
          .formula =
              "(b a^(D / (D - 2)))^(-2 pair / D), a = max(1, 2^ceil(log2(n / L) + 1) - 1), n "
              "the end of the row's block",
          .source = "Qwen 2023, modeling_qwen.py",
          .params = {original_param(), block_param("all")},
          .build = build,
          .candidates = candidates,
          .depends_on_length = true,
          .relative = false};
}

}  // namespace ropewalk
