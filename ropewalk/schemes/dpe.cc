// DPE: Self-Extend with a group size for each band of pairs, as some pairs stand far less distance
// than others. Source: Lu et al. 2025, arXiv 2504.18857, github.com/LuLuLuyi/DPE. Its choice of 48
// pairs by the norms of q and k, head by head, is not part of it.
#include <algorithm>
#include <cmath>

#include "ropewalk/schemes/registry.h"

namespace ropewalk {
namespace {

// The pairs of band b of n, as even as they can be.
PairRange band_of(int64_t b, int64_t n, int64_t n_pairs) {
  return {.first = (b * n_pairs + n - 1) / n, .last = ((b + 1) * n_pairs + n - 1) / n - 1};
}

std::vector<int64_t> whole_groups(const SchemeParams& p, int64_t n_pairs) {
  std::vector<int64_t> groups;
  for (const double group : p.numbers("groups")) {
    if (group != std::floor(group)) {
      p.refuse("groups", FaultKind::kBadType, "must hold whole numbers", to_text(group));
    }
    groups.push_back(static_cast<int64_t>(group));
  }
  if (std::ssize(groups) > n_pairs) {
    p.refuse("groups", FaultKind::kWrongLength,
             "must hold at most one for each of the model's pairs, of which there are " +
                 std::to_string(n_pairs),
             std::to_string(groups.size()));
  }
  return groups;
}

// From d >= w the pairs of band b see floor(i / g_b) + w - floor(w / g_b) - floor(j / g_b).
Rotary build(const SchemeParams& p, Rotary declared) {
  const int64_t window = p.integer("window");
  const int64_t n_pairs = declared.layout.n_pairs();
  const std::vector<int64_t> groups = whole_groups(p, n_pairs);
  Branch far{.first = window};
  for (int64_t b = 0; b < std::ssize(groups); ++b) {
    const int64_t group = groups[b];
    far.bands.push_back({.pairs = band_of(b, std::ssize(groups), n_pairs),
                         .query = {.offset = DoubleDouble(window - window / group), .group = group},
                         .key = {.group = group}});
  }
  declared.distance = DistanceMap({Branch{.last = window}, far}, p.pairs());
  return declared;
}

// Only pairs that did not finish a turn in training need a group; which those are, a search finds
// out. These spare the fast quarter, and the fast half.
std::vector<std::string> candidates(int64_t trained_length, int64_t target_length) {
  const int64_t window = share_tokens(trained_length, 0.25);
  const std::string g = std::to_string(smallest_group(window, trained_length, target_length));
  const std::string head = "dpe,window=" + std::to_string(window) + ",groups=1:";
  return {head + g + ":" + g + ":" + g, head + "1:" + g + ":" + g};
}

}  // namespace

SchemeInfo dpe_scheme() {
  return {.name = "dpe",
          .kind = PartKind::kDistanceMap,
          .formula =
              "d if d < w else floor(i / g) + w - floor(w / g) - floor(j / g), "
              "g = g_b of the pair's band",
          .source = "Lu et al. 2025, arXiv 2504.18857",
          .params = {window_param("w, up to which distances are true"),
                     {.name = "groups",
                      .type = ParamType::kNumbers,
                      .required = true,
                      .least = 1,
                      .most = 0x1p53,
                      .unit = "tokens",
                      .help = "g_b of each band; bands share the pairs evenly, fast to slow"}},
          .build = build,
          .candidates = candidates,
          .relative = false};
}

}  // namespace ropewalk
