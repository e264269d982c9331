#include "ropewalk/study/search_past.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace ropewalk {
namespace {

// Losses of 320 tokens, differing from 3 by `more` and, in blocks by turns, by `noise`.
std::vector<double> losses(double more, double noise) {
  std::vector<double> all;
  for (int t = 0; t < 320; ++t) all.push_back(3 + more + (t / 32 % 2 == 0 ? noise : -noise));
  return all;
}

TEST(IsWorse, GoesByThePairedNoise) {
  const std::vector<double> best = losses(0, 0);
  EXPECT_FALSE(*is_worse(best, best, 0));
  EXPECT_FALSE(*is_worse(losses(-1, 0), best, 0));
  EXPECT_TRUE(*is_worse(losses(0.01, 0), best, 0));
  EXPECT_FALSE(*is_worse(losses(0.1, 1), best, 0));
  EXPECT_TRUE(*is_worse(losses(1, 1), best, 0));
  EXPECT_TRUE(*is_worse(std::vector<double>(320, std::nan("")), best, 0));
}

TEST(IsWorse, LooksPastTheTrainedLengthWhereThereIsSomething) {
  std::vector<double> worse_inside = losses(0, 0);
  for (size_t t = 0; t < 64; ++t) worse_inside[t] += 1;
  EXPECT_FALSE(*is_worse(worse_inside, losses(0, 0), 64));
  EXPECT_TRUE(*is_worse(losses(0.1, 0), losses(0, 0), 1000));
}

TEST(IsWorse, FewLossesTellNothing) {
  const std::vector<double> best = losses(0, 0);
  const auto last = static_cast<int64_t>(best.size());
  EXPECT_FALSE(is_worse(losses(5, 0), best, last - 32)) << "one block has no standard error";
  const auto enough = static_cast<int64_t>(kEnoughLosses);
  EXPECT_FALSE(is_worse(losses(5, 0), best, last - enough + 1));
  EXPECT_EQ(is_worse(losses(5, 0), best, last - enough), true);
  std::vector<double> broken = best;
  broken.back() = std::nan("");
  EXPECT_EQ(is_worse(broken, best, last - 1), true);
}

TEST(SearchPasses, AreThoseOfWholeSettings) {
  const RacePlan plan = {.windows = {0, 1, 2}, .copy_windows = 1};
  const ByKind<double> pass = {.always = 9, .portable = 1, .other = 2};
  EXPECT_EQ(search_passes(plan, 4, 0, pass, {}), 20u);
  EXPECT_EQ(search_passes(plan, 4, 3, pass, {}), 5u);
  EXPECT_EQ(search_passes(plan, 4, 5, pass, {}), 0u);
  EXPECT_EQ(search_passes(plan, 4, 0, pass, 25.0), 10u) << "five passes of 2 s each";
  EXPECT_EQ(search_passes(plan, SIZE_MAX, 0, pass, -1.0), 0u);
  const ByKind<double> next_to_nothing = {.portable = 1e-300};
  EXPECT_EQ(search_passes(plan, SIZE_MAX, 0, next_to_nothing, 1.0), SIZE_MAX / 2 / 5 * 5);
  EXPECT_EQ(search_passes(plan, SIZE_MAX, 0, pass, {}), SIZE_MAX / 2 / 5 * 5);
}

}  // namespace
}  // namespace ropewalk
