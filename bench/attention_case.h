// Inputs that the attention benchmarks share: 8 heads of 128 coordinates, causal, from row 0.
#ifndef ROPEWALK_BENCH_ATTENTION_CASE_H_
#define ROPEWALK_BENCH_ATTENTION_CASE_H_

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "ropewalk/kernels/attention.h"
#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk::bench {

inline constexpr int64_t kHeadDim = 128;

struct AttentionCase {
  int64_t n_tokens;
  int64_t n_heads;
  std::vector<float> queries, keys, values, out;  // (n_tokens, n_heads, kHeadDim)
  std::vector<float> row_scale;

  AttentionCase(int64_t tokens, int64_t heads)
      : n_tokens(tokens),
        n_heads(heads),
        queries(normal(1)),
        keys(normal(2)),
        values(normal(3)),
        out(queries.size()),
        row_scale(static_cast<size_t>(tokens), 1 / std::sqrt(static_cast<float>(kHeadDim))) {}

  // What a causal mask leaves of both products.
  double flops() const {
    const auto n = static_cast<double>(n_tokens);
    return 2.0 * static_cast<double>(n_heads) * n * n * static_cast<double>(kHeadDim);
  }

  template <typename Element>
  KvTiles<Element> tiles() const {
    KvTiles<Element> kv(n_heads, kHeadDim, n_tokens);
    kv.store(0, n_tokens, keys.data(), values.data());
    return kv;
  }

 private:
  std::vector<float> normal(unsigned seed) const {
    std::mt19937 generator(seed);
    std::normal_distribution<float> distribution;
    std::vector<float> numbers(static_cast<size_t>(n_tokens * n_heads * kHeadDim));
    for (float& number : numbers) number = distribution(generator);
    return numbers;
  }
};

inline Rotary rotary_of(const std::string& scheme) {
  return apply_scheme(
      scheme, plain_rotary({.base = 10000.0, .frequency_dim = kHeadDim, .trained_length = 4096},
                           {PairOrder::kHalf, kHeadDim, kHeadDim}));
}

}  // namespace ropewalk::bench

#endif  // ROPEWALK_BENCH_ATTENTION_CASE_H_
