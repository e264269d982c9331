// The reference in double precision: rotation, logit and attention as they are defined, one pair of
// tokens at a time. The oracle of every kernel.
//
// Goals: to be read beside the formulas, and to take every Rotary. Not a goal: speed.
#ifndef ROPEWALK_MATH_REFERENCE_H_
#define ROPEWALK_MATH_REFERENCE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ropewalk/math/rotary.h"
#include "ropewalk/math/score_bias.h"

namespace ropewalk {

// Where a head stands in a score: a decay lets queries shrink with their position and keys grow.
enum class HeadSide { kQuery, kKey };

// One head, turned to a rotation position: of each pair (x, y),
//   x' = amplitude * gain * (x cos - y sin),  y' = amplitude * gain * (x sin + y cos),
//   gain = exp(decay * position) of a query, exp(-decay * position) of a key;
// coordinates from rotary_dim on pass through.
//   head     (head_dim)
//   side     counts where the spectrum has a decay only
//   returns  (head_dim)
std::vector<double> reference_rotate(const PairLayout& layout, const Spectrum& spectrum,
                                     DoubleDouble position, std::span<const double> head,
                                     HeadSide side = HeadSide::kQuery);

// Query (q0, q1) less key (k0, k1) turned by phi, summed over the pairs that are not silent:
//   S = sum [ (q0 k0 + q1 k1) cos phi - (q1 k0 - q0 k1) sin phi ] exp(log_gain of the pair)
//       * amplitude of query * amplitude of key
//       + the product of the coordinates that pass through
// times logit_multiplier and the temperature of row i; before the scale 1/sqrt(head_dim) and any
// bias.
//   rotary, query_spectrum, key_spectrum  as for pair_angle()
//   query, key                    (head_dim), unrotated
double reference_logit(const Rotary& rotary, const Spectrum& query_spectrum,
                       const Spectrum& key_spectrum, int64_t i, int64_t j,
                       std::span<const double> query, std::span<const double> key);

struct ReferenceShape {
  int64_t n_tokens = 0;
  int64_t n_heads = 0;
  int64_t n_kv_heads = 0;  // divides n_heads; heads h share the keys of h / (n_heads / n_kv_heads)
  std::optional<double> scale;  // of the logits; 1/sqrt(head_dim) where it is not given
  double softcap = 0;           // c: scaled logits x become c tanh(x / c); 0: they stay
  int64_t first_key = 0;        // keys before it are padding, which no row sees
};

// Causal attention over a whole sequence whose token t stands at position t. A row sees the keys of
// rotary.visibility and the spectrum of rotary.spectrum.length_for_row().
//   query       (n_tokens, n_heads, head_dim), unrotated
//   key, value  (n_tokens, n_kv_heads, head_dim), keys unrotated
//   bias        added to the scaled, capped logits
//   log_sum_exp null, or where to put that of the logits of each row: (n_tokens, n_heads), minus
//               infinity where nothing is seen
//   returns     (n_tokens, n_heads, head_dim), zeros where nothing is seen
std::vector<double> reference_attention(const Rotary& rotary, const ReferenceShape& shape,
                                        std::span<const double> query, std::span<const double> key,
                                        std::span<const double> value, const ScoreBias& bias = {},
                                        std::vector<double>* log_sum_exp = nullptr);

}  // namespace ropewalk

#endif  // ROPEWALK_MATH_REFERENCE_H_
