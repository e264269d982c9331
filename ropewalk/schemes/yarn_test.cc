#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ropewalk/base/error.h"
#include "ropewalk/testing/small_model.h"

namespace ropewalk {
namespace {

using small_model::inv_freq_under;
using small_model::under;
using ::testing::DoubleNear;
using ::testing::ElementsAre;

// The ramp runs from index 0 to 2: the pair of index 1 is half way.
TEST(Yarn, RampsInIndexByDefault) {
  EXPECT_THAT(inv_freq_under("yarn,factor=8"),
              ElementsAre(DoubleNear(1, 1e-15), DoubleNear(0.1 * (1 + 1.0 / 8) / 2, 1e-15),
                          DoubleNear(0.01 / 8, 1e-15), DoubleNear(0.001 / 8, 1e-15)));
}

TEST(Yarn, RampsInTurnsAsThePaperDoes) {
  EXPECT_EQ(inv_freq_under("yarn,factor=8,ramp=turns"), inv_freq_under("ntk_by_parts,factor=8"));
  EXPECT_EQ(inv_freq_under("yarn,factor=8,ramp=turns,beta_slow=2,beta_fast=16"),
            inv_freq_under("ntk_by_parts,factor=8,alpha=2,beta=16"));
}

TEST(Yarn, TruncatesTheRampsEndsUnlessToldNot) {
  EXPECT_NE(inv_freq_under("yarn,factor=8,truncate=false"), inv_freq_under("yarn,factor=8"));
}

TEST(Yarn, AmplitudeGrowsWithTheFactor) {
  const auto amplitude = [](const std::string& text) {
    return under(text).spectrum.at(1).amplitude;
  };
  const double of_8 = 0.1 * std::log(8.0) + 1;
  EXPECT_NEAR(amplitude("yarn,factor=8"), of_8, 1e-15);
  EXPECT_EQ(amplitude("yarn,factor=1"), 1);
  EXPECT_EQ(amplitude("yarn,factor=8,attention_factor=1.25"), 1.25);
  EXPECT_EQ(amplitude("yarn,factor=8,mscale=1,mscale_all_dim=1"), 1);
  EXPECT_NEAR(amplitude("yarn,factor=8,mscale=0.5,mscale_all_dim=1"),
              (0.05 * std::log(8.0) + 1) / of_8, 1e-15);
  EXPECT_NEAR(amplitude("yarn,factor=8,mscale=0.5"), of_8, 1e-15);
}

// DeepSeek-V3: factor 40, both scales 1.
TEST(Yarn, MultipliesEveryLogitWhereToldTo) {
  const Spectrum told =
      under("yarn,factor=40,mscale=1,mscale_all_dim=1,mscale_logits=true").spectrum.at(1);
  EXPECT_EQ(told.amplitude, 1);
  EXPECT_NEAR(told.logit_multiplier, std::pow(0.1 * std::log(40.0) + 1, 2), 1e-15);
  const auto multiplier = [](const std::string& text) {
    return under(text).spectrum.at(1).logit_multiplier;
  };
  EXPECT_EQ(multiplier("yarn,factor=40,mscale=1,mscale_all_dim=1"), 1);
  EXPECT_EQ(multiplier("yarn,factor=40,mscale_logits=true"), 1);
  EXPECT_NEAR(multiplier("yarn,factor=40,mscale_all_dim=0.707,mscale_logits=true"),
              std::pow(0.0707 * std::log(40.0) + 1, 2), 1e-15);
}

TEST(Yarn, CoefficientIsTheDecimalThatIsWritten) {
  const auto amplitude = [](const std::string& text) {
    return under(text).spectrum.at(1).amplitude;
  };
  EXPECT_EQ(amplitude("yarn,factor=8,coefficient=0.1"), amplitude("yarn,factor=8"));
  EXPECT_NEAR(amplitude("yarn,factor=8,coefficient=0.07"), 0.07 * std::log(8.0) + 1, 1e-15);
  EXPECT_EQ(amplitude("yarn,factor=8,coefficient=0"), 1);
  EXPECT_NEAR(amplitude("yarn,factor=8,coefficient=0.07,mscale=2,mscale_all_dim=1"),
              (0.14 * std::log(8.0) + 1) / (0.07 * std::log(8.0) + 1), 1e-15);
}

TEST(Yarn, RefusesEndsThatCross) {
  EXPECT_THROW(under("yarn,factor=8,beta_fast=1,beta_slow=2"), Error);
  EXPECT_NO_THROW(under("yarn,factor=8,beta_fast=1,beta_slow=1"));
}

TEST(Yarn, ParametersWithoutMeasureAreRefused) {
  for (const char* part : {"beta_fast=1e308", "beta_slow=1e7,beta_fast=1e8", "mscale=1e308",
                           "mscale_all_dim=1e7", "attention_factor=1e300"}) {
    EXPECT_THROW(under(std::string("yarn,factor=8,") + part), Error) << part;
  }
  EXPECT_NO_THROW(under("yarn,factor=8,beta_fast=1e6"));
}

}  // namespace
}  // namespace ropewalk
