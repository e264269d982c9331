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

TEST(SinusoidalEmbeddingTest, OddWidths) {
  const double second = std::pow(10000, -2.0 / 5), third = std::pow(10000, -4.0 / 5);
  const auto expect = [](const std::vector<double>& got, const std::vector<double>& wanted) {
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t c = 0; c < got.size(); ++c) EXPECT_NEAR(got[c], wanted[c], 1e-15) << c;
  };
  expect(row(SinusoidalEmbedding(SinusoidOrder::kInterleaved, 5), 1),
         {std::sin(1.0), std::cos(1.0), std::sin(second), std::cos(second), std::sin(third)});
  expect(row(SinusoidalEmbedding(SinusoidOrder::kConcatenated, 5), 1),
         {std::sin(1.0), std::sin(second), std::sin(third), std::cos(1.0), std::cos(second)});
  const double slowest = 1e-4;
  expect(row(SinusoidalEmbedding(SinusoidOrder::kTensor2Tensor, 5), 1),
         {std::sin(1.0), std::sin(slowest), std::cos(1.0), std::cos(slowest), 0});
  expect(row(SinusoidalEmbedding(SinusoidOrder::kTensor2Tensor, 2), 1),
         {std::sin(1.0), std::cos(1.0)});
}

TEST(SinusoidalEmbeddingTest, Validation) {
  EXPECT_THROW(SinusoidalEmbedding(SinusoidOrder::kInterleaved, 0), Error);
  EXPECT_THROW(SinusoidalEmbedding(SinusoidOrder::kConcatenated, -2), Error);
  EXPECT_THROW(SinusoidalEmbedding(SinusoidOrder::kTensor2Tensor, 1), Error);
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

TEST(PositionsOfTokensTest, PaddingIsCountedOut) {
  const std::vector<uint8_t> is_token = {0, 0, 1, 1, 1, 0, 1};
  EXPECT_EQ(positions_of_tokens(is_token), (std::vector<int64_t>{-1, -1, 0, 1, 2, -1, 3}));
  EXPECT_TRUE(positions_of_tokens({}).empty());
}

TEST(PositionsOfTokensTest, FairseqPaddingReadsItsOwnRow) {
  // RoBERTa: padding index 1, so rows start at 2 and padding reads row 1.
  std::vector<float> table(8);
  for (size_t r = 0; r < table.size(); ++r) table[r] = static_cast<float>(r);
  const LearnedEmbedding embedding(table, 1, 1 + 1);
  const std::vector<uint8_t> is_token = {1, 1, 0, 0};
  std::vector<double> rows;
  for (const int64_t position : positions_of_tokens(is_token)) {
    rows.push_back(row(embedding, position)[0]);
  }
  EXPECT_EQ(rows, (std::vector<double>{2, 3, 1, 1}));
}

TEST(SegmentEmbeddingTest, RowIsTheType) {
  const SegmentEmbedding embedding({0, 1, 10, 11}, 2);
  EXPECT_EQ(embedding.n_types(), 2);
  EXPECT_EQ(row(embedding, 1), (std::vector<double>{10, 11}));
  EXPECT_THROW(row(embedding, 2), Error);
  EXPECT_THROW(row(embedding, -1), Error);
  EXPECT_THROW(SegmentEmbedding({1, 2, 3}, 2), Error);
}

}  // namespace
}  // namespace ropewalk
