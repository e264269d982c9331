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

TEST(Proportional, TurnsTheFirstPairsWithExponentsOverTheWholeHead) {
  EXPECT_THAT(inv_freq_under("proportional,rotating=2"),
              ElementsAre(1, DoubleNear(0.1, 1e-16), 0, 0));
  EXPECT_THAT(inv_freq_under("proportional,rotating=2,factor=4"),
              ElementsAre(0.25, DoubleNear(0.025, 1e-17), 0, 0));
  EXPECT_EQ(inv_freq_under("proportional,rotating=4"), inv_freq_under("rope"));
  EXPECT_THAT(inv_freq_under("proportional,rotating=0"), ElementsAre(0, 0, 0, 0));
}

TEST(Proportional, PairsThatStandStillStaySoUnderAnotherScheme) {
  const Rotary declared = under("proportional,rotating=2");
  EXPECT_THAT(apply_scheme("linear,factor=2", declared).spectrum.at(1).inv_freq(),
              ElementsAre(0.5, DoubleNear(0.05, 1e-16), 0, 0));
}

TEST(Proportional, RefusesMorePairsThanThereAre) {
  EXPECT_THROW(under("proportional,rotating=5"), Error);
  EXPECT_THROW(under("proportional,rotating=-1"), Error);
}

}  // namespace
}  // namespace ropewalk
