// STRING: far tokens are seen at distances that training showed often, those of the last third at
// those of the first. Source: An et al. 2024, arXiv 2410.18745.
#include <algorithm>

#include "ropewalk/schemes/registry.h"
#include "ropewalk/schemes/source.h"

namespace ropewalk {
namespace {

// d - S + W from d >= S.
Rotary build(const SchemeParams& p, Rotary declared) {
  const int64_t shift =
      p.has("shift") ? p.integer("shift") : std::max<int64_t>(1, trained_length(p, declared) / 3);
  const int64_t window = p.integer("window");
  if (window > shift) {
    const std::string origin = p.has("shift") ? "" : ", a third of the trained length";
    p.refuse("window", FaultKind::kOrder,
             "must not be beyond the shift of " + std::to_string(shift) + origin,
             std::to_string(window));
  }
  const Branch near{.last = shift};
  const Branch far{.first = shift, .query = {.offset = DoubleDouble(window - shift)}};
  declared.distance = DistanceMap({near, far}, p.pairs());
  return declared;
}

// A text of N tokens fits while N - S + W < L. Past 2 L none does, and the paper's own setting
// stands for the scheme.
std::vector<std::string> candidates(int64_t trained_length, int64_t target_length) {
  const int64_t third = std::max<int64_t>(1, trained_length / 3);
  const int64_t window = std::clamp<int64_t>(trained_length / 32, 1, 128);
  const int64_t needed = target_length - trained_length + window + 1;
  const int64_t shift = needed <= trained_length ? std::max(third, needed) : third;
  return {"string,shift=" + std::to_string(shift) + ",window=" + std::to_string(window)};
}

}  // namespace

SchemeInfo string_scheme() {
  return {.name = "string",
          .kind = PartKind::kDistanceMap,
          .formula = "d if d < S else d - S + W",
          .source = "An et al. 2024, arXiv 2410.18745",
          .params = {{.name = "shift",
                      .type = ParamType::kInteger,
                      .least = 1,
                      .unit = "tokens",
                      .help = "S, from which distances are shifted; floor(L / 3) by default"},
                     {.name = "window",
                      .type = ParamType::kInteger,
                      .fallback = "128",
                      .least = 0,
                      .unit = "tokens",
                      .help = "W, where the shifted distances begin"}},
          .build = build,
          .candidates = candidates};
}

}  // namespace ropewalk
