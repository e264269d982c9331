// Group attention as llama.cpp does it (--grp-attn-n, --grp-attn-w): when a block of w tokens is
// full, the positions of its keys in the cache are divided by n, and what follows moves up. The
// query counts singly from the start of its own block. Not Self-Extend, which it stands for there.
// Source: llama.cpp, tools/completion/completion.cpp, fed one token at a time.
#include <algorithm>

#include "ropewalk/schemes/registry.h"

namespace ropewalk {
namespace {

// The query stands at (w / g) floor(i / w) + i mod w; keys of its block likewise, of earlier ones at
// floor(j / g).
Rotary build(const SchemeParams& p, Rotary declared) {
  const int64_t group = p.integer("group");
  const int64_t window = p.integer("window");
  if (window % group != 0) {
    p.refuse("window", FaultKind::kNotDivisible,
             "must be a multiple of the group, " + std::to_string(group), std::to_string(window));
  }
  const PositionMap query{.period = window, .carry = DoubleDouble(window / group)};
  const Branch same{.last = 1, .query = query, .key = query};
  const Branch earlier{.first = 1, .query = query, .key = {.group = group}};
  declared.distance = DistanceMap::by_chunks(window, {same, earlier}, p.pairs());
  return declared;
}

// N / g + w (1 - 1 / g) tokens are the farthest: groups that bring it inside the trained length, and
// to half of what is left.
std::vector<std::string> candidates(int64_t trained_length, int64_t target_length) {
  const int64_t quarter = std::max<int64_t>(1, trained_length / 4);
  const int64_t room = std::max<int64_t>(1, trained_length - quarter);
  std::vector<std::string> parts;
  for (const int64_t share : {1, 2}) {
    const int64_t group = (share * target_length + room - 1) / room;
    const int64_t window = std::max<int64_t>(1, quarter / group) * group;
    parts.push_back("group_attention,group=" + std::to_string(group) +
                    ",window=" + std::to_string(window));
  }
  return parts;
}

}  // namespace

SchemeInfo group_attention_scheme() {
  return {.name = "group_attention",
          .kind = PartKind::kDistanceMap,
          .formula = "d in one block of w, else (w / g) floor(i / w) + i mod w - floor(j / g)",
          .source = "llama.cpp, --grp-attn-n and --grp-attn-w, 2024",
          .params = {{.name = "group",
                      .type = ParamType::kInteger,
                      .required = true,
                      .least = 1,
                      .unit = "tokens",
                      .help = "g, neighbours that share one position (--grp-attn-n)"},
                     window_param("w, tokens of a block, a multiple of g (--grp-attn-w)")},
          .build = build,
          .candidates = candidates,
          .relative = false};
}

}  // namespace ropewalk
