#include <gtest/gtest.h>

#include <cmath>

#include "ropewalk/base/error.h"
#include "ropewalk/testing/small_model.h"

namespace ropewalk {
namespace {

using small_model::inv_freq_under;
using small_model::under;

// Over 512 tokens the pairs of 16, 2, 1.25 and 0.75 turns have the indices 0.71, 1.61, 1.81 and
// 2.04: the ramps run from 0 to 2 and from 1 to 3.
TEST(PartNtk, RampsToTheBaseOfNtkAndThenToTheSlowedPair) {
  const std::vector<double> inv_freq = inv_freq_under("part_ntk,factor=4");
  const double slower = std::pow(4.0, 1.0 / 3);  // what the base of ntk does from pair to pair
  EXPECT_EQ(inv_freq[0], 1);
  EXPECT_NEAR(inv_freq[1], 0.1 * (1 + 1 / slower) / 2, 1e-16);
  EXPECT_NEAR(inv_freq[2], 0.01 * (1.0 / 4 + 1 / (slower * slower)) / 2, 1e-17);
  EXPECT_NEAR(inv_freq[3], 0.001 / 4, 1e-18);
}

TEST(PartNtk, RampsGoByTheOriginalLength) {
  EXPECT_EQ(inv_freq_under("part_ntk,factor=4,original=512"), inv_freq_under("part_ntk,factor=4"));
  EXPECT_NE(inv_freq_under("part_ntk,factor=4,original=64"), inv_freq_under("part_ntk,factor=4"));
}

TEST(PartNtk, FactorOneChangesNothing) {
  const std::vector<double> inv_freq = inv_freq_under("part_ntk,factor=1");
  for (size_t pair = 0; pair < 4; ++pair) {
    EXPECT_NEAR(inv_freq[pair], std::pow(10.0, -static_cast<double>(pair)), 1e-16);
  }
}

TEST(PartNtk, RefusesAFactorBelowOne) { EXPECT_THROW(under("part_ntk,factor=0.5"), Error); }

}  // namespace
}  // namespace ropewalk
