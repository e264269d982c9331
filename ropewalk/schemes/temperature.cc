// Temperature: every logit times one number. Source: Peng et al. 2023, arXiv 2309.00071, as 1 / t.
#include <cmath>

#include "ropewalk/math/reach.h"
#include "ropewalk/schemes/registry.h"

namespace ropewalk {
namespace {

Rotary build(const SchemeParams& p, Rotary declared) {
  declared.temperature = {.factor = static_cast<double>(p.number("factor"))};
  return declared;
}

// Two steps about what YaRN found for a stretch: (0.1 ln(s) + 1)^2.
std::vector<std::string> candidates(int64_t trained_length, int64_t target_length) {
  const double stretch = static_cast<double>(target_length) / static_cast<double>(trained_length);
  const double yarn = yarn_logit_scale(stretch);
  std::vector<std::string> parts;
  for (double factor : {std::sqrt(yarn), yarn}) {
    parts.push_back("temperature,factor=" + to_text(std::round(factor * 100) / 100));
  }
  return parts;
}

}  // namespace

SchemeInfo temperature_scheme() {
  return {.name = "temperature",
          .kind = PartKind::kMultiplier,
          .formula = "every logit times f",
          .source = "Peng et al. 2023, arXiv 2309.00071",
          .params = {{.name = "factor",
                      .required = true,
                      .least = 1e-20,
                      .most = 1e20,
                      .help = "f, above 1 sharpens"}},
          .build = build,
          .candidates = candidates};
}

}  // namespace ropewalk
