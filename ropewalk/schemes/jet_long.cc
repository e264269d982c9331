// Jet-Long: true distances nearby, and Self-Extend's groups beyond, as large as the length reached
// so far asks for; within the trained length nothing changes.
// Source: Tang et al. 2026, arXiv 2607.07740, github.com/jet-ai-projects/Jet-Long (w_0 there is the
// window here, w the trained length).
#include <algorithm>

#include "ropewalk/schemes/registry.h"
#include "ropewalk/schemes/source.h"

namespace ropewalk {
namespace {

// floor(i / G) - floor(j / G) from d > w_0, with G = max(1, ceil(n / L)).
DistanceMap map_at(int64_t n, int64_t window, int64_t original, PairRange pairs) {
  const int64_t group = std::max<int64_t>(1, (n + original - 1) / original);
  if (group == 1) return DistanceMap({Branch{}}, pairs);
  const Branch near{.last = window + 1};
  const Branch far{.first = window + 1, .query = {.group = group}, .key = {.group = group}};
  return DistanceMap({near, far}, pairs);
}

// The map and the spectrum of a row must see one length.
void check_block(const SchemeParams& p, const SpectrumRule& rule) {
  using Length = SpectrumRule::Length;
  if (rule.length() == Length::kToken) {
    p.refuse("", FaultKind::kConflict, "goes with no spectrum of its own for every token");
  }
  const int64_t block = p.integer("block");
  const bool same = rule.length() == Length::kFixed ||
                    (rule.length() == Length::kSequence && block == kUnbounded) ||
                    (rule.length() == Length::kBlock && block == rule.block());
  if (same) return;
  const std::string wanted =
      rule.length() == Length::kSequence ? "all" : std::to_string(rule.block());
  p.refuse("block", FaultKind::kConflict, "must be that of the spectrum, " + wanted,
           block == kUnbounded ? "all" : std::to_string(block), "write block=" + wanted);
}

Rotary build(const SchemeParams& p, Rotary declared) {
  const int64_t window = p.integer("window");
  const int64_t original = original_length(p, declared);
  check_block(p, declared.spectrum);
  declared.distance = DistanceMap::by_length([window, original, pairs = p.pairs()](int64_t n) {
    return map_at(n, window, original, pairs);
  });
  declared.spectrum = seeing_length(declared.spectrum, p.integer("block"),
                                    [](Spectrum spectrum, int64_t) { return spectrum; });
  return declared;
}

ParamInfo rows_param() {
  ParamInfo block = block_param("all");
  block.help = "rows that share one n, the end of their block; all: the whole sequence";
  return block;
}

// The paper's window, 2048 of 32768, and a quarter.
std::vector<std::string> candidates(int64_t trained_length, int64_t) {
  return {"jet_long,window=" + share_of(trained_length, 1.0 / 16),
          "jet_long,window=" + share_of(trained_length, 0.25)};
}

}  // namespace

SchemeInfo jet_long_scheme() {
  return {.name = "jet_long",
          .kind = PartKind::kDistanceMap,
          .formula = "d if d <= w or n <= L else floor(i / G) - floor(j / G), G = ceil(n / L)",
          .source = "Tang et al. 2026, arXiv 2607.07740",
          .params = {window_param("w, the farthest distance that stays true"), rows_param(),
                     length_param("L; the model's trained length by default")},
          .build = build,
          .candidates = candidates,
          .depends_on_length = true,
          .relative = false};
}

}  // namespace ropewalk
