// Sliding window: a query sees its last `size` tokens. Source: Beltagy et al. 2020, arXiv
// 2004.05150 (Longformer).
//
// The row that every table needs: where text never looks back far, nothing beats it.
#include "ropewalk/schemes/registry.h"

namespace ropewalk {
namespace {

Rotary build(const SchemeParams& p, Rotary declared) {
  declared.visibility = {.window = p.integer("size")};
  return declared;
}

std::vector<std::string> candidates(int64_t trained_length, int64_t) {
  return {"window,size=" + share_of(trained_length, 0.5),
          "window,size=" + share_of(trained_length, 1)};
}

}  // namespace

SchemeInfo window_scheme() {
  return {.name = "window",
          .kind = PartKind::kVisibility,
          .formula = "keys with d < s",
          .source = "Beltagy et al. 2020, arXiv 2004.05150",
          .params = {{.name = "size",
                      .type = ParamType::kInteger,
                      .required = true,
                      .least = 1,
                      .unit = "tokens",
                      .help = "s, how many last tokens are seen, the query's own included"}},
          .build = build,
          .candidates = candidates};
}

}  // namespace ropewalk
