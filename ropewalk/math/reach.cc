#include "ropewalk/math/reach.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <span>

#include "ropewalk/math/turns.h"

namespace ropewalk {
namespace {

// cos at neighbouring whole multiples of an angle comes from cos and sin of a first one and a table
// of steps, so that a block costs two products for each pair and m.
//
// Step k of the table was turned k times: off by at most 4 k 2^-53 + 2^-52, k < 256. The first of a
// block is off by at most 2^-52. So each cosine is off by less than 2^-42, and the sum of n_pairs of
// them, n_pairs <= 1024, by less than n_pairs 2^-41.
class CosineSums {
 public:
  static constexpr int64_t kBlock = 256;

  explicit CosineSums(std::span<const DoubleDouble> turns, std::span<const double> decay = {})
      : turns_(turns),
        decay_(decay),
        cos_(turns.size() * kBlock),
        sin_(turns.size() * kBlock),
        sums_(kBlock) {
    for (size_t pair = 0; pair < turns.size(); ++pair) {
      const CosSin step = decayed(1, pair);
      CosSin now;
      for (int64_t k = 0; k < kBlock; ++k) {
        cos_[pair * kBlock + k] = now.cos;
        sin_[pair * kBlock + k] = now.sin;
        now = {now.cos * step.cos - now.sin * step.sin, now.cos * step.sin + now.sin * step.cos};
      }
    }
  }

  double error() const { return static_cast<double>(turns_.size()) * 0x1p-41; }

  // The sums over all pairs for m = first, first + 1, ...; (kBlock), valid until the next call.
  std::span<const double> block(int64_t first) {
    std::fill(sums_.begin(), sums_.end(), 0.0);
    for (size_t pair = 0; pair < turns_.size(); ++pair) {
      const CosSin start = decayed(first, pair);
      const double* const cosines = cos_.data() + pair * kBlock;
      const double* const sines = sin_.data() + pair * kBlock;
      for (int64_t k = 0; k < kBlock; ++k) {
        sums_[k] += start.cos * cosines[k] - start.sin * sines[k];
      }
    }
    return sums_;
  }

 private:
  CosSin decayed(int64_t m, size_t pair) const {
    const CosSin angle = cos_sin_at(DoubleDouble(m), turns_[pair]);
    if (decay_.empty()) return angle;
    const double gain = std::exp(decay_[pair] * static_cast<double>(m));
    return {.cos = angle.cos * gain, .sin = angle.sin * gain};
  }

  std::span<const DoubleDouble> turns_;
  std::span<const double> decay_;  // none of them above 0, or empty
  std::vector<double> cos_, sin_;  // (n_pairs, kBlock)
  std::vector<double> sums_;       // (kBlock)
};

// The sum for one m; off by at most n_pairs 2^-52, with a decay twice that.
double cosine_sum(std::span<const DoubleDouble> turns, std::span<const double> decay, int64_t m) {
  DoubleDouble sum;
  for (size_t pair = 0; pair < turns.size(); ++pair) {
    const double cosine = cos_sin_at(DoubleDouble(m), turns[pair]).cos;
    sum += decay.empty() ? cosine : cosine * std::exp(decay[pair] * static_cast<double>(m));
  }
  return static_cast<double>(sum);
}

double error_of_cosine_sum(int64_t n_pairs, bool decays) {
  return static_cast<double>(n_pairs + 1) * (decays ? 0x1p-51 : 0x1p-52);
}

// The first m < limit whose sum of cosines is below `threshold` by more than its error.
std::optional<int64_t> first_below(const Spectrum& spectrum, double threshold, int64_t limit) {
  const std::vector<DoubleDouble>& turns = spectrum.turns_per_token;
  CosineSums sums(turns, spectrum.decay);
  const double exact_error = error_of_cosine_sum(spectrum.n_pairs(), !spectrum.decay.empty());
  for (int64_t first = 0; first < limit; first += CosineSums::kBlock) {
    const std::span<const double> block = sums.block(first);
    const int64_t count = std::min(CosineSums::kBlock, limit - first);
    for (int64_t k = 0; k < count; ++k) {
      if (block[k] >= threshold + sums.error()) continue;
      if (block[k] < threshold - sums.error()) return first + k;
      if (cosine_sum(turns, spectrum.decay, first + k) < threshold - exact_error) return first + k;
    }
  }
  return std::nullopt;
}

double square(double x) { return x * x; }

int64_t unrotated_pairs_of(const Rotary& rotary) {
  return (rotary.layout.head_dim - rotary.layout.rotary_dim) / 2;
}

// The spectrum that key 0 is rotated by when row i looks at it.
int64_t key_length(const SpectrumRule& rule, int64_t i, int64_t n) {
  return rule.length_for_row(rule.length() == SpectrumRule::Length::kToken ? 0 : i, n);
}

bool one_spectrum(const SpectrumRule& rule) {
  return rule.length() == SpectrumRule::Length::kFixed ||
         rule.length() == SpectrumRule::Length::kSequence;
}

// B(i) from the definition of every angle.
double like_key_score(const Rotary& rotary, const Spectrum& query, const Spectrum& key, int64_t i) {
  DoubleDouble sum;
  for (int64_t pair = 0; pair < rotary.layout.n_pairs(); ++pair) {
    const PairAngle angle = pair_angle(rotary, query, key, pair, i, 0);
    if (!angle.silent) sum += cos_sin_of_turns(angle.turns).cos * std::exp(angle.log_gain);
  }
  const double scale = query.amplitude * key.amplitude;
  return static_cast<double>(sum * scale + DoubleDouble(unrotated_pairs_of(rotary)));
}

std::optional<int64_t> reach_by_definition(const Rotary& rotary, int64_t n) {
  int64_t query_length = 0;
  int64_t length_of_key = 0;
  Spectrum query, key;
  for (int64_t i = 0; i < n; ++i) {
    if (!rotary.visibility.sees(i, 0)) continue;
    const int64_t for_query = rotary.spectrum.length_for_row(i, n);
    const int64_t for_key = key_length(rotary.spectrum, i, n);
    if (for_query != query_length) query = rotary.spectrum.at(for_query);
    if (for_key != length_of_key) key = rotary.spectrum.at(for_key);
    query_length = for_query;
    length_of_key = for_key;
    const double error = error_of_cosine_sum(query.n_pairs(), !query.decay.empty()) *
                         std::max(1.0, query.amplitude * key.amplitude);
    if (like_key_score(rotary, query, key, i) < -error) return i;
  }
  return std::nullopt;
}

// Turns per token of plain RoPE, each pair's from the one before: as good as n_pairs roundings.
std::vector<DoubleDouble> geometric_turns(double base, int64_t frequency_dim) {
  const DoubleDouble ratio = pow(base, DoubleDouble(-2) / DoubleDouble(frequency_dim));
  std::vector<DoubleDouble> turns{1 / kTwoPi};
  while (static_cast<int64_t>(turns.size()) < frequency_dim / 2)
    turns.push_back(turns.back() * ratio);
  return turns;
}

// Whether any m < length has a negative sum, the last ones first: there most bases fail that do.
bool fails_below(std::span<const DoubleDouble> turns, int64_t length) {
  CosineSums sums(turns);
  const double error = error_of_cosine_sum(static_cast<int64_t>(turns.size()), false);
  for (int64_t end = length; end > 0; end -= CosineSums::kBlock) {
    const int64_t first = std::max<int64_t>(end - CosineSums::kBlock, 0);
    const std::span<const double> block = sums.block(first).first(end - first);
    for (size_t k = 0; k < block.size(); ++k) {
      if (block[k] >= sums.error()) continue;
      if (cosine_sum(turns, {}, first + k) < -error) return true;
    }
  }
  return false;
}

}  // namespace

std::vector<double> turns_within(const Spectrum& spectrum, int64_t length) {
  std::vector<double> turns;
  for (const DoubleDouble speed : spectrum.turns_per_token) {
    turns.push_back(static_cast<double>(abs(speed) * DoubleDouble(length)));
  }
  return turns;
}

int64_t full_turn_pairs(const Spectrum& spectrum, int64_t length) {
  return std::count_if(
      spectrum.turns_per_token.begin(), spectrum.turns_per_token.end(),
      [length](DoubleDouble speed) { return abs(speed) * DoubleDouble(length) >= 1; });
}

double longest_period(const Spectrum& spectrum) {
  DoubleDouble longest;
  for (const DoubleDouble speed : spectrum.turns_per_token) {
    if (speed != 0) longest = max(longest, 1 / abs(speed));
  }
  return static_cast<double>(longest);
}

DoubleDouble pair_of_turns(DoubleDouble base, int64_t frequency_dim, DoubleDouble turns,
                           DoubleDouble length) {
  return DoubleDouble(frequency_dim) * log(length / (kTwoPi * turns)) / (2 * log(base));
}

double critical_pair(DoubleDouble base, int64_t frequency_dim, int64_t length) {
  return static_cast<double>(pair_of_turns(base, frequency_dim, 1, DoubleDouble(length)));
}

int64_t critical_dimension(DoubleDouble base, int64_t frequency_dim, int64_t length) {
  return 2 * critical_pair_search(base, frequency_dim, length).last;
}

PairRange critical_pair_search(DoubleDouble base, int64_t frequency_dim, int64_t length) {
  const auto rounded_up = [&](DoubleDouble turns) {
    const DoubleDouble pair = ceil(pair_of_turns(base, frequency_dim, turns, DoubleDouble(length)));
    return static_cast<int64_t>(static_cast<double>(clamp(pair, 0, frequency_dim / 2)));
  };
  return {rounded_up(10), rounded_up(1)};
}

double extrapolation_bound(DoubleDouble new_base, int64_t frequency_dim, int64_t critical) {
  return static_cast<double>(kTwoPi *
                             pow(new_base, DoubleDouble(critical) / DoubleDouble(frequency_dim)));
}

double base_for_target(DoubleDouble base, int64_t trained, int64_t target) {
  return static_cast<double>(
      pow(base, log(DoubleDouble(target) / kTwoPi) / log(DoubleDouble(trained) / kTwoPi)));
}

SmallerBases smaller_bases(int64_t length) {
  const DoubleDouble full = DoubleDouble(length) / kTwoPi;
  return {static_cast<double>(4 * full), static_cast<double>(2 * full), static_cast<double>(full)};
}

// A pair at x = pair 2 / d turns by b^-x; b^x = distance, then distance / (2 pi), names it.
double reach_by_radian(DoubleDouble base, DoubleDouble new_base, DoubleDouble distance) {
  return static_cast<double>(pow(new_base, log(distance) / log(base)));
}

double reach_by_turn(DoubleDouble base, DoubleDouble new_base, DoubleDouble distance) {
  return static_cast<double>(kTwoPi * pow(new_base, log(distance / kTwoPi) / log(base)));
}

double like_key_score(const Spectrum& spectrum, int64_t unrotated_pairs, int64_t m) {
  const double sum = cosine_sum(spectrum.turns_per_token, spectrum.decay, m);
  return sum * square(spectrum.amplitude) + static_cast<double>(unrotated_pairs);
}

bool like_keys_always_attend(const Spectrum& spectrum, int64_t unrotated_pairs) {
  const int64_t still =
      std::count(spectrum.turns_per_token.begin(), spectrum.turns_per_token.end(), DoubleDouble());
  const auto turning = static_cast<double>(spectrum.n_pairs() - still);
  // A decay may leave nothing of pairs that stand still.
  const double kept = spectrum.decay.empty() ? static_cast<double>(still) : 0;
  return static_cast<double>(unrotated_pairs) >= square(spectrum.amplitude) * (turning - kept);
}

std::optional<int64_t> effective_reach(const Spectrum& spectrum, int64_t unrotated_pairs,
                                       int64_t limit) {
  if (like_keys_always_attend(spectrum, unrotated_pairs)) return std::nullopt;
  const double threshold = -static_cast<double>(unrotated_pairs) / square(spectrum.amplitude);
  return first_below(spectrum, threshold, limit);
}

std::optional<int64_t> effective_reach(const Rotary& rotary, int64_t n) {
  assert(n >= 1);
  const bool as_it_is = rotary.distance.is_identity() &&
                        rotary.mask.past == PairMask::Past::kHeard && one_spectrum(rotary.spectrum);
  if (!as_it_is || rotary.visibility.sinks > 0) return reach_by_definition(rotary, n);
  return effective_reach(rotary.spectrum.at(n), unrotated_pairs_of(rotary),
                         std::min(n, rotary.visibility.window));
}

bool base_is_feasible(DoubleDouble base, int64_t frequency_dim, int64_t length) {
  return !effective_reach(rope_spectrum(base, frequency_dim, frequency_dim / 2), 0, length);
}

std::optional<double> smallest_feasible_base(int64_t frequency_dim, int64_t length) {
  constexpr double kMost = 1e15;
  for (double base = 200; base < kMost; base *= 1.002) {
    if (!fails_below(geometric_turns(base, frequency_dim), length)) return base;
  }
  return std::nullopt;
}

double fitted_feasible_base(int64_t length) {
  return 0.0424 * std::pow(static_cast<double>(length), 1.628);
}

double asymptotic_feasible_base(int64_t length) { return static_cast<double>(length) / 0.6165; }

double alias_bound(double base) { return static_cast<double>(kTwoPi * base); }

double stable_base(int64_t length, double epsilon, int64_t n_layers) {
  assert(0 < epsilon && epsilon < 1 && n_layers >= 1);
  return static_cast<double>(length) /
         std::acos(std::pow(epsilon, 1 / static_cast<double>(n_layers)));
}

double precision_bound(double machine_epsilon) { return 1 / machine_epsilon; }

double log_length_scale(int64_t n, int64_t trained) {
  return static_cast<double>(max(1, log(DoubleDouble(n)) / log(DoubleDouble(trained))));
}

DoubleDouble yarn_magnitude(DoubleDouble factor, DoubleDouble k, DoubleDouble coefficient) {
  return coefficient * k * log(factor) + 1;
}

DoubleDouble yarn_magnitude(DoubleDouble factor) {
  return yarn_magnitude(factor, 1, DoubleDouble(1) / 10);
}

DoubleDouble yarn_amplitude(DoubleDouble factor, DoubleDouble mscale, DoubleDouble mscale_all_dim,
                            DoubleDouble coefficient) {
  if (mscale == 0 || mscale_all_dim == 0) return yarn_magnitude(factor, 1, coefficient);
  return yarn_magnitude(factor, mscale, coefficient) /
         yarn_magnitude(factor, mscale_all_dim, coefficient);
}

double yarn_logit_scale(double factor) {
  const DoubleDouble magnitude = yarn_magnitude(factor);
  return static_cast<double>(magnitude * magnitude);
}

double drope_logit_scale(double factor, double c) {
  return static_cast<double>(log(DoubleDouble(factor)) * c + 1);
}

}  // namespace ropewalk
