#include "ropewalk/study/distance_table.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ropewalk {

DistanceTable distance_table(const Rotary& rotary, int64_t n_tokens,
                             std::span<const int64_t> distances) {
  const int64_t row = n_tokens - 1;
  const int64_t length = rotary.spectrum.length_for_row(row, n_tokens);
  const Rotary fixed = at_length(rotary, length);
  const Spectrum spectrum = rotary.spectrum.at(length);
  DistanceTable table{.n_distances = distances.size(), .cos = {}, .sin = {}};
  const auto count = static_cast<size_t>(spectrum.n_pairs()) * distances.size();
  table.cos.reserve(count);
  table.sin.reserve(count);
  for (int64_t pair = 0; pair < spectrum.n_pairs(); ++pair) {
    for (const int64_t d : distances) {
      const PairAngle angle = pair_angle(fixed, spectrum, spectrum, pair, row, row - d);
      const double radians = 2 * std::numbers::pi * static_cast<double>(angle.turns);
      const double size =
          angle.silent ? 0 : spectrum.amplitude * spectrum.amplitude * std::exp(angle.log_gain);
      table.cos.push_back(size * std::cos(radians));
      table.sin.push_back(size * std::sin(radians));
    }
  }
  return table;
}

int64_t farthest_seen(const Rotary& rotary, int64_t n_tokens) {
  return std::min(n_tokens, rotary.visibility.window) - 1;
}

}  // namespace ropewalk
