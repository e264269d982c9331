#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "ropewalk/base/error.h"
#include "ropewalk/testing/small_model.h"

namespace ropewalk {
namespace {

using small_model::inv_freq_under;
using small_model::under;
using ::testing::DoubleNear;
using ::testing::ElementsAre;

// Of three pairs the weights are 1, 1/2 and 0.
TEST(CopeClip, TapersTheSlowestPairsAlongACosine) {
  EXPECT_THAT(inv_freq_under("cope_clip,count=3"),
              ElementsAre(1, DoubleNear(0.1, 1e-16), DoubleNear(0.005, 1e-17), 0));
  EXPECT_THAT(inv_freq_under("cope_clip,count=2"),
              ElementsAre(1, DoubleNear(0.1, 1e-16), DoubleNear(0.01, 1e-17), 0));
}

TEST(CopeClip, HardModeStopsThem) {
  EXPECT_THAT(inv_freq_under("cope_clip,count=2,mode=hard"),
              ElementsAre(1, DoubleNear(0.1, 1e-16), 0, 0));
  EXPECT_THAT(inv_freq_under("cope_clip,mode=hard"), ElementsAre(0, 0, 0, 0));
}

TEST(CopeClip, OnePairAloneIsTheBeginningOfTheWave) {
  EXPECT_EQ(inv_freq_under("cope_clip,count=1"), inv_freq_under("rope"));
}

TEST(CopeClip, TakesAllPairsWhereThereAreFewer) {
  EXPECT_EQ(inv_freq_under("cope_clip"), inv_freq_under("cope_clip,count=4"));
}

TEST(CopeClip, WeightsOfTwentyPairs) {
  const Rotary declared =
      plain_rotary({.base = 500000.0, .frequency_dim = 128}, {PairOrder::kHalf, 128, 128});
  const std::vector<double> plain = declared.spectrum.at(1).inv_freq();
  const std::vector<double> got = apply_scheme("cope_clip", declared).spectrum.at(1).inv_freq();
  for (size_t pair = 0; pair < 64; ++pair) {
    const double k = pair < 44 ? 0 : static_cast<double>(pair) - 44;
    const double half = std::cos(std::numbers::pi * k / 38);
    EXPECT_NEAR(got[pair] / plain[pair], half * half, 1e-15) << pair;
  }
  EXPECT_EQ(got[63], 0);
}

TEST(CopeClip, RefusesNoPairs) { EXPECT_THROW(under("cope_clip,count=0"), Error); }

}  // namespace
}  // namespace ropewalk
