#include "ropewalk/math/relative_buckets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

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
  validate(T5Buckets{.n_buckets = 31, .bidirectional = true});
  EXPECT_THROW(validate(T5Buckets{.n_buckets = 2, .bidirectional = true}), Error);
  EXPECT_THROW(validate(T5Buckets{.n_buckets = 32, .max_distance = 16}), Error);
}

TEST(T5BucketsTest, AnOddCountOfTwoDirectionsLeavesItsLastBucketUnused) {
  const T5Buckets buckets{.n_buckets = 31, .bidirectional = true};
  int64_t most = 0;
  for (int64_t r = -300; r <= 300; ++r) most = std::max(most, buckets.bucket(r));
  EXPECT_EQ(most, 29);
  EXPECT_EQ(buckets.bucket(1), 16);
}

TEST(T5BucketsTest, AgreesWithTheFormulaAwayFromBoundaries) {
  const T5Buckets buckets{.n_buckets = 64, .max_distance = 500};
  for (int64_t distance = 32; distance < 500; ++distance) {
    const double step =
        std::log(static_cast<double>(distance) / 32) / std::log(500.0 / 32) * (64 - 32);
    if (std::abs(step - std::round(step)) < 1e-9) continue;
    EXPECT_EQ(buckets.bucket(-distance), 32 + static_cast<int64_t>(step)) << distance;
  }
}

TEST(DebertaBucketsTest, ExactThenLogarithmic) {
  const DebertaBuckets buckets;
  for (int64_t r = -128; r <= 128; ++r) EXPECT_EQ(buckets.bucket(r), r);
  // ceil(ln(129 / 128) / ln(511 / 128) * 127) = ceil(0.714)
  EXPECT_EQ(buckets.bucket(129), 129);
  EXPECT_EQ(buckets.bucket(511), 255);
  EXPECT_EQ(buckets.bucket(512), 256);
  for (int64_t r = 129; r < 2000; ++r) {
    EXPECT_EQ(buckets.bucket(-r), -buckets.bucket(r));
    const double step = std::log(static_cast<double>(r) / 128) / std::log(511.0 / 128) * 127;
    if (std::abs(step - std::round(step)) < 1e-9) continue;
    EXPECT_EQ(buckets.bucket(r), 128 + static_cast<int64_t>(std::ceil(step))) << r;
  }
}

TEST(DebertaBucketsTest, ExactPowersCloseABucket) {
  // From 5 to 80 in four steps: 10, 20, 40, 80.
  const DebertaBuckets buckets{.n_buckets = 10, .max_distance = 81};
  EXPECT_EQ(buckets.bucket(10), 6);
  EXPECT_EQ(buckets.bucket(11), 7);
  EXPECT_EQ(buckets.bucket(40), 8);
  EXPECT_EQ(buckets.bucket(41), 9);
  EXPECT_EQ(buckets.bucket(80), 9);
  EXPECT_EQ(buckets.bucket(81), 10);
}

TEST(DebertaBucketsTest, Validation) {
  validate(DebertaBuckets{});
  EXPECT_THROW(validate(DebertaBuckets{.n_buckets = 2}), Error);
  EXPECT_THROW(validate(DebertaBuckets{.n_buckets = 255}), Error);
  EXPECT_THROW(validate(DebertaBuckets{.n_buckets = 256, .max_distance = 129}), Error);
}

TEST(ClippedDistanceTest, RowsOfBothSides) {
  const ClippedDistance clipped{.limit = 2};
  EXPECT_EQ(clipped.n_rows(), 5);
  EXPECT_EQ(clipped.row(-100), 0);
  EXPECT_EQ(clipped.row(-1), 1);
  EXPECT_EQ(clipped.row(0), 2);
  EXPECT_EQ(clipped.row(2), 4);
  EXPECT_EQ(clipped.row(3), 4);
}

}  // namespace
}  // namespace ropewalk
