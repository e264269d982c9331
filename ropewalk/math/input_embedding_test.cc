#include "ropewalk/math/input_embedding.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

template <typename Embedding>
std::vector<double> row(const Embedding& embedding, int64_t position) {
  std::vector<double> values(embedding.dim());
  embedding.row(position, values);
  return values;
}

TEST(SinusoidalEmbeddingTest, Orders) {
  const double fast = 3, slow = 0.03;
  const auto expect = [](const std::vector<double>& got, const std::vector<double>& wanted) {
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t c = 0; c < got.size(); ++c) EXPECT_NEAR(got[c], wanted[c], 1e-15) << c;
  };
  expect(row(SinusoidalEmbedding(SinusoidOrder::kInterleaved, 4), 3),
         {std::sin(fast), std::cos(fast), std::sin(slow), std::cos(slow)});
  expect(row(SinusoidalEmbedding(SinusoidOrder::kConcatenated, 4), 3),
         {std::sin(fast), std::sin(slow), std::cos(fast), std::cos(slow)});
  const double slowest = 3e-4;
  expect(row(SinusoidalEmbedding(SinusoidOrder::kTensor2Tensor, 4), 3),
         {std::sin(fast), std::sin(slowest), std::cos(fast), std::cos(slowest)});
}

TEST(SinusoidalEmbeddingTest, OffsetShiftsPositions) {
  const SinusoidalEmbedding plain(SinusoidOrder::kConcatenated, 8);
  const SinusoidalEmbedding shifted(SinusoidOrder::kConcatenated, 8, 10000, 2);
  EXPECT_EQ(row(shifted, 5), row(plain, 7));
}

TEST(SinusoidalEmbeddingTest, Validation) {
  EXPECT_THROW(SinusoidalEmbedding(SinusoidOrder::kInterleaved, 7), Error);
  EXPECT_THROW(SinusoidalEmbedding(SinusoidOrder::kInterleaved, 0), Error);
  EXPECT_THROW(SinusoidalEmbedding(SinusoidOrder::kTensor2Tensor, 2), Error);
  EXPECT_THROW(SinusoidalEmbedding(SinusoidOrder::kInterleaved, 8, 0), Error);
  EXPECT_THROW(SinusoidalEmbedding(SinusoidOrder::kInterleaved, 8, NAN), Error);
}

TEST(LearnedEmbeddingTest, RowIsPositionAndOffset) {
  const LearnedEmbedding embedding({0, 1, 10, 11, 20, 21, 30, 31}, 2, 2);
  EXPECT_EQ(embedding.n_rows(), 4);
  EXPECT_EQ(row(embedding, -1), (std::vector<double>{10, 11}));  // padding
  EXPECT_EQ(row(embedding, 1), (std::vector<double>{30, 31}));
}

TEST(LearnedEmbeddingTest, Ends) {
  const LearnedEmbedding embedding({0, 1, 10, 11, 20, 21, 30, 31}, 2, 2);
  EXPECT_THROW(row(embedding, -3), Error);
  try {
    row(embedding, 2);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "position: must be from -2 to 1, where the learned table ends, got 2");
  }
}

TEST(LearnedEmbeddingTest, Validation) {
  EXPECT_THROW(LearnedEmbedding({}, 2), Error);
  EXPECT_THROW(LearnedEmbedding({1, 2, 3}, 2), Error);
  EXPECT_THROW(LearnedEmbedding({1, 2}, 0), Error);
}

}  // namespace
}  // namespace ropewalk
