// Attention sinks: a sliding window, and the first tokens as if they stood right before it.
// Source: Xiao et al. 2023, arXiv 2309.17453 (StreamingLLM; four sinks are its choice).
#include <algorithm>

#include "ropewalk/schemes/registry.h"

namespace ropewalk {
namespace {

// Positions inside the kept set: keys of the window at their true distance d, sink j at min(i, s +
// c - 1) - j.
Rotary build(const SchemeParams& p, Rotary declared) {
  declared.visibility = {.window = p.integer("size"), .sinks = p.integer("count")};
  return declared;
}

std::vector<std::string> candidates(int64_t trained_length, int64_t) {
  return {"sinks,count=4,size=" + share_of(trained_length, 0.5),
          "sinks,count=4,size=" + std::to_string(std::max<int64_t>(1, trained_length - 4))};
}

}  // namespace

SchemeInfo sinks_scheme() {
  return {.name = "sinks",
          .kind = PartKind::kVisibility,
          .formula = "keys with d < s, and keys j < c at distance min(i, s + c - 1) - j",
          .source = "Xiao et al. 2023, arXiv 2309.17453",
          .params = {{.name = "count",
                      .type = ParamType::kInteger,
                      .required = true,
                      .least = 0,
                      .unit = "tokens",
                      .help = "c, how many first tokens stay in sight"},
                     {.name = "size",
                      .type = ParamType::kInteger,
                      .required = true,
                      .least = 1,
                      .unit = "tokens",
                      .help = "s, how many last tokens are seen, the query's own included"}},
          .build = build,
          .candidates = candidates,
          .relative = false};
}

}  // namespace ropewalk
