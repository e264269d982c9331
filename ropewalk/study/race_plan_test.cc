#include "ropewalk/study/race_plan.h"

#include <gtest/gtest.h>

namespace ropewalk {
namespace {

constexpr ByKind<size_t> kRacing = {.always = 2, .portable = 10, .other = 20};
constexpr ByKind<double> kSecond = {.always = 1, .portable = 1, .other = 1};

TEST(RacePlan, CountsWhatHalvingRuns) {
  const RacePlan plan = whole_plan(4, 2, true);
  // 32 on the first window, 2 + 5 + 10 on the second, 2 + 3 + 5 on two more; 2 + 3 + 3 copy twice.
  const RaceCost cost = remaining_cost(plan, 0, kRacing, kSecond);
  EXPECT_EQ(cost.passes, 32u + 17u + 20u + 32u);
  EXPECT_DOUBLE_EQ(cost.seconds, 101);
  const ByKind<double> dear = {.always = 1, .portable = 1, .other = 2};
  EXPECT_DOUBLE_EQ(remaining_cost(plan, 0, kRacing, dear).seconds, 101 + 20 + 10 + 10 + 12);
  EXPECT_EQ(remaining_cost(plan, 2, {.always = 2, .portable = 3, .other = 5}, kSecond).passes,
            20u + 32u);
  EXPECT_EQ(remaining_cost(whole_plan(2, 0, false), 0, kRacing, kSecond).passes, 64u);
}

TEST(RacePlan, WhatIsHeldOutIsRunByThoseThatAreTold) {
  const RacePlan plan = whole_plan(8, 1, true, {3, 7});
  EXPECT_EQ(plan.windows, (std::vector<size_t>{0, 1, 2, 4, 5, 6}));
  // One plain pass on each, and the copy test on the first.
  constexpr size_t kPasses = 4;
  EXPECT_EQ(held_out_cost(plan, kRacing, kSecond).passes, kPasses * (2 + kMostTold));
  EXPECT_EQ(held_out_cost(plan, {.always = 2, .other = 1}, kSecond).passes, kPasses * 3);
  const RacePlan all = whole_plan(8, 1, false, {3, 7});
  EXPECT_EQ(held_out_cost(all, kRacing, kSecond).passes, kPasses * 32);
  RacePlan without = plan;
  without.held_out.clear();
  EXPECT_EQ(held_out_cost(without, kRacing, kSecond).passes, 0u);
  const size_t finalists = 3 + 3;
  EXPECT_EQ(remaining_cost(plan, 0, kRacing, kSecond).passes,
            remaining_cost(without, 0, kRacing, kSecond).passes + kPasses * (2 + finalists));
}

TEST(RacePlan, WhatIsHeldOutGoesWithTheWindowsAndBeforeTheCopyTest) {
  const RacePlan whole = whole_plan(12, 4, true, {3, 7, 11});
  size_t held_out = 3;
  for (double budget = remaining_cost(whole, 0, kRacing, kSecond).seconds; budget >= 32; --budget) {
    const auto plan = fitted_plan(whole, 0, kRacing, kSecond, budget);
    ASSERT_TRUE(plan) << budget;
    EXPECT_LE(remaining_cost(*plan, 0, kRacing, kSecond).seconds, budget);
    EXPECT_LE(plan->held_out.size(), held_out);
    held_out = plan->held_out.size();
    if (plan->windows.size() > 1) {
      EXPECT_GE(held_out, 1u) << budget;
    }
    if (plan->copy_windows == 0) {
      EXPECT_EQ(held_out, 0u) << budget;
    }
  }
  EXPECT_EQ(held_out, 0u);
  EXPECT_TRUE(shortest_plan(whole, 2).held_out.empty());
}

TEST(RacePlan, LessTimeTakesWindowsFirstThenCandidatesThenTheCopyTest) {
  const RacePlan whole = whole_plan(8, 4, true);
  const auto fit = [&](double budget) { return fitted_plan(whole, 0, kRacing, kSecond, budget); };
  const double all = remaining_cost(whole, 0, kRacing, kSecond).seconds;
  EXPECT_EQ(*fit(all), whole);

  const auto fewer = fit(all - 1);
  ASSERT_TRUE(fewer);
  EXPECT_EQ(fewer->windows.size(), 7u);
  EXPECT_EQ(fewer->divisor, 2u);

  size_t windows = 8;
  size_t divisor = 2;
  size_t copies = 4;
  for (double budget = all; budget >= 32; --budget) {
    const auto plan = fit(budget);
    ASSERT_TRUE(plan) << budget;
    EXPECT_LE(remaining_cost(*plan, 0, kRacing, kSecond).seconds, budget);
    EXPECT_LE(plan->windows.size(), windows);
    EXPECT_GE(plan->divisor, divisor);
    EXPECT_LE(plan->copy_windows, copies);
    if (plan->divisor > 2) {
      EXPECT_LE(plan->windows.size(), 4u) << "windows go first";
    }
    if (plan->copy_windows == 0) {
      EXPECT_EQ(plan->windows.size(), 1u) << "the copy test goes last";
    }
    windows = plan->windows.size();
    divisor = plan->divisor;
    copies = plan->copy_windows;
  }
  EXPECT_EQ(windows, 1u);
  EXPECT_EQ(copies, 0u);
  EXPECT_FALSE(fit(31)) << "one window each is the least";
}

TEST(RacePlan, FewerWindowsAreSpreadBeforeAnyIsScoredAndTheFirstAfterwards) {
  const RacePlan whole = whole_plan(8, 4, false);
  const auto spread = fitted_plan(whole, 0, {.always = 2}, kSecond, 2 * 4 + 2 * 2 * 2);
  ASSERT_TRUE(spread);
  EXPECT_EQ(spread->windows, (std::vector<size_t>{0, 2, 4, 6}));
  const auto first = fitted_plan(whole, 3, {.always = 2}, kSecond, 2 * 1 + 2 * 2 * 2);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->windows, (std::vector<size_t>{0, 1, 2, 3}));
  EXPECT_EQ(shortest_plan(whole, 3).windows.size(), 3u);
  EXPECT_EQ(shortest_plan(whole, 3).copy_windows, 0u);
}

TEST(RacePlan, SaysWhatItLeftOut) {
  const RacePlan whole = whole_plan(8, 4, true);
  EXPECT_EQ(left_out(whole, whole), "");
  RacePlan plan = whole_plan(3, 1, true);
  plan.divisor = 8;
  EXPECT_EQ(left_out(plan, whole),
            "3 of 8 windows, 1 of 4 in the copy test, one in 8 kept from rung to rung");
  EXPECT_EQ(left_out(whole_plan(6, 4, true), whole_plan(8, 4, true, {3, 7})),
            "6 of 6 windows, 4 of 4 in the copy test, 0 of 2 held out");
}

TEST(RacePlan, ThinsToTheMiddleOfEveryScheme) {
  EXPECT_EQ(middle_of(3, 0), (std::vector<size_t>{0, 1, 2}));
  EXPECT_EQ(middle_of(3, 1), std::vector<size_t>{1});
  EXPECT_EQ(middle_of(4, 2), (std::vector<size_t>{1, 2}));
  EXPECT_EQ(middle_of(5, 2), (std::vector<size_t>{2, 3}));
  EXPECT_EQ(middle_of(1, 2), std::vector<size_t>{0});
  EXPECT_TRUE(middle_of(0, 2).empty());
}

TEST(RacePlan, SaysWhereFewerCandidatesWouldTellMore) {
  const RacePlan whole = whole_plan(8, 4, true);
  RacePlan plan = whole;
  EXPECT_TRUE(tells_enough(plan, whole));
  plan.windows.resize(3);
  EXPECT_FALSE(tells_enough(plan, whole));
  plan = whole;
  plan.divisor = 16;
  EXPECT_FALSE(tells_enough(plan, whole));
  const RacePlan short_text = whole_plan(1, 1, true);
  EXPECT_TRUE(tells_enough(short_text, short_text));
}

}  // namespace
}  // namespace ropewalk
