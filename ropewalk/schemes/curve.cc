// A distance map of the user's own: straight lines through given points. Source: none, an
// experiment.
#include "ropewalk/schemes/registry.h"

namespace ropewalk {
namespace {

// Beyond these a rotation position would leave the range of exact angles.
constexpr double kFarthest = 0x1p53;
constexpr double kSteepest = 1024;

Rotary build(const SchemeParams& p, Rotary declared) {
  const std::vector<CurvePoint>& points = p.points("points");
  for (size_t i = 0; i + 1 < points.size(); ++i) {
    const DoubleDouble run = points[i + 1].distance - points[i].distance;
    if (abs(points[i + 1].value - points[i].value) > kSteepest * abs(run)) {
      p.refuse("points", FaultKind::kOutOfRange, "must rise or fall by at most 1024 a token",
               "from distance " + std::to_string(points[i].distance));
    }
  }
  declared.distance = through_points(points, p.pairs());
  return declared;
}

// True to 4 tokens, then a quarter of the way.
std::string example(int64_t) { return "curve,points=0:0:4:4:32:11"; }

}  // namespace

SchemeInfo curve_scheme() {
  return {.name = "curve",
          .kind = PartKind::kDistanceMap,
          .formula = "straight lines through the points (d, f(d)), the last one going on",
          .source = "the user",
          .params = {{.name = "points",
                      .type = ParamType::kPoints,
                      .required = true,
                      .least = -kFarthest,
                      .most = kFarthest,
                      .unit = "tokens",
                      .help = "at least two, whole rising distances, the first 0"}},
          .build = build,
          .example = example};
}

}  // namespace ropewalk
