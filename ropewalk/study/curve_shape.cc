#include "ropewalk/study/curve_shape.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace ropewalk {
namespace {

constexpr double kRise = 0.3;       // nats per token: less is no failure
constexpr double kSame = 0.02;      // less is no difference over the same tokens
constexpr double kSameCliff = 0.1;  // of declared's rise: less is no other cliff

Tally total(std::span<const Tally> runs) {
  Tally sum;
  for (const Tally& run : runs) sum.add(run);
  return sum;
}

double mean(const Tally& tally) { return tally.sum / static_cast<double>(tally.count); }

struct Step {
  size_t run = 0;  // its first
  Tally losses;
};

// The nearest curve that never falls, past L, so that one run of hard text is no rise. Source: pool
// adjacent violators, Ayer et al. 1955.
std::vector<Step> rising_steps(std::span<const Tally> runs) {
  std::vector<Step> steps;
  for (size_t k = kRunsToL; k < runs.size(); ++k) {
    if (runs[k].count == 0) continue;
    steps.push_back({.run = k, .losses = runs[k]});
    while (steps.size() > 1 && mean(steps[steps.size() - 2].losses) >= mean(steps.back().losses)) {
      steps[steps.size() - 2].losses.add(steps.back().losses);
      steps.pop_back();
    }
  }
  return steps;
}

bool has_same_losses(std::span<const Tally> a, std::span<const Tally> b) {
  for (size_t k = 0; k < a.size(); ++k) {
    if (a[k].count > 0 && !(std::abs(mean(a[k]) - mean(b[k])) <= kSame)) return false;
  }
  return true;
}

int64_t first_of(size_t run, int64_t trained_length) {
  return (static_cast<int64_t>(run) * trained_length + kRunsToL - 1) / kRunsToL;
}

// Of a curve by itself.
std::optional<CurveShape> own_shape(std::span<const Tally> runs, int64_t trained_length) {
  if (runs.size() <= kRunsToL) return std::nullopt;
  const Tally before = total(runs.subspan(kRunsToL / 2, kRunsToL / 2));
  const Tally end = total(runs.last((runs.size() - kRunsToL + 3) / 4));
  const std::vector<Step> steps = rising_steps(runs);
  if (before.count == 0 || end.count == 0) return std::nullopt;
  const double level = mean(before);
  const double rise = mean(end) - level;
  if (!std::isfinite(rise) || !std::isfinite(total(runs).sum)) return std::nullopt;
  CurveShape shape{.from = trained_length, .rise = rise};
  if (rise <= kRise) return shape;
  // The last step is the highest mean of any end of the curve, but for rounding.
  const auto first_above = [&](double more) {
    const auto found = std::ranges::find_if(
        steps, [&](const Step& step) { return mean(step.losses) > level + more; });
    return found == steps.end() ? steps.back().run : found->run;
  };
  shape.past = first_above(rise / 2) < kRunsToL + 2 ? PastLength::kCliff : PastLength::kRises;
  shape.from = first_of(first_above(kRise), trained_length);
  return shape;
}

}  // namespace

size_t run_of(int64_t position, int64_t trained_length) {
  return trained_length > 0 ? static_cast<size_t>(position * kRunsToL / trained_length) : 0;
}

std::string to_string(PastLength past) {
  switch (past) {
    case PastLength::kHolds:
      return "holds";
    case PastLength::kAsDeclared:
      return "as declared";
    case PastLength::kCliff:
      return "cliff";
    case PastLength::kRises:
      return "rises";
  }
  return "";
}

bool CurveShape::is_doubtful() const {
  return past == PastLength::kAsDeclared || as_declared || (over_declared && *over_declared >= 0);
}

std::optional<CurveShape> curve_shape(std::span<const Tally> own, std::span<const Tally> declared,
                                      int64_t trained_length) {
  std::optional<CurveShape> shape = own_shape(own, trained_length);
  if (!shape || declared.empty()) return shape;
  const std::optional<CurveShape> unchanged = own_shape(declared, trained_length);
  if (!unchanged || declared.size() != own.size()) return std::nullopt;
  shape->over_declared =
      mean(total(own.subspan(kRunsToL))) - mean(total(declared.subspan(kRunsToL)));
  if (has_same_losses(own, declared)) {
    shape->past = PastLength::kAsDeclared;
  } else if (shape->past == PastLength::kCliff && unchanged->past == PastLength::kCliff) {
    shape->as_declared = std::abs(*shape->over_declared) <= kSameCliff * unchanged->rise;
  }
  return shape;
}

std::string remark(const CurveShape& shape) {
  if (!shape.is_doubtful()) return "";
  switch (shape.past) {
    case PastLength::kAsDeclared:
      return "not applied, or without effect: declared's losses at every position";
    case PastLength::kCliff:
      return fmt::format("a cliff of {:+.2f} nats per token at the trained length, {}", shape.rise,
                         shape.as_declared ? "as declared has: not applied, or of no help"
                                           : "which is not declared's");
    case PastLength::kRises:
      return fmt::format(
          "applied, and the model fails: {:+.2f} nats per token, rising from about {} tokens on",
          shape.rise, shape.from);
    case PastLength::kHolds:
      return "applied, and no better than declared, without a rise past the trained length";
  }
  return "";
}

}  // namespace ropewalk
