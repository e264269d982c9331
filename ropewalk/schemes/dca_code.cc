// Dual chunk attention as its repository ships it: c = 3L/4, l = L/8, and an amplitude that grows
// with the length, which the paper does not have. Source: github.com/HKUNLP/ChunkLlama,
// chunkllama_attn_replace.py, 2024 (k was 0.1 for a while).
#include <algorithm>
#include <utility>

#include "ropewalk/math/reach.h"
#include "ropewalk/schemes/dual_chunk.h"
#include "ropewalk/schemes/source.h"

namespace ropewalk {
namespace {

DualChunk shipped(int64_t length) {
  return {.chunk = std::max<int64_t>(1, length * 3 / 4), .local = length / 8};
}

Rotary build(const SchemeParams& p, Rotary declared) {
  const int64_t original = original_length(p, declared);
  const DualChunk chosen = dual_chunk_params(p, shipped(original));
  declared.distance = dual_chunk_map(chosen.chunk, chosen.local, p.pairs());
  const DoubleDouble coefficient = p.number("coefficient");
  declared.spectrum = seeing_length(
      declared.spectrum, kUnbounded, [coefficient, original](Spectrum spectrum, int64_t n) {
        const DoubleDouble stretch = DoubleDouble(n) / original;
        spectrum.amplitude *= static_cast<double>(max(1, yarn_magnitude(stretch, 1, coefficient)));
        return spectrum;
      });
  return declared;
}

std::vector<std::string> candidates(int64_t, int64_t) { return {"dca_code"}; }

}  // namespace

SchemeInfo dca_code_scheme() {
  std::vector<ParamInfo> params = dual_chunk_param_infos("floor(3 L / 4)", "floor(L / 8)");
  params.push_back({.name = "coefficient",
                    .fallback = "0.05",
                    .above_least = true,
                    .help = "k, how fast the amplitude grows past L"});
  params.back().least = 0;
  params.back().most = 1;
  params.push_back(length_param("L; the model's trained length by default"));
  return {.name = "dca_code",
          .kind = PartKind::kDistanceMap,
          .formula = "as dca, and the amplitude times max(1, k ln(n / L) + 1)",
          .source = "github.com/HKUNLP/ChunkLlama, 2024",
          .params = std::move(params),
          .build = build,
          .candidates = candidates,
          .depends_on_length = true,
          .relative = false};
}

}  // namespace ropewalk
