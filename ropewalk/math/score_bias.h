// ScoreBias: what is added to the logits of a layer that tells positions apart without rotation.
#ifndef ROPEWALK_MATH_SCORE_BIAS_H_
#define ROPEWALK_MATH_SCORE_BIAS_H_

#include <cstdint>
#include <functional>
#include <vector>

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

// Slopes of ALiBi. With p the largest power of two <= n_heads: 2^(-max_bias k / p) for k = 1 to p,
// then 2^(-max_bias (2h + 1) / (2 p)) for the heads that are left, h = 0, 1, ... Source: Press,
// Smith, Lewis 2022, arXiv 2108.12409; max_bias other than 8 as MPT and GGUF have it.
//   n_heads  >= 1
//   returns  (n_heads), each within 1 ulp
std::vector<double> alibi_slopes(int64_t n_heads, double max_bias = 8);

// -slope[head] * |i - j|.
//   slopes  (n_heads)
ScoreBias linear_bias(std::vector<double> slopes);

// T5's buckets of r = j - i: exact for small distances, logarithmic up to max_distance, one for all
// beyond. Source: Raffel et al. 2020, arXiv 1910.10683.
struct T5Buckets {
  int64_t n_buckets = 32;  // >= 2; even where bidirectional
  int64_t max_distance =
      128;  // > exact buckets: n_buckets / 2, or n_buckets / 4 where bidirectional
  bool bidirectional = false;  // the upper half of the buckets is for keys after the query

  // From 0 to n_buckets - 1. The boundaries are those of exact arithmetic.
  int64_t bucket(int64_t relative_position) const;
};

// Throws Error where a field breaks the bounds stated above.
void validate(const T5Buckets& buckets);

// DeBERTa's buckets of r = i - j: exact up to n_buckets / 2 = mid, then
//   sign(r) * (ceil(ln(|r| / mid) / ln((max_distance - 1) / mid) * (mid - 1)) + mid)
// Source: He et al. 2020, arXiv 2006.03654; the logarithm is that of DeBERTa-v2's code.
struct DebertaBuckets {
  int64_t n_buckets = 256;     // >= 4, even
  int64_t max_distance = 512;  // > n_buckets / 2 + 1

  // The boundaries are those of exact arithmetic.
  int64_t bucket(int64_t relative_position) const;
};

// Throws Error where a field breaks the bounds stated above.
void validate(const DebertaBuckets& buckets);

// Row of a table of 2 * limit + 1 learned rows: clip(j - i, -limit, limit) + limit. Source: Shaw,
// Uszkoreit, Vaswani 2018, arXiv 1803.02155.
struct ClippedDistance {
  int64_t limit = 16;  // >= 1

  int64_t row(int64_t relative_position) const;
};

// table[bucket(j - i), head]. Throws Error where the buckets are invalid or the table has another
// size.
//   table  (n_buckets, n_heads)
ScoreBias bucket_bias(const T5Buckets& buckets, std::vector<double> table, int64_t n_heads);

}  // namespace ropewalk

#endif  // ROPEWALK_MATH_SCORE_BIAS_H_
