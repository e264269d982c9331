// Cap, or ReRoPE: the distance saturates at `window`, so the rotation sees nothing that training
// did not show it. Source: Su 2023, kexue.fm/archives/9708, github.com/bojone/rerope.
#include "ropewalk/schemes/registry.h"

namespace ropewalk {
namespace {

Rotary build(const SchemeParams& p, Rotary declared) {
  const int64_t window = p.integer("window");
  declared.distance = piecewise_linear(window, window, 0, p.pairs());
  return declared;
}

// The trained length itself is a poor cap: its last distances were hardly trained.
std::vector<std::string> candidates(int64_t trained_length, int64_t) {
  return {"cap,window=" + share_of(trained_length, 0.25),
          "cap,window=" + share_of(trained_length, 0.5),
          "cap,window=" + share_of(trained_length, 0.7)};
}

}  // namespace

SchemeInfo cap_scheme() {
  return {.name = "cap",
          .kind = PartKind::kDistanceMap,
          .formula = "d if d < w else w",
          .source = "Su 2023, kexue.fm/archives/9708",
          .params = {window_param("w, the distance that all farther keys are seen at")},
          .build = build,
          .candidates = candidates};
}

}  // namespace ropewalk
