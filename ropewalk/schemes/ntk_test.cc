#include <gtest/gtest.h>

#include <cmath>

#include "ropewalk/base/error.h"
#include "ropewalk/testing/small_model.h"

namespace ropewalk {
namespace {

using small_model::inv_freq_under;
using small_model::under;

// 4^(8/6) = 6.3496...: the slowest of four pairs turns exactly four times slower, the fastest as
// before.
TEST(Ntk, SlowsTheSlowestPairByTheFactor) {
  const std::vector<double> inv_freq = inv_freq_under("ntk,factor=4");
  EXPECT_EQ(inv_freq[0], 1);
  EXPECT_NEAR(inv_freq[1], 0.1 / std::pow(4.0, 1.0 / 3), 1e-16);
  EXPECT_NEAR(inv_freq[3], 0.001 / 4, 1e-18);
  EXPECT_NEAR(under("ntk,factor=4").spectrum.at(1).base, 63496.042078727974, 1e-10);
}

TEST(Ntk, NeedsMoreThanOnePair) {
  const Rotary one_pair = plain_rotary({.base = 10000.0, .frequency_dim = 2, .trained_length = 512},
                                       {PairOrder::kHalf, 2, 2});
  EXPECT_THROW(apply_scheme("ntk,factor=4", one_pair), Error);
}

}  // namespace
}  // namespace ropewalk
