// Attention that looks both ways: an encoder's, and a decoder's at what an encoder has read.
#ifndef ROPEWALK_KERNELS_ATTENTION_BOTH_WAYS_H_
#define ROPEWALK_KERNELS_ATTENTION_BOTH_WAYS_H_

#include <cstdint>
#include <span>

#include "ropewalk/math/distance_map.h"

namespace ropewalk {

// Queries and keys are turned already; positions that are no rotation come as a bias.
struct BothWaysAttention {
  int64_t n_queries = 0;
  int64_t n_keys = 0;
  int64_t n_heads = 0;
  int64_t n_kv_heads = 0;  // divides n_heads
  int64_t head_dim = 0;
  const float* queries = nullptr;    // (n_queries, n_heads, head_dim)
  const float* keys = nullptr;       // (n_keys, n_kv_heads, head_dim)
  const float* values = nullptr;     // (n_keys, n_kv_heads, head_dim)
  std::span<const float> row_scale;  // (n_queries), multiplies the products of a row; > 0

  // Query i sees the keys from i - before to i + after; 0 behind is a causal mask.
  int64_t before = kUnbounded;
  int64_t after = kUnbounded;

  // Added to the scaled products, by key less query: that of j - i is column j - i + n_queries - 1 of
  // (n_heads, n_queries + n_keys - 1). Empty: none.
  std::span<const float> bias;

  float* out = nullptr;  // (n_queries, n_heads, head_dim); zeros where a query sees no key
};

// Softmax attention in float32. Of each output at most 2e-6 of the largest value in size from exact
// arithmetic, where scores are below 32 in size. The same bits whatever the thread count.
void attend_both_ways(const BothWaysAttention& attention);

}  // namespace ropewalk

#endif  // ROPEWALK_KERNELS_ATTENTION_BOTH_WAYS_H_
