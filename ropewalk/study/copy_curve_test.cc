#include "ropewalk/study/copy_curve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ropewalk/study/known_scorers.h"

namespace ropewalk {
namespace {

constexpr int64_t kTrained = 256;
constexpr int64_t kVocabulary = 10000;
constexpr double kCertainty = 0.9;

// Every token of them is another.
std::vector<Window> distinct_windows(int32_t size, size_t count) {
  std::vector<Window> windows(count);
  for (Window& window : windows) {
    window.ids.resize(static_cast<size_t>(size));
    std::iota(window.ids.begin(), window.ids.end(), 0);
  }
  return windows;
}

std::vector<CopyPoint> measured(const Scorer& scorer, CopyAxis axis) {
  return measure_copy_curve(scorer, make_copy_tests(distinct_windows(4096, 2), kTrained, axis),
                            axis);
}

TEST(CopyCurve, APerfectCopierGainsTheSameEverywhere) {
  const double gain = std::log(static_cast<double>(kVocabulary)) + std::log(kCertainty);
  for (const CopyAxis axis : {CopyAxis::kDistance, CopyAxis::kPosition}) {
    const auto points = measured(CopyingScorer(kVocabulary, kCertainty), axis);
    ASSERT_GE(points.size(), 11u);
    for (const CopyPoint& point : points) {
      EXPECT_NEAR(point.gain.mean, gain, 1e-12) << point.at;
      ASSERT_TRUE(point.gain.interval);
      EXPECT_NEAR(point.gain.interval->low, gain, 1e-12);
    }
  }
}

TEST(CopyCurve, AUniformModelGainsNothing) {
  for (const CopyAxis axis : {CopyAxis::kDistance, CopyAxis::kPosition}) {
    for (const CopyPoint& point : measured(UniformScorer(kVocabulary), axis))
      EXPECT_EQ(point.gain.mean, 0) << point.at;
  }
}

// What it sees of the first occurrence is the token that it copies and the one before.
TEST(CopyCurve, AWindowedCopierGainsInsideItsWindowExactly) {
  const auto all = measured(UniformScorer(kVocabulary), CopyAxis::kDistance);
  for (const CopyPoint& edge : all) {
    for (const int64_t window : {edge.at, edge.at + 1}) {
      for (const CopyPoint& point :
           measured(CopyingScorer(kVocabulary, kCertainty, window), CopyAxis::kDistance)) {
        EXPECT_EQ(point.gain.mean > 1, point.at < window) << point.at << " in " << window;
      }
    }
  }
}

TEST(CopyCurve, DistancesLieInsideAndBeyondTheTrainedLength) {
  std::vector<int64_t> distances;
  for (const CopyPoint& point : measured(UniformScorer(kVocabulary), CopyAxis::kDistance))
    distances.push_back(point.at);
  const auto has = [&](int64_t d) { return std::ranges::count(distances, d) == 1; };
  for (const int64_t d : {32, 64, 128, 192, 320, 384, 512, 768, 1024, 1536, 2048, 3072})
    EXPECT_TRUE(has(d)) << d;
  EXPECT_GT(distances.back(), 3700);
}

TEST(CopyCurve, PositionsShareOneDistance) {
  const auto tests = make_copy_tests(distinct_windows(4096, 1), kTrained, CopyAxis::kPosition);
  ASSERT_EQ(tests.size(), 1u);
  EXPECT_EQ(tests[0].repeats.size(), 12u);
  for (const Repeat& repeat : tests[0].repeats) {
    EXPECT_EQ(repeat.distance, kTrained / 4);
    for (int64_t t = repeat.first; t < repeat.first + repeat.length; ++t) {
      const int32_t id = tests[0].repeated[static_cast<size_t>(t)];
      EXPECT_EQ(id, tests[0].repeated[static_cast<size_t>(t - repeat.distance)]);
      EXPECT_EQ(std::ranges::count(tests[0].control, id), 1);
    }
  }
  EXPECT_EQ(tests[0].repeats.back().first + tests[0].repeats.back().length, 4096);
}

TEST(CopyCurve, AWindowWithoutRoomGivesNone) {
  for (const CopyAxis axis : {CopyAxis::kDistance, CopyAxis::kPosition})
    EXPECT_TRUE(make_copy_tests(distinct_windows(60, 1), kTrained, axis).empty());
}

}  // namespace
}  // namespace ropewalk
