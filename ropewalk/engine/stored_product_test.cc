#include "ropewalk/engine/stored_product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "ropewalk/base/half.h"

namespace ropewalk {
namespace {

// Random blocks whose scales are moderate: every other byte is anything.
std::vector<std::byte> random_rows(TensorType type, int64_t bytes, std::mt19937& generator) {
  std::uniform_int_distribution<int> any(0, 255);
  std::vector<std::byte> rows(static_cast<size_t>(bytes));
  for (std::byte& byte : rows) byte = static_cast<std::byte>(any(generator));
  const size_t block = block_bytes(type);
  // A half below 1 has an exponent below 15: its top bits are 0.
  const auto tame = [&](size_t at) {
    for (size_t first = 0; first < rows.size(); first += block)
      rows[first + at + 1] &= static_cast<std::byte>(0x3b);
  };
  switch (type) {
    case TensorType::kQ4_1:
    case TensorType::kQ5_1:
    case TensorType::kQ4_K:
    case TensorType::kQ5_K:
      tame(2);
      [[fallthrough]];
    case TensorType::kQ4_0:
    case TensorType::kQ5_0:
    case TensorType::kQ8_0:
    case TensorType::kIQ4_NL:
      tame(0);
      break;
    case TensorType::kQ6_K:
      tame(208);
      break;
    case TensorType::kF16:
      tame(0);
      break;
    case TensorType::kBF16:
      for (size_t first = 0; first < rows.size(); first += 2) rows[first + 1] &= std::byte{0xbf};
      break;
    default:
      for (size_t first = 0; first < rows.size(); first += 4) rows[first + 3] &= std::byte{0xbf};
  }
  return rows;
}

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
