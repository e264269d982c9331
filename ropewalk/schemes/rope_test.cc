#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ropewalk/testing/small_model.h"

namespace ropewalk {
namespace {

using small_model::declared;
using small_model::inv_freq_under;
using small_model::under;
using ::testing::DoubleNear;
using ::testing::ElementsAre;

TEST(Rope, TurnsByPowersOfTheBase) {
  EXPECT_THAT(inv_freq_under("rope"),
              ElementsAre(DoubleNear(1, 1e-15), DoubleNear(0.1, 1e-15), DoubleNear(0.01, 1e-15),
                          DoubleNear(0.001, 1e-15)));
}

TEST(Rope, TakesADeclaredScalingAway) {
  const Rotary scaled = under("yarn,factor=8");
  const Spectrum spectrum = apply_scheme("rope", scaled).spectrum.at(1);
  EXPECT_EQ(spectrum.inv_freq(), inv_freq_under("declared"));
  EXPECT_EQ(spectrum.amplitude, 1);
  EXPECT_EQ(spectrum.base, 10000);
}

// Proportional RoPE: the last pairs of the head do not turn, under no base.
TEST(Rope, LeavesUnturnedPairsUnturned) {
  Spectrum spectrum = declared().spectrum.at(1);
  spectrum.turns_per_token[3] = 0;
  Rotary proportional = declared();
  proportional.spectrum = SpectrumRule(spectrum);
  EXPECT_EQ(apply_scheme("base,factor=4", proportional).spectrum.at(1).inv_freq()[3], 0);
}

}  // namespace
}  // namespace ropewalk
