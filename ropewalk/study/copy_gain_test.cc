#include "ropewalk/study/copy_gain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ropewalk {
namespace {

// Every token of it is another.
Window distinct_window(int32_t size) {
  Window window;
  window.ids.resize(static_cast<size_t>(size));
  std::iota(window.ids.begin(), window.ids.end(), 0);
  return window;
}

TEST(CopyTest, RepeatsStandInsideAndBeyond) {
  constexpr int64_t kTrained = 256;
  const Window window = distinct_window(4096);
  const CopyTest test = make_copy_test(window, kTrained);
  EXPECT_EQ(std::count_if(test.repeats.begin(), test.repeats.end(),
                          [](const Repeat& r) { return r.distance < kTrained; }),
            3);
  EXPECT_EQ(std::count_if(test.repeats.begin(), test.repeats.end(),
                          [](const Repeat& r) { return r.distance >= kTrained; }),
            5);
  for (const Repeat& repeat : test.repeats) {
    for (int64_t t = repeat.first; t < repeat.first + repeat.length; ++t) {
      const int32_t id = test.repeated[static_cast<size_t>(t)];
      EXPECT_EQ(id, test.repeated[static_cast<size_t>(t - repeat.distance)]);
      EXPECT_EQ(id, test.control[static_cast<size_t>(t)]);
      // Nowhere else in the control: its reader has never seen the passage.
      EXPECT_EQ(std::count(test.control.begin(), test.control.end(), id), 1)
          << "distance " << repeat.distance;
    }
  }
}

TEST(CopyTest, TheTwoTextsDifferAtTheSourcesOnly) {
  const CopyTest test = make_copy_test(distinct_window(1024), 128);
  ASSERT_FALSE(test.repeats.empty());
  for (int64_t t = 0; t < 1024; ++t) {
    const bool source = std::any_of(test.repeats.begin(), test.repeats.end(), [&](const Repeat& r) {
      return r.first - r.distance <= t && t < r.first - r.distance + r.length;
    });
    EXPECT_EQ(test.repeated[static_cast<size_t>(t)] != test.control[static_cast<size_t>(t)], source)
        << t;
  }
}

TEST(CopyTest, AWindowTooShortGivesNone) {
  EXPECT_TRUE(make_copy_test(distinct_window(100), 512).repeats.empty());
  EXPECT_TRUE(make_copy_test(distinct_window(2), 2).repeats.empty());
}

// A perfect copier loses nothing on a passage that it has read, and ln 100 on all else; a uniform
// model gains nothing.
TEST(CopyGain, KnowsTheCopierAndTheUniformModel) {
  constexpr int64_t kTrained = 256;
  const CopyTest test = make_copy_test(distinct_window(2048), kTrained);
  const double surprise = std::log(100.0);
  const std::vector<double> uniform(2047, surprise);
  std::vector<double> copier = uniform;
  for (const Repeat& repeat : test.repeats) {
    for (int64_t t = repeat.first + 1; t < repeat.first + repeat.length; ++t)
      copier[static_cast<size_t>(t - 1)] = 0;
  }
  const CopyGain gain = copy_gain(test, kTrained, copier, uniform);
  EXPECT_NEAR(gain.inside.sum / static_cast<double>(gain.inside.count), surprise, 1e-12);
  EXPECT_NEAR(gain.beyond.sum / static_cast<double>(gain.beyond.count), surprise, 1e-12);
  const CopyGain none = copy_gain(test, kTrained, uniform, uniform);
  EXPECT_EQ(none.inside.sum, 0);
  EXPECT_EQ(none.beyond.sum, 0);
}

}  // namespace
}  // namespace ropewalk
