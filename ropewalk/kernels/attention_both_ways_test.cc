// Against the definition in double, on every SIMD target.
#include "ropewalk/kernels/attention_both_ways.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "ropewalk/testing/random_values.h"
#include "ropewalk/testing/simd_targets.h"

namespace ropewalk {
namespace {

struct Case {
  int64_t n_queries = 0, n_keys = 0;
  int64_t n_heads = 4, n_kv_heads = 2, head_dim = 20;
  int64_t before = kUnbounded, after = kUnbounded;
  bool biased = false;
};

// The worst difference, in units of the largest value.
double worst_difference(const Case& c) {
  const int64_t distances = c.n_queries + c.n_keys - 1;
  const std::vector<float> q = random_values<float>(c.n_queries * c.n_heads * c.head_dim, 1);
  const std::vector<float> k = random_values<float>(c.n_keys * c.n_kv_heads * c.head_dim, 2);
  const std::vector<float> v = random_values<float>(c.n_keys * c.n_kv_heads * c.head_dim, 3);
  const std::vector<float> bias = random_values<float>(c.biased ? c.n_heads * distances : 0, 4);
  std::vector<float> row_scale;  // scores of a deviation of 1 to 2
  for (int64_t i = 0; i < c.n_queries; ++i)
    row_scale.push_back((1 + 0.15f * static_cast<float>(i % 7)) /
                        std::sqrt(static_cast<float>(c.head_dim)));
  std::vector<float> out(q.size(), -1);
  attend_both_ways({.n_queries = c.n_queries,
                    .n_keys = c.n_keys,
                    .n_heads = c.n_heads,
                    .n_kv_heads = c.n_kv_heads,
                    .head_dim = c.head_dim,
                    .queries = q.data(),
                    .keys = k.data(),
                    .values = v.data(),
                    .row_scale = row_scale,
                    .before = c.before,
                    .after = c.after,
                    .bias = bias,
                    .out = out.data()});

  double largest = 0, worst = 0;
  for (const float value : v) largest = std::max(largest, std::abs(static_cast<double>(value)));
  for (int64_t i = 0; i < c.n_queries; ++i) {
    for (int64_t head = 0; head < c.n_heads; ++head) {
      const int64_t kv_head = head / (c.n_heads / c.n_kv_heads);
      std::vector<double> sums(static_cast<size_t>(c.head_dim));
      double total = 0;
      for (int64_t j = 0; j < c.n_keys; ++j) {
        if (i - j > c.before || j - i > c.after) continue;
        double score = 0;
        for (int64_t x = 0; x < c.head_dim; ++x)
          score += static_cast<double>(q[(i * c.n_heads + head) * c.head_dim + x]) *
                   static_cast<double>(k[(j * c.n_kv_heads + kv_head) * c.head_dim + x]);
        score *= static_cast<double>(row_scale[i]);
        if (c.biased)
          score += static_cast<double>(bias[head * distances + j - i + c.n_queries - 1]);
        const double weight = std::exp(score);
        total += weight;
        for (int64_t x = 0; x < c.head_dim; ++x)
          sums[x] += weight * static_cast<double>(v[(j * c.n_kv_heads + kv_head) * c.head_dim + x]);
      }
      for (int64_t x = 0; x < c.head_dim; ++x) {
        const double wanted = total == 0 ? 0 : sums[x] / total;
        const auto got = static_cast<double>(out[(i * c.n_heads + head) * c.head_dim + x]);
        worst = std::max(worst, std::abs(got - wanted));
      }
    }
  }
  return worst / largest;
}

constexpr double kBound = 2e-6;

TEST(AttentionBothWays, SeesEveryKey) {
  on_every_target([] {
    for (const int64_t n : {1, 2, 63, 64, 65, 96, 97, 200}) {
      SCOPED_TRACE(n);
      EXPECT_LE(worst_difference({.n_queries = n, .n_keys = n}), kBound);
      EXPECT_LE(worst_difference({.n_queries = n, .n_keys = n, .biased = true}), kBound);
    }
  });
}

TEST(AttentionBothWays, TakesAnyHeadWidth) {
  for (const int64_t head_dim : {1, 2, 8, 16, 33, 64, 96, 128, 256}) {
    SCOPED_TRACE(head_dim);
    EXPECT_LE(worst_difference({.n_queries = 70,
                                .n_keys = 70,
                                .n_heads = 3,
                                .n_kv_heads = 3,
                                .head_dim = head_dim,
                                .biased = true}),
              kBound);
  }
}

TEST(AttentionBothWays, WindowsCountOnEachSide) {
  on_every_target([] {
    for (const int64_t before : {int64_t{0}, int64_t{1}, int64_t{64}, int64_t{100}, kUnbounded}) {
      for (const int64_t after : {int64_t{0}, int64_t{3}, int64_t{64}, kUnbounded}) {
        SCOPED_TRACE(before);
        SCOPED_TRACE(after);
        EXPECT_LE(worst_difference({.n_queries = 230,
                                    .n_keys = 230,
                                    .before = before,
                                    .after = after,
                                    .biased = before == 1}),
                  kBound);
      }
    }
  });
}

TEST(AttentionBothWays, LooksAtAnotherSequence) {
  for (const auto& [queries, keys] : {std::pair(5, 130), std::pair(130, 5), std::pair(1, 64)}) {
    EXPECT_LE(worst_difference({.n_queries = queries, .n_keys = keys}), kBound);
    EXPECT_LE(worst_difference({.n_queries = queries, .n_keys = keys, .biased = true}), kBound);
  }
  // Rows 10 and later see none.
  EXPECT_LE(worst_difference({.n_queries = 130, .n_keys = 5, .before = 5, .after = 0}), kBound);
}

}  // namespace
}  // namespace ropewalk
