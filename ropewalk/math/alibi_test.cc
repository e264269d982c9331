#include "ropewalk/math/alibi.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace ropewalk {
namespace {

TEST(AlibiTest, PowersOfTwo) {
  EXPECT_EQ(alibi_slopes(1), (std::vector{1.0 / 256}));
  EXPECT_EQ(alibi_slopes(2), (std::vector{1.0 / 16, 1.0 / 256}));
  const auto slopes = alibi_slopes(8);
  for (int head = 0; head < 8; ++head) EXPECT_EQ(slopes[head], std::ldexp(1.0, -1 - head));
}

TEST(AlibiTest, OddHeadCounts) {
  EXPECT_EQ(alibi_slopes(3), (std::vector{1.0 / 16, 1.0 / 256, 1.0 / 4}));
  EXPECT_EQ(alibi_slopes(7),
            (std::vector{0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125, 0.03125}));
  EXPECT_EQ(alibi_slopes(12)[8], std::sqrt(0.5));
}

TEST(AlibiTest, SlopesOfManyHeadsAreThePaperInterleaved) {
  // MPT's order: the slopes of the next power of two, the second, fourth, ... before the others.
  const auto all = alibi_slopes(16);
  const auto slopes = alibi_slopes(12);
  for (int head = 0; head < 8; ++head) EXPECT_EQ(slopes[head], all[2 * head + 1]);
  for (int head = 8; head < 12; ++head) EXPECT_EQ(slopes[head], all[2 * (head - 8)]);
}

TEST(AlibiTest, MaxBiasScalesTheExponents) {
  EXPECT_EQ(alibi_slopes(2, 16), (std::vector{1.0 / 256, 1.0 / 65536}));
  EXPECT_EQ(alibi_slopes(1, 0), (std::vector{1.0}));
}

TEST(AlibiTest, FalconRoundsSlopesToBfloat16) {
  const auto slopes = alibi_slopes(12);
  const auto rounded = bfloat16_slopes(slopes);
  for (int head = 0; head < 8; ++head) EXPECT_EQ(rounded[head], slopes[head]);
  EXPECT_EQ(rounded[8], 0.70703125);  // 8 bits of sqrt(1/2)
  for (size_t head = 0; head < slopes.size(); ++head) {
    EXPECT_LE(std::abs(rounded[head] / slopes[head] - 1), 0x1p-8);
  }
}

}  // namespace
}  // namespace ropewalk
