#include "ropewalk/math/spectrum_gap.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

namespace ropewalk {
namespace {

Spectrum turning(std::vector<DoubleDouble> turns) {
  return Spectrum{.turns_per_token = std::move(turns)};
}

TEST(SpectrumGap, NamesTheFirstPairAndTheWorst) {
  const SpectrumGap gap =
      spectrum_gap(turning({0.125, 0.0625, 0.01}), turning({0.125, 0.03125, 0.04}));
  EXPECT_EQ(gap.first_pair, 1);
  EXPECT_EQ(gap.worst_pair, 2);
  EXPECT_NEAR(gap.largest_ratio, 4, 1e-14);
  EXPECT_FALSE(gap.same());
}

TEST(SpectrumGap, Float32RoundingIsNoDifferenceButIsMeasured) {
  const double inv_freq = 1 / 3.0;
  const SpectrumGap gap = spectrum_gap(
      turning({inv_freq}), turning({static_cast<double>(static_cast<float>(inv_freq))}));
  EXPECT_TRUE(gap.same());
  EXPECT_GT(gap.largest_ratio, 1);
  EXPECT_FALSE(spectrum_gap(turning({1.0}), turning({1 + 1e-6})).same());
  EXPECT_FALSE(spectrum_gap(turning({1.0}), turning({1 + 1e-12}), 0).same());
}

TEST(SpectrumGap, WhatIsNoNumberDiffers) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const SpectrumGap gap = spectrum_gap(turning({0.1, nan, 0.01}), turning({0.1, 0.1, 0.04}));
  EXPECT_EQ(gap.first_pair, 1);
  EXPECT_EQ(gap.worst_pair, 1);
  EXPECT_TRUE(std::isnan(gap.largest_ratio));
  EXPECT_FALSE(spectrum_gap(turning({nan}), turning({nan})).same());
}

TEST(SpectrumGap, APairThatStandsStillOrIsNotThereDiffers) {
  const SpectrumGap still = spectrum_gap(turning({0.1, 0.01}), turning({0.1, 0.0}));
  EXPECT_EQ(still.first_pair, 1);
  EXPECT_TRUE(std::isinf(still.largest_ratio));
  EXPECT_TRUE(spectrum_gap(turning({0.0}), turning({0.0})).same());
  EXPECT_EQ(spectrum_gap(turning({0.1, 0.01}), turning({0.1})).first_pair, 1);
}

TEST(SpectrumGap, ADecayDiffers) {
  Spectrum fading = turning({0.1, 0.01});
  fading.decay = {0, -1e-3};
  const SpectrumGap gap = spectrum_gap(fading, turning({0.1, 0.01}));
  EXPECT_EQ(gap.first_decay, 1);
  EXPECT_EQ(gap.first_pair, -1);
  EXPECT_FALSE(gap.same());
  Spectrum rounded = fading;
  rounded.decay[1] *= 1 + 1e-8;
  EXPECT_TRUE(spectrum_gap(fading, rounded).same());
  rounded.decay[1] *= 1 + 1e-6;
  EXPECT_FALSE(spectrum_gap(fading, rounded).same());
}

// Against the definition, position by position.
TEST(FirstParting, IsTheSmallestPosition) {
  for (const double bound : {1e-6, 1e-3, 0.5}) {
    for (const double apart : {3e-2, 1e-4, 7.7e-6, 0.49, 0.93}) {
      const int64_t found = first_parting(0.01 + apart, 0.01, bound);
      ASSERT_GE(found, 1);
      const auto distance = [&](int64_t p) {
        return 2 * std::abs(std::sin(std::numbers::pi * apart * static_cast<double>(p)));
      };
      EXPECT_GT(distance(found), bound);
      for (int64_t p = 1; p < found; ++p) ASSERT_LE(distance(p), bound) << apart << " at " << p;
    }
  }
}

TEST(FirstParting, IsNoneWhereNothingParts) {
  EXPECT_EQ(first_parting(0.1, 0.1, 1e-6), 0);
  EXPECT_EQ(first_parting(1.0, 0.0, 1e-6), 0);  // whole turns
  EXPECT_EQ(first_parting(1e-30, 0.0, 1e-6), 0);
}

// RoPE of base 1e4 read with base 1e6, 64 pairs: 0.4446 at distance 64.
TEST(MeanPairCosine, TellsAWrongBase) {
  const Spectrum right = rope_spectrum(1e6, 128, 64);
  const Spectrum wrong = rope_spectrum(1e4, 128, 64);
  EXPECT_NEAR(mean_pair_cosine(right, wrong, 64), 0.4446, 5e-5);
  EXPECT_EQ(mean_pair_cosine(right, right, 1 << 20), 1);
  EXPECT_EQ(mean_pair_cosine(right, wrong, 0), 1);
}

}  // namespace
}  // namespace ropewalk
