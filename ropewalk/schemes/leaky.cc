// Leaky ReRoPE: beyond `window` the distance grows `divisor` times slower.
// Source: Su 2023, kexue.fm/archives/9708, github.com/bojone/rerope.
#include <algorithm>
#include <cmath>

#include "ropewalk/schemes/registry.h"

namespace ropewalk {
namespace {

Rotary build(const SchemeParams& p, Rotary declared) {
  const int64_t window = p.integer("window");
  declared.distance = piecewise_linear(window, window, 1 / p.number("divisor"), p.pairs());
  return declared;
}

// Divisors that bring the target length to 0.7 of the trained one.
std::vector<std::string> candidates(int64_t trained_length, int64_t target_length) {
  std::vector<std::string> parts;
  for (double share : {0.25, 0.5}) {
    const std::string window = share_of(trained_length, share);
    const double w = std::stod(window);
    const double reach = std::max(1.0, 0.7 * static_cast<double>(trained_length) - w);
    const double divisor = std::ceil((static_cast<double>(target_length) - w) / reach);
    parts.push_back("leaky,window=" + window + ",divisor=" + to_text(std::max(1.0, divisor)));
  }
  return parts;
}

}  // namespace

SchemeInfo leaky_scheme() {
  return {.name = "leaky",
          .kind = PartKind::kDistanceMap,
          .formula = "d if d < w else w + (d - w) / k",
          .source = "Su 2023, kexue.fm/archives/9708",
          .params = {window_param("w, up to which distances are true"),
                     {.name = "divisor",
                      .required = true,
                      .least = 1,
                      .help = "k, how many times slower the distance grows past w"}},
          .build = build,
          .candidates = candidates};
}

}  // namespace ropewalk
