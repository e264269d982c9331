// Log tail: true distances up to `window`, logarithmic ones beyond, as a reader tells last week
// from last year. Source: this project (an essay's idea; kin of SELF, arXiv 2505.17296, whose
// groups grow with the distance).
#include "ropewalk/schemes/registry.h"

namespace ropewalk {
namespace {

// w (1 + c ln(d / w)) for d > w.
DoubleDouble tail(DoubleDouble window, DoubleDouble steepness, int64_t distance) {
  const DoubleDouble d = distance;
  return d <= window ? d : window * (1 + steepness * log(d / window));
}

// c = 1 joins the two parts without a kink; with a bound, the c for which f(at) = bound.
DoubleDouble steepness(const SchemeParams& p, DoubleDouble window) {
  if (!p.has("bound")) return 1;
  const DoubleDouble bound = p.number("bound");
  const DoubleDouble at = p.integer("at");
  if (bound < window || bound > at) {
    p.refuse("bound", FaultKind::kOutOfRange, "must lie between window and at",
             to_text(static_cast<double>(bound)));
  }
  return (bound / window - 1) / log(at / window);
}

// The curve's chords between whole distances spread evenly in ln(d) from `window` to `at`; the last
// one goes on beyond.
DistanceMap chords(const SchemeParams& p, DoubleDouble c) {
  const int64_t window = p.integer("window");
  const int64_t pieces = p.integer("pieces");
  const DoubleDouble span = log(DoubleDouble(p.integer("at")) / DoubleDouble(window));
  std::vector<CurvePoint> points{{0, 0}, {window, window}};
  for (int64_t piece = 1; piece <= pieces; ++piece) {
    const DoubleDouble share = DoubleDouble(piece) / DoubleDouble(pieces);
    const auto distance =
        static_cast<int64_t>(static_cast<double>(round(DoubleDouble(window) * exp(span * share))));
    if (distance <= points.back().distance) {
      p.refuse("pieces", FaultKind::kOutOfRange,
               "must leave each piece a token between window and at", std::to_string(pieces),
               "take fewer");
    }
    points.push_back({distance, tail(window, c, distance)});
  }
  return through_points(points, p.pairs());
}

Rotary build(const SchemeParams& p, Rotary declared) {
  const int64_t window = p.integer("window");
  if (p.has("at") != (p.has("bound") || p.has("pieces"))) {
    p.refuse("at", p.has("at") ? FaultKind::kConflict : FaultKind::kMissingKey,
             "must be given with bound or pieces, and with them only");
  }
  if (p.has("at") && p.integer("at") <= window) {
    p.refuse("at", FaultKind::kOrder, "must be beyond the window", std::to_string(p.integer("at")));
  }

  const DoubleDouble c = steepness(p, window);
  declared.distance =
      p.has("pieces")
          ? chords(p, c)
          : DistanceMap([window, c](int64_t distance) { return tail(window, c, distance); },
                        p.pairs());
  return declared;
}

// A tail helps only while f(target) stays inside the trained range.
std::vector<std::string> candidates(int64_t trained_length, int64_t target_length) {
  std::vector<std::string> parts;
  if (target_length == trained_length) return parts;
  const int64_t window = share_tokens(trained_length, 0.25);
  for (double share : {0.7, 0.9}) {
    parts.push_back("log_tail,window=" + std::to_string(window) + ",bound=" +
                    share_of(trained_length, share) + ",at=" + std::to_string(target_length));
  }
  if (window < 16) return parts;
  // In four chords, which attention does by tiles, many times as fast; one as the curve itself.
  const std::string curve = parts.front();
  for (std::string& part : parts) part += ",pieces=4";
  parts.push_back(curve);
  return parts;
}

}  // namespace

SchemeInfo log_tail_scheme() {
  return {.name = "log_tail",
          .kind = PartKind::kDistanceMap,
          .formula = "d if d <= w else w (1 + c ln(d / w)), c = 1 or f(N) = B",
          .source = "Ropewalk; kin of SELF 2025, arXiv 2505.17296",
          .params = {window_param("w, up to which distances are true"),
                     {.name = "bound",
                      .least = 1,
                      .unit = "tokens",
                      .help = "B, the distance that a key N tokens back is seen at"},
                     {.name = "at",
                      .type = ParamType::kInteger,
                      .least = 2,
                      .unit = "tokens",
                      .help = "N, the distance where f is bound, or where the last piece ends"},
                     {.name = "pieces",
                      .type = ParamType::kInteger,
                      .least = 1,
                      .most = 64,
                      .help = "straight pieces from w to N instead of the curve itself"}},
          .build = build,
          .candidates = candidates};
}

}  // namespace ropewalk
