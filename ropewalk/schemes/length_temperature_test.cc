#include <gtest/gtest.h>

#include <cmath>

#include "ropewalk/base/error.h"
#include "ropewalk/testing/small_model.h"

namespace ropewalk {
namespace {

using small_model::under;

double multiplier_under(const std::string& scheme, int64_t n) {
  return under(scheme).spectrum.at(n).logit_multiplier;
}

TEST(LengthTemperature, GrowsWithTheLogarithmOfTheStretch) {
  for (int64_t n : {1, 512}) EXPECT_EQ(multiplier_under("length_temperature", n), 1) << n;
  EXPECT_NEAR(multiplier_under("length_temperature", 2048), 1 + 0.1 * std::log(4), 1e-15);
  EXPECT_NEAR(multiplier_under("length_temperature,original=64", 512), 1 + 0.1 * std::log(8),
              1e-15);
}

TEST(LengthTemperature, EveryRowSeesTheWholeSequence) {
  EXPECT_EQ(under("length_temperature").spectrum.length_for_row(0, 2048), 2048);
}

TEST(LengthTemperature, LeavesFrequenciesAndTheSpectrumsOwnMultiplier) {
  const std::string yarn = "yarn,factor=4,mscale=1,mscale_all_dim=1,mscale_logits=true";
  const Spectrum own = under(yarn).spectrum.at(2048);
  const Spectrum both = under(yarn + "+length_temperature").spectrum.at(2048);
  EXPECT_EQ(both.inv_freq(), own.inv_freq());
  EXPECT_EQ(both.amplitude, own.amplitude);
  EXPECT_NEAR(both.logit_multiplier, own.logit_multiplier * (1 + 0.1 * std::log(4)), 1e-15);
}

TEST(LengthTemperature, IsNotStackedOnItself) {
  const Rotary declared = under("length_temperature");
  EXPECT_EQ(apply_scheme("length_temperature", declared).spectrum.at(4096).logit_multiplier,
            multiplier_under("length_temperature", 4096));
}

TEST(LengthTemperature, GoesByTheBlocksOfASpectrumThatDoes) {
  const SpectrumRule rule = under("dynamic_ntk+length_temperature").spectrum;
  EXPECT_EQ(rule.length_for_row(0, 2048), 64);
  EXPECT_EQ(rule.at(64).logit_multiplier, 1);
  EXPECT_EQ(rule.at(2048).inv_freq(), under("dynamic_ntk").spectrum.at(2048).inv_freq());
}

TEST(LengthTemperature, NeedsALength) {
  const Rotary untold =
      plain_rotary({.base = 10000.0, .frequency_dim = 8}, {PairOrder::kHalf, 8, 8});
  EXPECT_THROW(apply_scheme("length_temperature", untold), Error);
  EXPECT_NO_THROW(apply_scheme("length_temperature,original=64", untold));
}

}  // namespace
}  // namespace ropewalk
