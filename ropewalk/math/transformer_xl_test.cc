#include "ropewalk/math/transformer_xl.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

std::vector<double> row(const DistanceSinusoid& sinusoid, int64_t distance) {
  std::vector<double> values(static_cast<size_t>(sinusoid.dim()));
  sinusoid.row(distance, values);
  return values;
}

TEST(DistanceSinusoidTest, AllSinesThenAllCosines) {
  const auto values = row(DistanceSinusoid(4), 3);
  EXPECT_NEAR(values[0], std::sin(3.0), 1e-15);
  EXPECT_NEAR(values[1], std::sin(0.03), 1e-15);
  EXPECT_NEAR(values[2], std::cos(3.0), 1e-15);
  EXPECT_NEAR(values[3], std::cos(0.03), 1e-15);
}

TEST(DistanceSinusoidTest, KeysAfterTheQuery) {
  const DistanceSinusoid sinusoid(8);
  const auto before = row(sinusoid, 5);
  const auto after = row(sinusoid, -5);
  for (int c = 0; c < 4; ++c) {
    EXPECT_EQ(after[c], -before[c]);
    EXPECT_EQ(after[c + 4], before[c + 4]);
  }
}

TEST(DistanceSinusoidTest, Validation) {
  EXPECT_THROW(DistanceSinusoid(0), Error);
  EXPECT_THROW(DistanceSinusoid(5), Error);
}

TEST(TransformerXlTest, ContentAndPositionHaveTheirOwnBias) {
  const std::vector<double> query = {1, 2}, u = {10, 0}, v = {0, 100}, key = {3, 4}, at = {5, 6};
  EXPECT_EQ(transformer_xl_logit(query, u, v, key, at), (11 * 3 + 2 * 4) + (1 * 5 + 102 * 6));
}

// The paper's appendix B: scores against rows of falling distance, shifted left row by row.
TEST(TransformerXlTest, RelativeShiftIsRowOfTheDistance) {
  constexpr int64_t n = 6;
  const DistanceSinusoid sinusoid(2);
  const std::vector<double> zero = {0, 0};
  for (int64_t i = 0; i < n; ++i) {
    const std::vector<double> query = {static_cast<double>(i) + 1, 0.5};
    for (int64_t j = 0; j <= i; ++j) {
      // Column c of the unshifted matrix is distance n - 1 - c; the shift moves row i by n - 1 - i.
      const int64_t column = j + (n - 1 - i);
      const auto shifted = row(sinusoid, n - 1 - column);
      const auto direct = row(sinusoid, i - j);
      EXPECT_EQ(transformer_xl_logit(query, zero, zero, zero, shifted),
                transformer_xl_logit(query, zero, zero, zero, direct));
    }
  }
}

}  // namespace
}  // namespace ropewalk
