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

TEST(Base, MultipliesTheBase) {
  EXPECT_THAT(inv_freq_under("base,factor=16"),
              ElementsAre(DoubleNear(1, 1e-15), DoubleNear(0.05, 1e-15), DoubleNear(0.0025, 1e-15),
                          DoubleNear(0.000125, 1e-15)));
  EXPECT_EQ(under("base,factor=16").spectrum.at(1).base, 160000);
}

TEST(Base, KeepsTheBaseAtLeastOne) {
  EXPECT_NO_THROW(under("base,factor=0.001"));
  EXPECT_THROW(under("base,factor=0.00001"), Error);
}

}  // namespace
}  // namespace ropewalk
