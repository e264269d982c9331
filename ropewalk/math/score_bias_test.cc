#include "ropewalk/math/score_bias.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

TEST(LinearBiasTest, FallsWithDistance) {
  const ScoreBias bias = linear_bias(alibi_slopes(2));
  EXPECT_EQ(bias.at(0, 10, 10), 0);
  EXPECT_EQ(bias.at(0, 26, 10), -1);
  EXPECT_EQ(bias.at(1, 26, 10), -1.0 / 16);
  EXPECT_EQ(bias.at(0, 10, 26), -1);  // encoders: symmetric
}

TEST(KeyPositionBiasTest, DiffersFromLinearBiasByAConstantInEachRow) {
  const ScoreBias linear = linear_bias(alibi_slopes(3));
  const ScoreBias by_key = key_position_bias(alibi_slopes(3));
  for (int64_t head = 0; head < 3; ++head) {
    for (int64_t i = 0; i < 40; ++i) {
      const double constant = by_key.at(head, i, 0) - linear.at(head, i, 0);
      for (int64_t j = 1; j <= i; ++j) {
        EXPECT_EQ(by_key.at(head, i, j) - linear.at(head, i, j), constant);
      }
    }
  }
}

TEST(ScoreBiasTest, NoneAddsNothing) { EXPECT_EQ(ScoreBias().at(3, 2, 1), 0); }

TEST(BucketBiasTest, LooksUpBucketAndHead) {
  const T5Buckets buckets{.n_buckets = 2, .max_distance = 2};
  const ScoreBias bias = bucket_bias(buckets, {1, 2, 3, 4}, 2);
  EXPECT_EQ(bias.at(0, 5, 5), 1);
  EXPECT_EQ(bias.at(1, 5, 5), 2);
  EXPECT_EQ(bias.at(0, 5, 3), 3);
  EXPECT_EQ(bias.at(1, 5, 3), 4);
  EXPECT_THROW(bucket_bias(buckets, {1, 2, 3}, 2), Error);
}

}  // namespace
}  // namespace ropewalk
