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

TEST(Linear, SlowsEveryPair) {
  EXPECT_THAT(inv_freq_under("linear,factor=4"),
              ElementsAre(DoubleNear(0.25, 1e-15), DoubleNear(0.025, 1e-15),
                          DoubleNear(0.0025, 1e-15), DoubleNear(0.00025, 1e-15)));
}

TEST(Linear, IsNeverStacked) {
  EXPECT_EQ(apply_scheme("linear,factor=4", under("linear,factor=2")).spectrum.at(1).inv_freq(),
            inv_freq_under("linear,factor=4"));
}

TEST(Linear, RefusesToSpeedUp) { EXPECT_THROW(under("linear,factor=0.5"), Error); }

}  // namespace
}  // namespace ropewalk
