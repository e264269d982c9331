#include "ropewalk/study/tallies.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ropewalk/study/curve_shape.h"

namespace ropewalk {

void Tallies::add_losses(std::span<const double> losses, int64_t trained_length) {
  Tally below;
  Tally past;
  std::vector<Tally>& by_run = runs.emplace_back();
  for (size_t t = 0; t < losses.size(); ++t) {
    const auto position = static_cast<int64_t>(t);
    (position < trained_length ? below : past).add(losses[t]);
    const size_t run = run_of(position, trained_length);
    if (run >= by_run.size()) by_run.resize(run + 1);
    by_run[run].add(losses[t]);
  }
  inside.push_back(below);
  beyond.push_back(past);
}

void Tallies::add_copy(const CopyGain& gain) {
  copy_inside.push_back(gain.inside);
  copy_beyond.push_back(gain.beyond);
}

const std::vector<Tally>& Tallies::telling() const {
  const bool past =
      std::any_of(beyond.begin(), beyond.end(), [](const Tally& tally) { return tally.count > 0; });
  return past ? beyond : inside;
}

double Tallies::rank() const {
  const double mean = mean_of(telling());
  return std::isnan(mean) ? std::numeric_limits<double>::infinity() : mean;
}

}  // namespace ropewalk
