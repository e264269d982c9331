// LM-Infinite: only the first tokens and the nearest ones are seen, and none beyond a ceiling on
// the distance. Source: Han et al. 2023, arXiv 2308.16137, github.com/Glaciohound/LM-Infinite.
#include <algorithm>

#include "ropewalk/schemes/registry.h"

namespace ropewalk {
namespace {

// Unlike StreamingLLM's, positions are those of the text; the ceiling alone keeps them in range.
Rotary build(const SchemeParams& p, Rotary declared) {
  if (!declared.distance.is_identity()) {
    p.refuse("", FaultKind::kConflict,
             "brings its own ceiling on the distance: it goes with no distance map");
  }
  const int64_t window = p.integer("window");
  const int64_t ceiling = p.has("ceiling") ? p.integer("ceiling") : window;
  declared.distance = piecewise_linear(ceiling, ceiling, 0);
  declared.visibility = {.window = window, .sinks = p.integer("sinks"), .sinks_stay = true};
  return declared;
}

// The paper's ten first tokens.
std::vector<std::string> candidates(int64_t trained_length, int64_t) {
  return {"lm_infinite,sinks=10,window=" + share_of(trained_length, 0.5),
          "lm_infinite,sinks=10,window=" + std::to_string(trained_length)};
}

}  // namespace

SchemeInfo lm_infinite_scheme() {
  return {.name = "lm_infinite",
          .kind = PartKind::kVisibility,
          .formula = "keys with d < w, and keys j < c, at distance min(d, B)",
          .source = "Han et al. 2023, arXiv 2308.16137",
          .params = {{.name = "sinks",
                      .type = ParamType::kInteger,
                      .required = true,
                      .least = 0,
                      .unit = "tokens",
                      .help = "c, how many first tokens stay in sight"},
                     window_param("w, how many last tokens are seen, the query's own included"),
                     {.name = "ceiling",
                      .type = ParamType::kInteger,
                      .least = 1,
                      .unit = "tokens",
                      .help = "B, the farthest distance; w by default"}},
          .build = build,
          .candidates = candidates,
          .relative = false};
}

}  // namespace ropewalk
