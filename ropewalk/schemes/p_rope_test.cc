#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "ropewalk/testing/small_model.h"

namespace ropewalk {
namespace {

using small_model::inv_freq_under;
using small_model::under;
using ::testing::DoubleNear;
using ::testing::ElementsAre;

TEST(PRope, KeepsTheFastestPairs) {
  EXPECT_THAT(inv_freq_under("p_rope,keep=0.75"),
              ElementsAre(1, DoubleNear(0.1, 1e-16), DoubleNear(0.01, 1e-17), 0));
  EXPECT_THAT(inv_freq_under("p_rope,keep=0.25"), ElementsAre(1, 0, 0, 0));
}

TEST(PRope, RoundsTheNumberOfPairsDown) {
  EXPECT_EQ(inv_freq_under("p_rope,keep=0.99"), inv_freq_under("p_rope,keep=0.75"));
}

// 0.7 is a double a little below, whose product with 20 is 14 all the same.
TEST(PRope, TakesTheShareAsTheDoubleProductGivesIt) {
  const Rotary ten_pairs =
      plain_rotary({.base = 10000.0, .frequency_dim = 20}, {PairOrder::kHalf, 20, 20});
  const Spectrum spectrum = apply_scheme("p_rope,keep=0.7", ten_pairs).spectrum.at(1);
  EXPECT_NE(spectrum.turns_per_token[6], 0);
  EXPECT_EQ(spectrum.turns_per_token[7], 0);
}

TEST(PRope, EndsAreRopeAndNoPositionsAtAll) {
  EXPECT_EQ(inv_freq_under("p_rope,keep=1"), inv_freq_under("rope"));
  EXPECT_THAT(inv_freq_under("p_rope,keep=0"), ElementsAre(0, 0, 0, 0));
}

TEST(PRope, RefusesWhatIsNoShare) {
  EXPECT_THROW(under("p_rope,keep=1.5"), Error);
  EXPECT_THROW(under("p_rope,keep=-0.5"), Error);
}

}  // namespace
}  // namespace ropewalk
