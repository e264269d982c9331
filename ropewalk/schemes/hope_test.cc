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

// Over 512 tokens the pairs make 81, 8.1, 0.81 and 0.081 turns.
TEST(Hope, StopsThePairsThatDoNotFinishATurn) {
  EXPECT_THAT(inv_freq_under("hope"), ElementsAre(1, DoubleNear(0.1, 1e-16), 0, 0));
  EXPECT_THAT(inv_freq_under("hope,turns=10"), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(inv_freq_under("hope,turns=0.5"),
              ElementsAre(1, DoubleNear(0.1, 1e-16), DoubleNear(0.01, 1e-17), 0));
  EXPECT_EQ(inv_freq_under("hope,turns=0"), inv_freq_under("rope"));
}

TEST(Hope, CountsTurnsOverTheOriginalLength) {
  EXPECT_THAT(inv_freq_under("hope,original=629"),
              ElementsAre(1, DoubleNear(0.1, 1e-16), DoubleNear(0.01, 1e-17), 0));
  EXPECT_THAT(inv_freq_under("hope,original=628"), ElementsAre(1, DoubleNear(0.1, 1e-16), 0, 0));
}

TEST(Hope, NeedsALength) {
  const Rotary untold =
      plain_rotary({.base = 10000.0, .frequency_dim = 8}, {PairOrder::kHalf, 8, 8});
  EXPECT_THROW(apply_scheme("hope", untold), Error);
}

}  // namespace
}  // namespace ropewalk
