// Rotary: everything that decides the score between two tokens of a rotary layer. A value; no part
// knows a scheme's name.
#ifndef ROPEWALK_MATH_ROTARY_H_
#define ROPEWALK_MATH_ROTARY_H_

#include <cstdint>
#include <vector>

#include "ropewalk/math/distance_map.h"
#include "ropewalk/math/pair_layout.h"
#include "ropewalk/math/spectrum.h"

namespace ropewalk {

// A pair is heard until it has made `turns` turns over the true distance d = i - j, before any
// distance map.
struct PairMask {
  enum class Past {
    kHeard,   // no mask
    kSilent,  // past it the pair adds nothing to the score
    kFrozen,  // past it the pair's angle stays at `turns` turns
  };
  Past past = Past::kHeard;
  DoubleDouble turns = 1.0;

  // Largest distance at which a pair is still heard: d * turns_per_token <= turns.
  int64_t last_heard(DoubleDouble turns_per_token) const;
};

// Which keys a query sees, and where it believes the first ones to be.
//   keys with d < window are seen at their true distance;
//   keys j < sinks with d >= window are seen by a query that stands at min(i, window + sinks - 1),
//   as positions inside the kept set are counted, or, where sinks_stay, at i itself.
struct Visibility {
  int64_t window = kUnbounded;  // >= 1
  int64_t sinks = 0;            // >= 0
  bool sinks_stay = false;

  bool sees(int64_t i, int64_t j) const { return j <= i && (i - j < window || j < sinks); }
  // The position at which query i stands when it looks at key j, which it sees.
  int64_t standing(int64_t i, int64_t j) const {
    return sinks_stay || i - j < window || i < window + sinks - 1 ? i : window + sinks - 1;
  }
};

// Multiplies the logits of row i:
//   factor
//   * max(1, ln(i + 1) / ln(log_length))                         where log_length > 1
//   * (1 + step_scale * ln(1 + floor((i + step_offset) / step_length)))   where step_length > 0
// The second is bojone's and Qwen-1's log n, the third Llama-4's (offset 1) and Ministral-3's
// (offset 0).
struct QueryTemperature {
  double factor = 1;
  int64_t log_length = 0;  // 0: none
  double step_scale = 0;
  int64_t step_length = 0;  // 0: none
  int64_t step_offset = 0;

  bool operator==(const QueryTemperature&) const = default;

  double at(int64_t i) const;
};

// What a model file declares of its frequencies, kept so that a spectrum part starts from it
// afresh.
struct FrequencySource {
  DoubleDouble base = 10000.0;  // "rope_theta", "freq_base"
  int64_t frequency_dim =
      0;  // divisor of the exponent; equals rotary_dim but for proportional RoPE
  int64_t trained_length = 0;  // L, in tokens
};

struct Rotary {
  FrequencySource source;
  PairLayout layout;
  SpectrumRule spectrum;  // its spectra have layout.n_pairs() pairs
  DistanceMap distance;
  PairMask mask;
  Visibility visibility;
  QueryTemperature temperature;
};

// The same with the distance map of a sequence of n tokens. What asks for a map free of the length
// asks for this, n being the length that the row's spectrum sees.
Rotary at_length(Rotary rotary, int64_t n);

// Plain RoPE of the given source and layout.
Rotary plain_rotary(const FrequencySource& source, const PairLayout& layout);

// What happens to a pair between two tokens.
struct PairAngle {
  bool silent = false;
  DoubleDouble turns;   // reduced to [-1/2, 1/2]; query less key
  double log_gain = 0;  // the pair's part of the score is multiplied by exp(log_gain)
};

// The angle of `pair` between query i and key j (seen) in a sequence of n tokens: the definition
// that every kernel must reproduce. The distance map is free of the length: see at_length().
// `query_spectrum` and `key_spectrum` are what the rule gives for
// row i and, under Length::kToken, for token j; they are equal otherwise, and their decays always.
PairAngle pair_angle(const Rotary& rotary, const Spectrum& query_spectrum,
                     const Spectrum& key_spectrum, int64_t pair, int64_t i, int64_t j);

}  // namespace ropewalk

#endif  // ROPEWALK_MATH_ROTARY_H_
