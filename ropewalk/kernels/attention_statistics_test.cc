// Statistics against sums over the double reference.
#include "ropewalk/kernels/attention_statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/math/reference.h"
#include "ropewalk/testing/random_values.h"

namespace ropewalk {
namespace {

constexpr int64_t kTokens = 150, kHeads = 4, kKvHeads = 2, kHeadDim = 12, kFirst = 40;
constexpr float kScale = 0.25F;
const std::vector<int64_t> kEdges = {0, 1, 10, 64, 100, 1000};

struct Inputs {
  std::vector<float> query = random_values<float>(kTokens * kHeads * kHeadDim, 1);
  std::vector<float> key = random_values<float>(kTokens * kKvHeads * kHeadDim, 2);
};

double logit(const Rotary& rotary, const Inputs& in, int64_t head, int64_t i, int64_t j) {
  const auto of = [](const std::vector<float>& from, int64_t at) {
    return std::vector<double>(from.begin() + at * kHeadDim, from.begin() + (at + 1) * kHeadDim);
  };
  const Spectrum spectrum = rotary.spectrum.at(1);
  const int64_t kv_head = head / (kHeads / kKvHeads);
  return static_cast<double>(kScale) * reference_logit(rotary, spectrum, spectrum, i, j,
                                                       of(in.query, i * kHeads + head),
                                                       of(in.key, j * kKvHeads + kv_head));
}

// And the log-sum-exp of rows kFirst ..., (rows, kHeads).
DistanceStatistics expected(const Rotary& rotary, const Inputs& in, std::vector<float>& sums) {
  const auto n = std::ssize(kEdges);
  DistanceStatistics all{.n_heads = kHeads, .n_buckets = n};
  all.weight.resize(static_cast<size_t>(kHeads * n));
  all.logit.resize(static_cast<size_t>(kHeads * n));
  all.seen.resize(static_cast<size_t>(n));
  for (int64_t i = kFirst; i < kTokens; ++i) {
    for (int64_t head = 0; head < kHeads; ++head) {
      double total = 0;
      for (int64_t j = 0; j <= i; ++j) {
        if (rotary.visibility.sees(i, j)) total += std::exp(logit(rotary, in, head, i, j));
      }
      sums.push_back(static_cast<float>(std::log(total)));
      for (int64_t j = 0; j <= i; ++j) {
        if (!rotary.visibility.sees(i, j)) continue;
        const auto bucket = std::ranges::upper_bound(kEdges, i - j) - kEdges.begin() - 1;
        const double score = logit(rotary, in, head, i, j);
        all.weight[head * n + bucket] += std::exp(score) / total;
        all.logit[head * n + bucket] += score;
        if (head == 0) ++all.seen[bucket];
      }
    }
  }
  return all;
}

TEST(AttentionStatistics, SumWeightsAndLogitsByDistance) {
  const PairLayout layout{PairOrder::kHalf, kHeadDim, 8};
  Rotary capped = plain_rotary({.base = 100.0, .frequency_dim = 8, .trained_length = 32}, layout);
  capped.distance = piecewise_linear(20, 20.0, 0.0);
  Rotary windowed = capped;
  windowed.visibility = {.window = 50, .sinks = 2};
  Rotary curved = capped;
  curved.distance =
      DistanceMap([](int64_t d) { return DoubleDouble(std::sqrt(static_cast<double>(d))); });
  for (const Rotary& rotary : {capped, windowed, curved}) {
    const Inputs in;
    std::vector<float> sums;
    const DistanceStatistics by_hand = expected(rotary, in, sums);
    KvTiles<float> kv(kKvHeads, kHeadDim, kTokens);
    kv.store(0, kTokens, in.key.data(), in.key.data());
    const Rotations rotations(rotary, kTokens, kFirst, kTokens - kFirst, AngleMode::kExact);
    const std::vector<float> scale(static_cast<size_t>(kTokens - kFirst), kScale);
    const DistanceStatistics got =
        attention_by_distance({.rotations = &rotations,
                               .kv = &kv,
                               .n_heads = kHeads,
                               .queries = in.query.data() + kFirst * kHeads * kHeadDim,
                               .row_scale = scale,
                               .log_sum_exp = sums},
                              kEdges);
    EXPECT_EQ(got.seen, by_hand.seen);
    for (size_t b = 0; b < got.weight.size(); ++b) {
      EXPECT_NEAR(got.weight[b], by_hand.weight[b], 1e-4) << b;
      EXPECT_NEAR(got.logit[b], by_hand.logit[b], 2e-3) << b;
    }
  }
}

TEST(AttentionStatistics, RefusesEdgesThatDoNotRise) {
  for (const std::vector<int64_t>& edges :
       {std::vector<int64_t>{}, std::vector<int64_t>{1, 2}, std::vector<int64_t>{0, 5, 5}})
    EXPECT_THROW(attention_by_distance({}, edges), Error);
}

}  // namespace
}  // namespace ropewalk
