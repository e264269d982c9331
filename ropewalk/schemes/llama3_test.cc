#include <gtest/gtest.h>

#include <numbers>

#include "ropewalk/base/error.h"
#include "ropewalk/testing/small_model.h"

namespace ropewalk {
namespace {

using small_model::inv_freq_under;
using small_model::under;

// 512 tokens are 81.5, 8.15, 0.815 and 0.0815 turns.
TEST(Llama3, KeepsFastPairsAndSlowsSlowOnes) {
  const std::vector<double> inv_freq = inv_freq_under("llama3,factor=8,low=1,high=16");
  const double keep = (512 * 0.1 / (2 * std::numbers::pi) - 1) / 15;
  EXPECT_EQ(inv_freq[0], 1);
  EXPECT_NEAR(inv_freq[1], 0.1 * ((1 - keep) / 8 + keep), 1e-16);
  EXPECT_NEAR(inv_freq[2], 0.01 / 8, 1e-17);
}

TEST(Llama3, EqualEndsMakeAStep) {
  const std::vector<double> inv_freq = inv_freq_under("llama3,factor=8,low=1,high=1");
  EXPECT_NEAR(inv_freq[1], 0.1, 1e-16);
  EXPECT_NEAR(inv_freq[2], 0.01 / 8, 1e-17);
}

TEST(Llama3, RefusesEndsThatCross) {
  EXPECT_THROW(under("llama3,factor=8,low=4,high=1"), Error);
  EXPECT_THROW(under("llama3,factor=8"), Error);
}

}  // namespace
}  // namespace ropewalk
