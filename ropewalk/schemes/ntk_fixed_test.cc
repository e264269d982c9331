#include <gtest/gtest.h>

#include <cmath>

#include "ropewalk/testing/small_model.h"

namespace ropewalk {
namespace {

using small_model::inv_freq_under;

// Base 160000 of eight coordinates: a pair turns 20 times slower than the one before it.
TEST(NtkFixed, SlowsEveryPairAndTheLastByTheFactor) {
  const std::vector<double> inv_freq = inv_freq_under("ntk_fixed,factor=16");
  EXPECT_NEAR(inv_freq[0], 0.5, 1e-15);
  EXPECT_NEAR(inv_freq[1], 0.5 / 20, 1e-16);
  EXPECT_NEAR(inv_freq[2], 0.5 / 400, 1e-17);
  EXPECT_NEAR(inv_freq[3], 0.001 / 16, 1e-18);
}

TEST(NtkFixed, IsNotTheSchemeThatOnlyChangesTheBase) {
  const std::vector<double> fixed = inv_freq_under("ntk_fixed,factor=16");
  const std::vector<double> base_only = inv_freq_under("ntk,factor=16");
  for (size_t pair = 0; pair < 3; ++pair) EXPECT_LT(fixed[pair], base_only[pair]);
  EXPECT_NEAR(fixed[3], base_only[3], 1e-18);
}

}  // namespace
}  // namespace ropewalk
