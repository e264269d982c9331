#include "ropewalk/engine/stored_product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "ropewalk/engine/test_support.h"

namespace ropewalk {
namespace {

class StoredProduct : public testing::TestWithParam<TensorType> {};

TEST_P(StoredProduct, IsTheWidenedProduct) {
  const TensorType type = GetParam();
  std::mt19937 generator(7);
  std::normal_distribution<float> normal;
  for (const int64_t inputs : {256, 768}) {
    for (const int64_t count : {1, 3, 4, 9}) {
      StoredRows rows{type, nullptr, inputs};
      const std::vector<std::byte> data = random_rows(type, count * rows.row_bytes(), generator);
      rows.data = data.data();
      std::vector<float> x(static_cast<size_t>(inputs)), sums(x.size() / 32);
      for (float& value : x) value = normal(generator);
      sum_by_blocks(x, sums);
      std::vector<float> y(static_cast<size_t>(count)), row(x.size());
      multiply_stored(rows, count, {x, sums}, y.data());
      for (int64_t r = 0; r < count; ++r) {
        dequantize(type,
                   std::span(data).subspan(static_cast<size_t>(r * rows.row_bytes()),
                                           static_cast<size_t>(rows.row_bytes())),
                   row);
        double sum = 0, size = 0;
        for (size_t k = 0; k < x.size(); ++k) {
          const double term = static_cast<double>(row[k]) * static_cast<double>(x[k]);
          sum += term;
          size += std::abs(term);
        }
        // A block's minimum and its whole numbers may cancel.
        EXPECT_NEAR(static_cast<double>(y[static_cast<size_t>(r)]), sum, 4e-6 * size + 1e-30)
            << type_name(type) << ", row " << r << " of " << count;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, StoredProduct,
                         testing::Values(TensorType::kF32, TensorType::kF16, TensorType::kBF16,
                                         TensorType::kQ4_0, TensorType::kQ4_1, TensorType::kQ5_0,
                                         TensorType::kQ5_1, TensorType::kQ8_0, TensorType::kQ4_K,
                                         TensorType::kQ5_K, TensorType::kQ6_K, TensorType::kIQ4_NL),
                         [](const auto& one) { return std::string(type_name(one.param)); });

TEST(StoredProduct, WidthsThatAreNoBlocks) {
  const std::vector<float> weights = {1, 2, 3, 4, 5, 6}, x = {1, -1, 2};
  std::vector<float> y(2);
  multiply_stored({TensorType::kF32, std::as_bytes(std::span(weights)).data(), 3}, 2, {x, {}},
                  y.data());
  EXPECT_EQ(y, (std::vector<float>{5, 11}));
}

}  // namespace
}  // namespace ropewalk
