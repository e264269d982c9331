#include "ropewalk/math/pair_layout.h"

#include <gtest/gtest.h>

#include <numeric>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

using Rows = std::vector<int64_t>;

// Rows of `n_heads` heads, each permuted by itself, as a converter does with a weight.
Rows permuted(int64_t n_heads, const Rows& permutation) {
  Rows rows;
  const int64_t head_dim = std::ssize(permutation);
  for (int64_t head = 0; head < n_heads; ++head) {
    for (const int64_t row : permutation) rows.push_back(head * head_dim + row);
  }
  return rows;
}

TEST(PairLayoutTest, Strip) {
  EXPECT_EQ((PairLayout{PairOrder::kHalf, 8, 6}.strip()), "012012--");
  EXPECT_EQ((PairLayout{PairOrder::kInterleaved, 8, 6}.strip()), "001122--");
  EXPECT_EQ((PairLayout{PairOrder::kHalf, 4, 4}.strip()), "0101");
}

TEST(PairLayoutTest, EveryRotatedCoordinateIsInOnePair) {
  for (const PairOrder order : {PairOrder::kHalf, PairOrder::kInterleaved}) {
    const PairLayout layout{order, 80, 20};
    std::vector<int> uses(80);
    for (int64_t pair = 0; pair < layout.n_pairs(); ++pair) {
      ++uses[layout.first(pair)];
      ++uses[layout.second(pair)];
    }
    for (int64_t c = 0; c < 80; ++c) EXPECT_EQ(uses[c], c < 20 ? 1 : 0);
  }
}

TEST(PairLayoutTest, ValidateNamesTheField) {
  validate({PairOrder::kHalf, 64, 64});
  validate({PairOrder::kHalf, 65, 2});
  const auto message = [](int64_t head_dim, int64_t rotary_dim) -> std::string {
    try {
      validate({PairOrder::kHalf, head_dim, rotary_dim});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message(8, 3), "rotary_dim: must be even, got 3");
  EXPECT_EQ(message(8, 10), "rotary_dim: must be from 2 to head_dim 8, got 10");
  EXPECT_EQ(message(8, 0), "rotary_dim: must be from 2 to head_dim 8, got 0");
  EXPECT_EQ(message(8, -2), "rotary_dim: must be from 2 to head_dim 8, got -2");
  EXPECT_EQ(message(0, 2), "head_dim: must be at least 2, got 0");
}

TEST(PairLayoutTest, PermutationOfConverters) {
  EXPECT_EQ(interleaved_from_half(8, 8), (Rows{0, 4, 1, 5, 2, 6, 3, 7}));
  EXPECT_EQ(interleaved_from_half(8, 4), (Rows{0, 2, 1, 3, 4, 5, 6, 7}));
  // Two key heads of four rows: by head, not by the query heads that share them (LAY-01).
  EXPECT_EQ(permuted(2, interleaved_from_half(4, 4)), (Rows{0, 2, 1, 3, 4, 6, 5, 7}));
}

TEST(PairLayoutTest, PermutationIsNotItsOwnInverse) {  // LAY-09
  for (const int64_t dim : {4, 64, 96, 128}) {
    const Rows to_interleaved = interleaved_from_half(dim, dim);
    Rows to_half(to_interleaved.size());
    for (int64_t row = 0; row < dim; ++row) to_half[to_interleaved[row]] = row;
    for (int64_t row = 0; row < dim; ++row) EXPECT_EQ(to_interleaved[to_half[row]], row);
    if (dim == 4) continue;  // there the two are equal
    EXPECT_NE(to_half, to_interleaved);
  }
  const Rows once = interleaved_from_half(8, 8);
  Rows twice;
  for (const int64_t row : once) twice.push_back(once[row]);
  EXPECT_EQ(twice, (Rows{0, 2, 4, 6, 1, 3, 5, 7}));
}

}  // namespace
}  // namespace ropewalk
