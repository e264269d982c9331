#include <gtest/gtest.h>

#include <cmath>

#include "ropewalk/base/error.h"
#include "ropewalk/testing/small_model.h"

namespace ropewalk {
namespace {

using small_model::inv_freq_under;
using small_model::under;

TEST(NtkMixed, SlowsTheLastPairByTheFactor) {
  const std::vector<double> inv_freq = inv_freq_under("ntk_mixed,factor=4");
  EXPECT_NEAR(inv_freq[3], 0.001 / 4, 1e-18);
  EXPECT_NEAR(inv_freq[0], std::exp(-std::log(4.0) * std::pow(0.25, 0.75)), 1e-15);
}

TEST(NtkMixed, PowerOneIsAGeometricSlowDown) {
  const std::vector<double> inv_freq = inv_freq_under("ntk_mixed,factor=16,power=1");
  EXPECT_NEAR(inv_freq[0], 0.5, 1e-15);
  EXPECT_NEAR(inv_freq[1], 0.1 / 4, 1e-16);
  EXPECT_NEAR(inv_freq[2], 0.01 / 8, 1e-17);
}

TEST(NtkMixed, RefusesAPowerOfZero) { EXPECT_THROW(under("ntk_mixed,factor=4,power=0"), Error); }

}  // namespace
}  // namespace ropewalk
