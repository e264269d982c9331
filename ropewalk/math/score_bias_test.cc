#include "ropewalk/math/score_bias.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ropewalk/base/error.h"

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

TEST(AlibiTest, BiasFallsWithDistance) {
  const ScoreBias bias = linear_bias(alibi_slopes(2));
  EXPECT_EQ(bias.at(0, 10, 10), 0);
  EXPECT_EQ(bias.at(0, 26, 10), -1);
  EXPECT_EQ(bias.at(1, 26, 10), -1.0 / 16);
  EXPECT_EQ(bias.at(0, 10, 26), -1);  // encoders: symmetric
}

TEST(ScoreBiasTest, NoneAddsNothing) { EXPECT_EQ(ScoreBias().at(3, 2, 1), 0); }

TEST(T5BucketsTest, Causal) {
  const T5Buckets buckets;
  EXPECT_EQ(buckets.bucket(5), 0);
  EXPECT_EQ(buckets.bucket(0), 0);
  EXPECT_EQ(buckets.bucket(-15), 15);
  EXPECT_EQ(buckets.bucket(-16), 16);
  EXPECT_EQ(buckets.bucket(-127), 31);
  EXPECT_EQ(buckets.bucket(-128), 31);
  EXPECT_EQ(buckets.bucket(-100000), 31);
}

TEST(T5BucketsTest, Bidirectional) {
  const T5Buckets buckets{.bidirectional = true};
  EXPECT_EQ(buckets.bucket(0), 0);
  EXPECT_EQ(buckets.bucket(-7), 7);
  EXPECT_EQ(buckets.bucket(7), 23);
  EXPECT_EQ(buckets.bucket(-128), 15);
  EXPECT_EQ(buckets.bucket(128), 31);
}

TEST(T5BucketsTest, ExactPowersOpenABucket) {
  // From 4 to 64 in four steps: 4, 8, 16, 32.
  const T5Buckets buckets{.n_buckets = 8, .max_distance = 64};
  EXPECT_EQ(buckets.bucket(-7), 4);
  EXPECT_EQ(buckets.bucket(-8), 5);
  EXPECT_EQ(buckets.bucket(-15), 5);
  EXPECT_EQ(buckets.bucket(-16), 6);
  EXPECT_EQ(buckets.bucket(-32), 7);
  EXPECT_EQ(buckets.bucket(-31), 6);
}

TEST(T5BucketsTest, Validation) {
  validate(T5Buckets{});
  EXPECT_THROW(validate(T5Buckets{.n_buckets = 1}), Error);
  EXPECT_THROW(validate(T5Buckets{.n_buckets = 31, .bidirectional = true}), Error);
  EXPECT_THROW(validate(T5Buckets{.n_buckets = 2, .bidirectional = true}), Error);
  EXPECT_THROW(validate(T5Buckets{.n_buckets = 32, .max_distance = 16}), Error);
}

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
