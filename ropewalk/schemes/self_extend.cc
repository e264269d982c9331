// Self-Extend: far tokens share positions in groups. Source: Jin et al. 2024, arXiv 2401.01325.
#include "ropewalk/schemes/registry.h"

namespace ropewalk {
namespace {

// floor(i / g) + w - floor(w / g) - floor(j / g) from d >= w.
Rotary build(const SchemeParams& p, Rotary declared) {
  const int64_t window = p.integer("window");
  const int64_t group = p.integer("group");
  const Branch near{.last = window};
  const Branch far{.first = window,
                   .query = {.offset = DoubleDouble(window - window / group), .group = group},
                   .key = {.group = group}};
  declared.distance = DistanceMap({near, far}, p.pairs());
  return declared;
}

// Groups that bring the target length to just inside the trained one, and to half the room left for
// it.
std::vector<std::string> candidates(int64_t trained_length, int64_t target_length) {
  std::vector<std::string> parts;
  for (double share : {0.25, 0.5}) {
    const int64_t window = share_tokens(trained_length, share);
    const int64_t group = smallest_group(window, trained_length, target_length);
    for (int64_t g : {group, 2 * group}) {
      parts.push_back("self_extend,window=" + std::to_string(window) +
                      ",group=" + std::to_string(g));
    }
  }
  return parts;
}

}  // namespace

SchemeInfo self_extend_scheme() {
  return {.name = "self_extend",
          .kind = PartKind::kDistanceMap,
          .formula = "d if d < w else floor(i / g) + w - floor(w / g) - floor(j / g)",
          .source = "Jin et al. 2024, arXiv 2401.01325",
          .params = {window_param("w, up to which distances are true"),
                     {.name = "group",
                      .type = ParamType::kInteger,
                      .required = true,
                      .least = 1,
                      .unit = "tokens",
                      .help = "g, neighbours that share one position"}},
          .build = build,
          .candidates = candidates,
          .relative = false};
}

}  // namespace ropewalk
