#include "ropewalk/study/curve_shape.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace ropewalk {
namespace {

constexpr int64_t kTrained = 512;
constexpr int64_t kTarget = 4096;

// A loss of 3 plus `more` by position, with texts of a run's size that are harder and easier by
// turns, the same for every setting.
std::vector<Tally> curve(const std::function<double(int64_t)>& more) {
  std::vector<Tally> runs(run_of(kTarget - 1, kTrained) + 1);
  for (int64_t t = 0; t < kTarget; ++t) {
    const double text = 0.1 * std::sin(static_cast<double>(t / 64));
    runs[run_of(t, kTrained)].add(3 + text + more(t));
  }
  return runs;
}

// As models do to which nothing was done: from 0 to 5 within an eighth of L.
double cliff(int64_t t) { return 5 * std::clamp(static_cast<double>(t - kTrained) / 64, 0.0, 1.0); }

// 5 nats between two positions.
std::function<double(int64_t)> ramp(int64_t from, int64_t to) {
  return [from, to](int64_t t) {
    return 5 * std::clamp(static_cast<double>(t - from) / static_cast<double>(to - from), 0.0, 1.0);
  };
}

CurveShape shape_of(const std::function<double(int64_t)>& more,
                    const std::function<double(int64_t)>& declared = cliff) {
  return *curve_shape(curve(more), curve(declared), kTrained);
}

TEST(RunOf, CutsAtTheTrainedLength) {
  for (const int64_t trained : {1, 3, 8, 100, 512, 2048}) {
    EXPECT_LT(run_of(trained - 1, trained), size_t{kRunsToL});
    EXPECT_EQ(run_of(trained, trained), size_t{kRunsToL});
  }
  EXPECT_EQ(run_of(1000, 0), 0u);
}

TEST(CurveShape, HardTextIsNoRise) {
  const CurveShape holds = shape_of([](int64_t) { return 0.0; });
  EXPECT_EQ(holds.past, PastLength::kHolds);
  EXPECT_FALSE(holds.is_doubtful());
  EXPECT_EQ(remark(holds), "");
  const CurveShape peak = shape_of([](int64_t t) { return t / 64 == 20 ? 2.0 : 0.0; });
  EXPECT_EQ(peak.past, PastLength::kHolds) << "one run of hard text";
}

TEST(CurveShape, WhatIsWorseThroughoutHasNoRise) {
  const auto declared = [](int64_t) { return 0.0; };
  const CurveShape taxed = shape_of([](int64_t) { return 1.0; }, declared);
  EXPECT_EQ(taxed.past, PastLength::kHolds);
  EXPECT_NEAR(*taxed.over_declared, 1, 1e-9);
  EXPECT_NE(remark(taxed).find("without a rise"), std::string::npos);
}

TEST(CurveShape, TheOneOfDeclaredIsItsOwn) {
  const std::optional<CurveShape> declared = curve_shape(curve(cliff), {}, kTrained);
  ASSERT_TRUE(declared);
  EXPECT_EQ(declared->past, PastLength::kCliff);
  EXPECT_FALSE(declared->is_doubtful());
}

TEST(CurveShape, NeedsLossesOnBothSides) {
  const std::vector<Tally> runs = curve(cliff);
  const auto inside = std::span(runs).first(kRunsToL);
  EXPECT_FALSE(curve_shape(inside, inside, kTrained));
  EXPECT_FALSE(curve_shape(runs, inside, kTrained)) << "not over the same tokens";
  EXPECT_FALSE(curve_shape({}, {}, kTrained));
  const std::vector<Tally> broken = curve([](int64_t t) { return t > 600 ? std::nan("") : 0; });
  EXPECT_FALSE(curve_shape(broken, runs, kTrained));
}

// ---- public reports, by the codes of the collection that this project was given

// NTK with alpha 4 on a model of 4096 tokens was trash at 4714.
TEST(Reports, EXT_09_ASettingUnderWhichTheModelFailsRisesPastSomeLength) {
  const CurveShape late = shape_of(ramp(590, 2600));
  EXPECT_EQ(late.past, PastLength::kRises);
  EXPECT_GE(late.from, 590);
  EXPECT_LE(late.from, 590 + 2 * 2010 / 5) << "0.3 nats, found by runs of 64";
  EXPECT_NEAR(late.rise, 5, 0.2);
  EXPECT_FALSE(late.is_doubtful()) << "it is better than declared for a while";

  const CurveShape worse = shape_of(ramp(590, 2600), ramp(3000, 4000));
  EXPECT_EQ(worse.past, PastLength::kRises);
  EXPECT_TRUE(worse.is_doubtful());
  EXPECT_NE(remark(worse).find("applied, and the model fails: +"), std::string::npos);
}

TEST(Reports, EXT_09_ASettingThatIsNotAppliedHasTheCliffOfDeclared) {
  const CurveShape idle = shape_of(cliff);
  EXPECT_EQ(idle.past, PastLength::kAsDeclared);
  EXPECT_EQ(shape_of(ramp(600, 3000), ramp(600, 3000)).past, PastLength::kAsDeclared)
      << "where declared rises without a cliff, its losses tell";
  EXPECT_NE(remark(idle).find("not applied, or without effect"), std::string::npos);

  // As another engine would compute it, or with another temperature.
  const CurveShape near = shape_of([](int64_t t) { return 0.95 * cliff(t); });
  EXPECT_EQ(near.past, PastLength::kCliff);
  EXPECT_TRUE(near.is_doubtful()) << "though it scores better than declared";
  EXPECT_NE(remark(near).find("at the trained length, as declared has"), std::string::npos);

  const CurveShape half = shape_of([](int64_t t) { return 0.5 * cliff(t); });
  EXPECT_EQ(half.past, PastLength::kCliff);
  EXPECT_FALSE(half.is_doubtful()) << "it acts, and helps";

  const CurveShape own = shape_of(cliff, [](int64_t) { return 0.0; });
  EXPECT_EQ(own.past, PastLength::kCliff);
  EXPECT_FALSE(own.as_declared) << "declared has none";
  EXPECT_TRUE(own.is_doubtful());
}

}  // namespace
}  // namespace ropewalk
