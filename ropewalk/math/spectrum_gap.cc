#include "ropewalk/math/spectrum_gap.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "ropewalk/math/turns.h"

namespace ropewalk {
namespace {

// The faster of two rates over the slower one, less 1: exact where they are close.
double excess(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble slow = min(abs(a), abs(b));
  const DoubleDouble apart = abs(a - b);
  if (apart == 0.0) return 0;
  if (slow == 0.0) return std::numeric_limits<double>::infinity();
  return static_cast<double>(apart / slow);
}

DoubleDouble rate(const Spectrum& spectrum, size_t pair) {
  const std::vector<DoubleDouble>& turns = spectrum.turns_per_token;
  return pair < turns.size() ? turns[pair] : DoubleDouble(0.0);
}

}  // namespace

SpectrumGap spectrum_gap(const Spectrum& a, const Spectrum& b, double tolerance) {
  SpectrumGap gap;
  const auto [least, most] = std::minmax({a.n_pairs(), b.n_pairs()});
  double largest = 0;
  for (int64_t pair = 0; pair < least; ++pair) {
    const auto p = static_cast<size_t>(pair);
    const double found = excess(a.turns_per_token[p], b.turns_per_token[p]);
    // What is no number is no agreement.
    if (!(found <= tolerance) && gap.first_pair < 0) gap.first_pair = pair;
    const double ours = a.decay_of(pair), theirs = b.decay_of(pair);
    const double steeper = std::max(std::abs(ours), std::abs(theirs));
    if (!(std::abs(ours - theirs) <= tolerance * steeper) && gap.first_decay < 0) {
      gap.first_decay = pair;
    }
    if (found > largest || (std::isnan(found) && !std::isnan(largest))) {
      largest = found;
      gap.worst_pair = pair;
    }
  }
  if (gap.first_pair < 0 && least < most) gap.first_pair = least;
  gap.largest_ratio = 1 + largest;
  return gap;
}

int64_t first_parting(DoubleDouble a, DoubleDouble b, double bound) {
  constexpr double kMostTokens = 9007199254740992.0;  // 2^53
  // The sine rises with p until a quarter turn of |a - b| less its nearest whole number.
  const DoubleDouble apart = a - b;
  const double per_token = std::abs(static_cast<double>(apart - round(apart)));
  if (per_token == 0) return 0;
  const double needed = std::asin(bound / 2) / (std::numbers::pi * per_token);
  if (needed >= kMostTokens) return 0;
  auto position = std::max<int64_t>(1, static_cast<int64_t>(std::floor(needed)));
  while (2 * std::sin(std::numbers::pi * per_token * static_cast<double>(position)) <= bound) {
    ++position;
  }
  return position;
}

double mean_pair_cosine(const Spectrum& a, const Spectrum& b, int64_t distance) {
  const auto n_pairs = static_cast<size_t>(std::max(a.n_pairs(), b.n_pairs()));
  if (n_pairs == 0) return 1;
  double sum = 0;
  for (size_t pair = 0; pair < n_pairs; ++pair) {
    sum += cos_sin_at(DoubleDouble(distance), rate(a, pair) - rate(b, pair)).cos;
  }
  return sum / static_cast<double>(n_pairs);
}

}  // namespace ropewalk
