#include "ropewalk/study/bootstrap.h"

#include <gtest/gtest.h>

#include <random>

namespace ropewalk {
namespace {

TEST(Estimate, MeansWeighByTokens) {
  const std::vector<Tally> windows = {{10, 10}, {60, 20}, {0, 0}};
  const auto result = estimate(windows);
  ASSERT_TRUE(result);
  EXPECT_DOUBLE_EQ(result->mean, 70.0 / 30);
  EXPECT_EQ(result->count, 30);
}

TEST(Estimate, OneWindowHasNoInterval) {
  const std::vector<Tally> one = {{3, 2}};
  EXPECT_FALSE(estimate(one)->interval);
  EXPECT_FALSE(estimate(std::vector<Tally>{}));
  EXPECT_FALSE(estimate(std::vector<Tally>{{0, 0}}));
}

TEST(Estimate, SameTalliesGiveTheSameInterval) {
  const std::vector<Tally> windows = {{10, 10}, {12, 10}, {15, 10}, {9, 10}};
  const auto first = estimate(windows);
  const auto second = estimate(windows);
  EXPECT_EQ(first->interval->low, second->interval->low);
  EXPECT_EQ(first->interval->high, second->interval->high);
  EXPECT_LE(first->interval->low, first->mean);
  EXPECT_GE(first->interval->high, first->mean);
}

// Of 300 samples of 30 windows each, the 95 % interval must hold the true mean about as often as it
// says.
TEST(Estimate, IntervalCoversTheMean) {
  std::mt19937_64 generator(5);
  std::normal_distribution<double> normal(2.0, 0.5);
  int covered = 0;
  constexpr int kSamples = 300;
  for (int n = 0; n < kSamples; ++n) {
    std::vector<Tally> windows(30);
    for (Tally& window : windows) window = {normal(generator) * 100, 100};
    const auto interval = estimate(windows)->interval;
    covered += interval->low <= 2.0 && 2.0 <= interval->high ? 1 : 0;
  }
  EXPECT_GE(covered, kSamples * 88 / 100);
  EXPECT_LE(covered, kSamples * 99 / 100);
}

TEST(EstimateDifference, ResamplesBothTogether) {
  // The windows differ much, the two candidates by exactly 0.1 in each: no doubt about the
  // difference.
  const std::vector<Tally> a = {{100, 100}, {300, 100}, {200, 100}};
  const std::vector<Tally> b = {{90, 100}, {290, 100}, {190, 100}};
  const auto difference = estimate_difference(a, b);
  EXPECT_NEAR(difference->mean, 0.1, 1e-12);
  EXPECT_NEAR(difference->interval->low, 0.1, 1e-12);
  EXPECT_NEAR(difference->interval->high, 0.1, 1e-12);
}

TEST(Bootstrap, ASumOfMeansIsWeighedAndResampledByTerm) {
  const std::vector<Tally> a = {{2, 2}, {6, 2}, {4, 2}};
  const std::vector<Tally> b = {{10, 1}, {20, 1}};
  const auto whole = estimate_sum({{.windows = a}, {.windows = b, .weight = -0.1}});
  ASSERT_TRUE(whole && whole->interval);
  EXPECT_DOUBLE_EQ(whole->mean, 2 - 1.5);
  EXPECT_EQ(whole->count, 6);
  EXPECT_LT(whole->interval->low, whole->mean);
  EXPECT_GT(whole->interval->high, whole->mean);

  const auto alone = estimate_sum({{.windows = a}, {.windows = {}, .weight = 9}});
  EXPECT_DOUBLE_EQ(alone->interval->low, estimate(a)->interval->low);
  EXPECT_FALSE(estimate_sum({{.windows = {{2, 2}}}, {.windows = b}})->interval);
  EXPECT_FALSE(estimate_sum({{.windows = {}}, {.windows = b}}));
}

}  // namespace
}  // namespace ropewalk
