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

TEST(LongRope, PicksItsListByTheLength) {
  const std::string text = "longrope,long=1:2:4:8,short=1:1:1:2,amplitude=1.5";
  EXPECT_THAT(inv_freq_under(text, 512),
              ElementsAre(DoubleNear(1, 1e-15), DoubleNear(0.1, 1e-15), DoubleNear(0.01, 1e-15),
                          DoubleNear(0.0005, 1e-15)));
  EXPECT_THAT(inv_freq_under(text, 513),
              ElementsAre(DoubleNear(1, 1e-15), DoubleNear(0.05, 1e-15), DoubleNear(0.0025, 1e-15),
                          DoubleNear(0.000125, 1e-15)));
  EXPECT_EQ(under(text).spectrum.at(1).amplitude, 1.5);
  EXPECT_EQ(under(text).spectrum.at(513).amplitude, 1.5);
}

TEST(LongRope, RefusesListsOfAnotherSize) {
  EXPECT_THROW(under("longrope,long=1:2:4,short=1:1:1:2"), Error);
  EXPECT_THROW(under("longrope,long=1:2:4:8:16,short=1:1:1:2"), Error);
  EXPECT_THROW(under("longrope,long=1:2:4:0,short=1:1:1:2"), Error);
  EXPECT_THROW(under("longrope,long=0.1:2:4:8,short=1:1:1:2"), Error);
  EXPECT_THROW(under("longrope,long=1:2:4:8"), Error);
}

}  // namespace
}  // namespace ropewalk
