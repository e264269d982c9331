#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "ropewalk/testing/small_model.h"

namespace ropewalk {
namespace {

using small_model::under;

// The pair of 0.1 radians a token makes a turn in 62.8 tokens.
TEST(FullTurn, SilencesAPairAfterItsTurn) {
  const Rotary rotary = under("full_turn");
  const Spectrum spectrum = rotary.spectrum.at(1);
  EXPECT_FALSE(pair_angle(rotary, spectrum, spectrum, 1, 62, 0).silent);
  EXPECT_TRUE(pair_angle(rotary, spectrum, spectrum, 1, 63, 0).silent);
  EXPECT_FALSE(pair_angle(rotary, spectrum, spectrum, 2, 63, 0).silent);
}

TEST(FullTurn, FreezesWhereToldTo) {
  const Rotary rotary = under("full_turn,turns=0.25,mode=freeze");
  const Spectrum spectrum = rotary.spectrum.at(1);
  EXPECT_EQ(static_cast<double>(pair_angle(rotary, spectrum, spectrum, 1, 1000, 0).turns), 0.25);
}

TEST(FullTurn, CountsTheTrueDistance) {
  const Rotary rotary = under("cap,window=32+full_turn");
  const Spectrum spectrum = rotary.spectrum.at(1);
  EXPECT_TRUE(pair_angle(rotary, spectrum, spectrum, 1, 63, 0).silent);
}

TEST(FullTurn, RefusesOtherModes) {
  EXPECT_THROW(under("full_turn,mode=soft"), Error);
  EXPECT_THROW(under("full_turn,turns=0"), Error);
}

}  // namespace
}  // namespace ropewalk
