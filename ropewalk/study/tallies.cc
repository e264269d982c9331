#include "ropewalk/study/tallies.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ropewalk {

void Tallies::add_losses(std::span<const double> losses, int64_t trained_length) {
  Tally below;
  Tally past;
  for (size_t t = 0; t < losses.size(); ++t)
    (static_cast<int64_t>(t) < trained_length ? below : past).add(losses[t]);
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
