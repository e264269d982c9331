// ScoreBias: what is added to the logits of a layer that tells positions apart without rotation.
#ifndef ROPEWALK_MATH_SCORE_BIAS_H_
#define ROPEWALK_MATH_SCORE_BIAS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "ropewalk/math/alibi.h"
#include "ropewalk/math/relative_buckets.h"

namespace ropewalk {

// Added to the logit of query i and key j of one head, before softmax.
class ScoreBias {
 public:
  using Function = std::function<double(int64_t head, int64_t i, int64_t j)>;

  ScoreBias() = default;  // adds nothing
  explicit ScoreBias(Function at);

  double at(int64_t head, int64_t i, int64_t j) const { return at_ ? at_(head, i, j) : 0; }

 private:
  Function at_;
};

// -slope[head] * |i - j|: ALiBi, symmetric for encoders (jina-bert-v2).
//   slopes  (n_heads)
ScoreBias linear_bias(std::vector<double> slopes);

// slope[head] * j, as BLOOM and Falcon write ALiBi: the same attention as linear_bias() under a
// causal mask, because the two differ by a constant in each row.
//   slopes  (n_heads)
ScoreBias key_position_bias(std::vector<double> slopes);

// table[bucket(j - i), head]. Throws Error where the buckets are invalid or the table has another
// size.
//   table  (n_buckets, n_heads)
ScoreBias bucket_bias(const T5Buckets& buckets, std::vector<double> table, int64_t n_heads);

}  // namespace ropewalk

#endif  // ROPEWALK_MATH_SCORE_BIAS_H_
