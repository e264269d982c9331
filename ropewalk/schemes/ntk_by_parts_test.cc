#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "ropewalk/base/error.h"
#include "ropewalk/testing/small_model.h"

namespace ropewalk {
namespace {

using small_model::inv_freq_under;
using small_model::under;

// 512 tokens are 81.5, 8.15, 0.815 and 0.0815 turns: the first pair stays, the last two slow down.
TEST(NtkByParts, RampsInTurns) {
  const std::vector<double> inv_freq = inv_freq_under("ntk_by_parts,factor=8");
  const double turns = 512 * 0.1 / (2 * std::numbers::pi);
  const double keep = (turns - 1) / 31;
  EXPECT_EQ(inv_freq[0], 1);
  EXPECT_NEAR(inv_freq[1], 0.1 * ((1 - keep) / 8 + keep), 1e-16);
  EXPECT_NEAR(inv_freq[2], 0.01 / 8, 1e-17);
  EXPECT_NEAR(inv_freq[3], 0.001 / 8, 1e-18);
  EXPECT_EQ(under("ntk_by_parts,factor=8").spectrum.at(1).amplitude, 1);
}

TEST(NtkByParts, EqualEndsMakeAStep) {
  const std::vector<double> inv_freq = inv_freq_under("ntk_by_parts,factor=8,alpha=8,beta=8");
  EXPECT_NEAR(inv_freq[1], 0.1, 1e-16);
  EXPECT_NEAR(inv_freq[2], 0.01 / 8, 1e-17);
}

TEST(NtkByParts, CountsTurnsOverTheOriginalLength) {
  EXPECT_EQ(inv_freq_under("ntk_by_parts,factor=8,original=512"),
            inv_freq_under("ntk_by_parts,factor=8"));
  EXPECT_NE(inv_freq_under("ntk_by_parts,factor=8,original=4096"),
            inv_freq_under("ntk_by_parts,factor=8"));
}

TEST(NtkByParts, RefusesEndsThatCross) {
  EXPECT_THROW(under("ntk_by_parts,factor=8,alpha=9,beta=8"), Error);
}

}  // namespace
}  // namespace ropewalk
