#include "ropewalk/study/search.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace ropewalk {
namespace {

constexpr size_t kMostDoublings = 2;

}  // namespace

double four_digits(double value) { return std::stod(fmt::format("{:.4g}", value)); }

PatternSearch::PatternSearch(std::vector<Knob> knobs, std::vector<double> start, double value)
    : knobs_(std::move(knobs)),
      start_(std::move(start)),
      best_(start_),
      best_value_(value),
      best_place_(start_.size()),
      seen_({start_}) {}

std::optional<std::vector<double>> PatternSearch::next() {
  while (!knobs_.empty() && quarters_ > 0) {
    pending_ = stepped();
    std::vector<double> point = point_of(pending_);
    if (is_inside(point) && seen_.insert(point).second) return point;
    fail();
  }
  return std::nullopt;
}

void PatternSearch::tell(double value) {
  if (!(value < best_value_)) return fail();
  best_place_ = pending_;
  best_ = point_of(best_place_);
  best_value_ = value;
  ++better_;
  no_better_ = 0;
}

PatternSearch::Place PatternSearch::stepped() const {
  Place place = best_place_;
  const int64_t step = quarters_ << std::min(better_, kMostDoublings);
  place[direction_ / 2] += direction_ % 2 == 0 ? step : -step;
  return place;
}

std::vector<double> PatternSearch::point_of(const Place& place) const {
  std::vector<double> point = start_;
  for (size_t k = 0; k < point.size(); ++k) {
    if (place[k] == 0) continue;
    const double steps = static_cast<double>(place[k]) / 4;
    const double value = knobs_[k].step == Step::kTimes
                             ? start_[k] * std::pow(knobs_[k].size, steps)
                             : start_[k] + knobs_[k].size * steps;
    point[k] = knobs_[k].whole ? std::round(value) : four_digits(value);
  }
  return point;
}

bool PatternSearch::is_inside(const std::vector<double>& point) const {
  for (size_t k = 0; k < point.size(); ++k) {
    if (point[k] == start_[k]) continue;
    if (point[k] < knobs_[k].least || point[k] > knobs_[k].most) return false;
  }
  return true;
}

// A long step that fails is followed by one of the usual size.
void PatternSearch::fail() {
  if (std::exchange(better_, 0) > 0) return;
  direction_ = (direction_ + 1) % (2 * knobs_.size());
  if (++no_better_ < 2 * knobs_.size()) return;
  no_better_ = 0;
  quarters_ /= 2;
}

}  // namespace ropewalk
