// Dual chunk attention as its paper has it: chunks of s = 3L/4 tokens, a window of L - s that stays
// true across them, and nothing seen farther than L - 1. Source: An et al. 2024, arXiv 2402.17463.
#include <algorithm>

#include "ropewalk/schemes/dual_chunk.h"

namespace ropewalk {
namespace {

Rotary build(const SchemeParams& p, Rotary declared) {
  const DualChunk chosen = dca_chunks(p, declared);
  declared.distance = dual_chunk_map(chosen.chunk, chosen.local, p.pairs());
  return declared;
}

std::string text_of(const DualChunk& chosen) {
  return "dca,chunk=" + std::to_string(chosen.chunk) + ",local=" + std::to_string(chosen.local);
}

// The paper's setting, and the same within 0.7 of the trained length, whose last distances were
// hardly trained.
std::vector<std::string> candidates(int64_t trained_length, int64_t) {
  const int64_t well_trained = std::max<int64_t>(2, trained_length * 7 / 10);
  return {text_of(papers_dual_chunk(trained_length)), text_of(papers_dual_chunk(well_trained))};
}

}  // namespace

SchemeInfo dca_scheme() {
  return {.name = "dca",
          .kind = PartKind::kDistanceMap,
          .formula =
              "r = c - l: d in one chunk of r, min(i mod r + r, c) - j mod r one back, "
              "min(2 r - 1, c) - j mod r further back",
          .source = "An et al. 2024, arXiv 2402.17463",
          .params = dual_chunk_param_infos("L - 1", "L - 1 - floor(3 L / 4)"),
          .build = build,
          .candidates = candidates,
          .relative = false};
}

}  // namespace ropewalk
