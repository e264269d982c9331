// SELF: Self-Extend with groups that grow along a logistic curve, from single tokens to nearly a
// capacity. Source: Dang et al. 2025, arXiv 2505.17296, github.com/alexeipc/SELF-LLM (attn_method:
// rate 0.02).
#include <algorithm>

#include "ropewalk/schemes/registry.h"

namespace ropewalk {
namespace {

constexpr int64_t kMostCapacity = 4096;

// Group x = 0, 1, ... holds floor(C / (1 + (C - 1) e^(-r x))) tokens. Runs of groups of one size
// are one step: steps[s] says at which token the groups of a size begin, and their number. After
// the last, of size C - 1, nothing grows.
std::vector<PositionStep> logistic_groups(int64_t capacity, DoubleDouble rate) {
  std::vector<PositionStep> steps{{.first = 0, .value = 0, .group = 1}};
  const DoubleDouble c = DoubleDouble(capacity);
  for (int64_t size = 2; size < capacity; ++size) {
    // The first group of at least `size` tokens: x >= ln(size (C - 1) / (C - size)) / r.
    const DoubleDouble turn =
        ceil(log(DoubleDouble(size) * (c - 1) / (c - DoubleDouble(size))) / rate);
    const auto group = static_cast<int64_t>(static_cast<double>(turn));
    PositionStep& last = steps.back();
    if (group == last.value) {
      last.group = size;  // no group has the size before
      continue;
    }
    const int64_t tokens = (group - last.value) * last.group;
    steps.push_back({.first = last.first + tokens, .value = group, .group = size});
  }
  return steps;
}

std::vector<PositionStep> moved(std::vector<PositionStep> steps, int64_t tokens) {
  for (PositionStep& step : steps) step.first += tokens;
  return steps;
}

// With G(t) the group of token t, from d >= w: w + G(d - w) by distance. By position it is
// w + G(i - w) - G(j), as the repository computes a prompt: there groups grow along the text.
Rotary build(const SchemeParams& p, Rotary declared) {
  const int64_t window = p.integer("window");
  const std::vector<PositionStep> steps = logistic_groups(p.integer("capacity"), p.number("rate"));
  if (p.choice("by") == "position") {
    const Branch near{.last = window};
    const Branch far{.first = window,
                     .query = {.offset = DoubleDouble(window), .steps = moved(steps, window)},
                     .key = {.steps = steps}};
    declared.distance = DistanceMap({near, far}, p.pairs());
    return declared;
  }
  const PositionMap tail{.offset = DoubleDouble(window), .steps = moved(steps, window)};
  declared.distance = DistanceMap(
      [window, tail](int64_t d) { return d < window ? DoubleDouble(d) : tail(d); }, p.pairs());
  return declared;
}

// A small capacity that keeps the target inside the trained length; groups reach it within
// about an eighth of that, as they do at the repository's rate for L = 4096.
std::vector<std::string> candidates(int64_t trained_length, int64_t target_length) {
  const int64_t window = share_tokens(trained_length, 0.25);
  const double rate = std::min(1.0, 80.0 / static_cast<double>(trained_length));
  int64_t capacity = 2;
  const auto farthest = [&] {
    const PositionMap tail{.offset = DoubleDouble(window),
                           .steps = logistic_groups(capacity, rate)};
    return tail(std::max<int64_t>(0, target_length - 1 - window));
  };
  while (capacity < kMostCapacity && farthest() >= DoubleDouble(trained_length))
    capacity = std::min(kMostCapacity, capacity + std::max<int64_t>(1, capacity / 8));
  const std::string text = "self_logistic,window=" + std::to_string(window) +
                           ",capacity=" + std::to_string(capacity) + ",rate=" + to_text(rate);
  return {text, text + ",by=position"};
}

}  // namespace

SchemeInfo self_logistic_scheme() {
  return {.name = "self_logistic",
          .kind = PartKind::kDistanceMap,
          .formula =
              "d if d < w else w + G(d - w), or w + G(i - w) - G(j); group x of G holds "
              "floor(C / (1 + (C - 1) e^(-r x))) tokens",
          .source = "Dang et al. 2025, arXiv 2505.17296",
          .params = {window_param("w, up to which distances are true"),
                     {.name = "capacity",
                      .type = ParamType::kInteger,
                      .required = true,
                      .least = 2,
                      .most = kMostCapacity,
                      .unit = "tokens",
                      .help = "C, which the size of a group nears and never reaches"},
                     {.name = "rate",
                      .fallback = "0.02",
                      .least = 1e-6,
                      .most = 100,
                      .help = "r, how fast groups grow"},
                     {.name = "by",
                      .type = ParamType::kChoice,
                      .fallback = "distance",
                      .choices = {"distance", "position"},
                      .help = "what groups grow along: the distance, or the text itself"}},
          .build = build,
          .candidates = candidates,
          .relative = false};
}

}  // namespace ropewalk
