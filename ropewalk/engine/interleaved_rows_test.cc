#include "ropewalk/engine/interleaved_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "ropewalk/engine/test_support.h"

namespace ropewalk {
namespace {

// Half a step of 32639, and what float32 adds.
constexpr double kShare = 1.0 / 65000;

double value_of(const ByteActivations& x, size_t k) {
  return static_cast<double>(x.scales[k / 32]) * (256 * x.high[k] + x.low[k]);
}

double largest_of_block(const std::vector<float>& x, size_t k) {
  double largest = 0;
  for (size_t at = k / 32 * 32; at < k / 32 * 32 + 32; ++at)
    largest = std::max(largest, std::abs(static_cast<double>(x[at])));
  return largest;
}

std::vector<float> normal_values(size_t count, std::mt19937& generator) {
  std::normal_distribution<float> normal;
  std::vector<float> x(count);
  for (float& value : x) value = normal(generator);
  return x;
}

TEST(ByteActivations, AreWithinTheirBound) {
  std::mt19937 generator(5);
  std::vector<float> x = normal_values(256, generator);
  std::fill_n(x.begin() + 32, 32, 0.0f);            // a block of zeros
  for (size_t k = 64; k < 96; ++k) x[k] *= 1e-36f;  // too small for a scale
  for (size_t k = 96; k < 128; ++k) x[k] *= 1e30f;  // large
  std::fill_n(x.begin() + 128, 32, -3.0f);          // all of them the largest
  const ByteActivations bytes(x);
  for (size_t k = 0; k < x.size(); ++k) {
    EXPECT_NEAR(value_of(bytes, k), static_cast<double>(x[k]),
                largest_of_block(x, k) * kShare + 1e-30)
        << k;
  }
  for (size_t b = 0; b < bytes.sums.size(); ++b) {
    int32_t sum = 0;
    for (size_t k = 16 * b; k < 16 * b + 16; ++k) sum += 256 * bytes.high[k] + bytes.low[k];
    EXPECT_EQ(bytes.sums[b], sum);
  }
}

TEST(ByteActivations, WhatIsNotFiniteIsNotHidden) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    std::vector<float> x(64, 1.0f);
    x[40] = bad;
    const ByteActivations bytes(x);
    EXPECT_TRUE(std::isfinite(bytes.scales[0]));
    EXPECT_TRUE(std::isnan(bytes.scales[1])) << bad;
    EXPECT_EQ(bytes.sums[2], 0);
  }
}

class Interleaved : public testing::TestWithParam<TensorType> {
 protected:
  void SetUp() override {
    if (!InterleavedRows::can_hold(GetParam())) GTEST_SKIP() << "this CPU has no AVX512-VNNI";
  }
};

// Against the same sum in double: what is left are the activations' rounding and that of sums.
TEST_P(Interleaved, IsTheWidenedProduct) {
  const TensorType type = GetParam();
  std::mt19937 generator(7);
  for (const int64_t inputs : {256, 768}) {
    for (const int64_t count : {1, 15, 16, 17, 50}) {
      StoredRows rows{type, nullptr, inputs};
      const std::vector<std::byte> data = random_rows(type, count * rows.row_bytes(), generator);
      rows.data = data.data();
      const std::vector<float> x = normal_values(static_cast<size_t>(inputs), generator);
      const InterleavedRows interleaved(rows, count);
      std::vector<float> y(static_cast<size_t>(count)), row(x.size());
      interleaved.multiply(0, interleaved.groups(), ByteActivations(x), y.data());
      for (int64_t r = 0; r < count; ++r) {
        const auto bytes = static_cast<size_t>(rows.row_bytes());
        dequantize(type, std::span(data).subspan(static_cast<size_t>(r) * bytes, bytes), row);
        double sum = 0, bound = 0;
        for (size_t k = 0; k < x.size(); ++k) {
          const auto weight = static_cast<double>(row[k]), value = static_cast<double>(x[k]);
          sum += weight * value;
          bound +=
              std::abs(weight) * largest_of_block(x, k) * kShare + 4e-6 * std::abs(weight * value);
        }
        EXPECT_NEAR(static_cast<double>(y[static_cast<size_t>(r)]), sum, bound)
            << type_name(type) << ", row " << r << " of " << count << ", " << inputs << " inputs";
      }
    }
  }
}

TEST_P(Interleaved, GroupsAreIndependent) {
  const TensorType type = GetParam();
  std::mt19937 generator(8);
  StoredRows rows{type, nullptr, 256};
  const std::vector<std::byte> data = random_rows(type, 40 * rows.row_bytes(), generator);
  rows.data = data.data();
  const ByteActivations x(normal_values(256, generator));
  const InterleavedRows interleaved(rows, 40);
  std::vector<float> whole(40), parts(40, -1);
  interleaved.multiply(0, 3, x, whole.data());
  for (int64_t group : {2, 0, 1}) interleaved.multiply(group, 1, x, parts.data());
  EXPECT_EQ(parts, whole);
}

TEST_P(Interleaved, RowsCopiedForOneProductGiveTheSameBits) {
  const TensorType type = GetParam();
  std::mt19937 generator(10);
  StoredRows rows{type, nullptr, 512};
  const std::vector<std::byte> data = random_rows(type, 50 * rows.row_bytes(), generator);
  rows.data = data.data();
  const ByteActivations x(normal_values(512, generator));
  const InterleavedRows interleaved(rows, 50);
  std::vector<float> kept(50), passing(50, -1);
  interleaved.multiply(0, interleaved.groups(), x, kept.data());
  AlignedBuffer<uint8_t> group;
  InterleavedRows::multiply(rows, 50, x, group, passing.data());
  EXPECT_EQ(passing, kept);
}

TEST_P(Interleaved, ANumberThatIsNoneIsInEveryProduct) {
  std::mt19937 generator(9);
  StoredRows rows{GetParam(), nullptr, 256};
  const std::vector<std::byte> data = random_rows(GetParam(), 16 * rows.row_bytes(), generator);
  rows.data = data.data();
  std::vector<float> x = normal_values(256, generator), y(16);
  x[200] = std::numeric_limits<float>::quiet_NaN();
  InterleavedRows(rows, 16).multiply(0, 1, ByteActivations(x), y.data());
  for (const float value : y) EXPECT_TRUE(std::isnan(value));
}

INSTANTIATE_TEST_SUITE_P(Types, Interleaved,
                         testing::Values(TensorType::kQ4_0, TensorType::kQ4_1, TensorType::kQ8_0,
                                         TensorType::kQ4_K, TensorType::kQ6_K),
                         [](const auto& one) { return std::string(type_name(one.param)); });

TEST(InterleavedRows, HoldsNoOtherTypes) {
  for (const TensorType type : {TensorType::kF32, TensorType::kF16, TensorType::kQ5_0})
    EXPECT_FALSE(InterleavedRows::can_hold(type)) << type_name(type);
}

}  // namespace
}  // namespace ropewalk
