// The angle between two tokens.
#include "ropewalk/math/rotary.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "ropewalk/math/rotation_plan.h"
#include "ropewalk/math/triple_double.h"
#include "ropewalk/math/turns.h"

namespace ropewalk {
namespace {

// distance * speed <= turns, decided on the exact product.
bool is_heard(double distance, DoubleDouble speed, DoubleDouble turns) {
  const TripleDouble excess =
      triple_of(two_product(distance, speed.hi)) + -turns + two_product(distance, speed.lo);
  return excess.hi <= 0;
}

// The rotation position of a query that stands at i when it looks at key j, and of that key.
struct RotationPositions {
  DoubleDouble query;
  DoubleDouble key;
};

// A curve gives a distance, not two positions: the key stays at j and the query stands f(d) past
// it.
RotationPositions rotation_positions(const DistanceMap& map, int64_t i, int64_t j, int64_t pair) {
  if (map.is_curve()) return {DoubleDouble(j) + map.at(i, j), DoubleDouble(j)};
  const Branch& branch = map.branch_between(i, j);
  return {branch.query_of(pair)(i), branch.key_of(pair)(j)};
}

}  // namespace

int64_t PairMask::last_heard(DoubleDouble turns_per_token) const {
  constexpr double kBeyondPositions = 0x1p53;
  const DoubleDouble speed = abs(turns_per_token);
  if (past == Past::kHeard || speed == 0.0) return kUnbounded;
  const DoubleDouble quotient = floor(turns / speed);
  if (quotient >= kBeyondPositions) return kUnbounded;
  // The quotient was rounded: its whole part is right but next to an integer.
  auto distance = static_cast<double>(quotient);
  if (is_heard(distance + 1, speed, turns)) return static_cast<int64_t>(distance) + 1;
  if (!is_heard(distance, speed, turns)) distance -= 1;
  return static_cast<int64_t>(distance);
}

double QueryTemperature::at(int64_t i) const {
  double scale = factor;
  if (log_length > 1) {
    const double growth =
        std::log(static_cast<double>(i) + 1) / std::log(static_cast<double>(log_length));
    scale *= std::max(1.0, growth);
  }
  if (step_length > 0) {
    const auto step = static_cast<double>((i + step_offset) / step_length);
    scale *= 1 + step_scale * std::log1p(step);
  }
  return scale;
}

Rotary at_length(Rotary rotary, int64_t n) {
  if (rotary.distance.depends_on_length()) rotary.distance = rotary.distance.for_length(n);
  return rotary;
}

Rotary plain_rotary(const FrequencySource& source, const PairLayout& layout) {
  Rotary rotary;
  rotary.source = source;
  rotary.layout = layout;
  rotary.spectrum =
      SpectrumRule(rope_spectrum(source.base, source.frequency_dim, layout.n_pairs()));
  return rotary;
}

PairAngle pair_angle(const Rotary& rotary, const Spectrum& query_spectrum,
                     const Spectrum& key_spectrum, int64_t pair, int64_t i, int64_t j) {
  assert(rotary.visibility.sees(i, j));
  const DoubleDouble query_speed = query_spectrum.turns_per_token[pair];
  const DoubleDouble key_speed = key_spectrum.turns_per_token[pair];
  const double decay = query_spectrum.decay_of(pair);
  assert(decay == key_spectrum.decay_of(pair));
  const PairMask& mask = rotary.mask;
  if (i - j > mask.last_heard(query_speed)) {
    if (mask.past == PairMask::Past::kSilent) return {.silent = true, .turns = {}};
    return {.turns = frozen_turns(mask, query_speed),
            .log_gain = decay * static_cast<double>(mask.turns / abs(query_speed))};
  }

  const int64_t standing = rotary.visibility.standing(i, j);
  const bool mapped = rotary.distance.pairs().holds(pair);
  if (query_speed == key_speed) {
    const DoubleDouble distance =
        mapped ? rotary.distance.at(standing, j, pair) : DoubleDouble(standing - j);
    return {.turns = fraction_of_turn(distance, query_speed),
            .log_gain = decay * static_cast<double>(distance)};
  }
  const auto [query, key] = mapped ? rotation_positions(rotary.distance, standing, j, pair)
                                   : RotationPositions{DoubleDouble(standing), DoubleDouble(j)};
  const DoubleDouble difference =
      fraction_of_turn(query, query_speed) - fraction_of_turn(key, key_speed);
  return {.turns = difference - round(difference),
          .log_gain = decay * static_cast<double>(query - key)};
}

}  // namespace ropewalk
