#include "ropewalk/study/scheme_change.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ropewalk {
namespace {

SchemeFacts facts_of(const std::string& scheme, const std::vector<std::optional<double>>& effective,
                     const std::vector<double>& inv_freq) {
  return {.scheme = scheme, .distances = {1, 10, 99}, .effective = effective, .inv_freq = inv_freq};
}

const SchemeFacts kDeclared = facts_of("declared", {1.0, 10.0, 99.0}, {1.0, 0.1});

TEST(SchemeChange, CountsAnglesOverPairsAndDistances) {
  EXPECT_EQ(scheme_change(kDeclared, kDeclared), SchemeChange{});
  const SchemeChange slower =
      scheme_change(facts_of("linear,factor=2", {1.0, 10.0, 99.0}, {0.5, 0.05}), kDeclared);
  EXPECT_EQ(slower.parts, 1u);
  EXPECT_DOUBLE_EQ(slower.angle, std::log(2.0));
  const SchemeChange capped =
      scheme_change(facts_of("cap,window=10", {1.0, 10.0, 10.0}, {1.0, 0.1}), kDeclared);
  EXPECT_NEAR(capped.angle, std::log(9.9) / 3, 1e-12);
  const SchemeChange one_pair =
      scheme_change(facts_of("cap,window=10,pairs=1:1", {1.0, 10.0, 10.0}, {1.0, 0.1}), kDeclared);
  EXPECT_NEAR(one_pair.angle, capped.angle / 2, 1e-12);
}

TEST(SchemeChange, WhatIsNotSeenOrStandsStillCountsAsTheLength) {
  const SchemeChange unseen =
      scheme_change(facts_of("window,size=50", {1.0, 10.0, std::nullopt}, {1.0, 0.1}), kDeclared);
  EXPECT_NEAR(unseen.angle, std::log(100.0) / 3, 1e-12);
  const SchemeChange still =
      scheme_change(facts_of("proportional,rotating=1", {1.0, 10.0, 99.0}, {1.0, 0}), kDeclared);
  EXPECT_NEAR(still.angle, std::log(100.0) / 2, 1e-12);
}

TEST(SchemeChange, OrdersByPartsFirst) {
  EXPECT_LT((SchemeChange{.parts = 1, .angle = 2}), (SchemeChange{.parts = 2, .angle = 1}));
  EXPECT_LT((SchemeChange{.parts = 1, .angle = 1}), (SchemeChange{.parts = 1, .angle = 2}));
}

TEST(GridLines, HoldThoseThatDifferInOneNumber) {
  const std::vector<std::string> all = {"declared",
                                        "cap,window=64",
                                        "cap,window=128",
                                        "cap,window=32",
                                        "cap,window=128+logn",
                                        "yarn,factor=4",
                                        "leaky,window=64,step=2",
                                        "cap,window=64,pairs=1:2"};
  const std::vector<GridLine> lines = grid_lines("cap,window=64", all);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].parameter, "window");
  ASSERT_EQ(lines[0].settings.size(), 3u);
  EXPECT_EQ(lines[0].settings.front().scheme, "cap,window=32");
  EXPECT_EQ(lines[0].at, 1u);
  EXPECT_FALSE(lines[0].is_edge());
  EXPECT_TRUE(grid_lines("cap,window=128", all)[0].is_edge());
  EXPECT_TRUE(grid_lines("yarn,factor=4", all).empty()) << "nothing else was tried";
  EXPECT_TRUE(grid_lines("declared", all).empty());
}

}  // namespace
}  // namespace ropewalk
