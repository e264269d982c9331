#include "ropewalk/kernels/vector_ops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "ropewalk/testing/exact_values.h"
#include "ropewalk/testing/simd_targets.h"

namespace ropewalk {
namespace {

std::vector<float> random_values(size_t size, double deviation, double mean = 0) {
  std::mt19937 generator(static_cast<unsigned>(size));
  std::normal_distribution<double> normal(mean, deviation);
  std::vector<float> values(size);
  for (float& value : values) value = static_cast<float>(normal(generator));
  return values;
}

// The largest error in float ulps of the wanted values; differences below `least` count as none.
double worst_ulps(const std::vector<float>& got, const std::vector<double>& wanted,
                  double least = 0) {
  double worst = 0;
  for (size_t k = 0; k < got.size(); ++k) {
    if (std::abs(static_cast<double>(got[k]) - wanted[k]) <= least) continue;
    if (!std::isfinite(got[k])) return std::numeric_limits<double>::infinity();
    worst = std::max(worst, exact_values::float_ulps(got[k], wanted[k]));
  }
  return worst;
}

// One short of, at and past every vector length, and lengths of real models.
std::vector<size_t> sizes() {
  std::vector<size_t> all = {576, 4096, 8191};
  for (size_t size = 1; size <= 70; ++size) all.push_back(size);
  return all;
}

// ---- rms_norm

double norm_error(const std::vector<float>& in, double epsilon) {
  const std::vector<float> weight = random_values(in.size(), 0.3, 1);
  double squares = 0;
  for (const float value : in) squares += static_cast<double>(value) * static_cast<double>(value);
  const double root = std::sqrt(squares / static_cast<double>(in.size()) + epsilon);
  std::vector<double> wanted;
  for (size_t k = 0; k < in.size(); ++k)
    wanted.push_back(static_cast<double>(in[k]) / root * static_cast<double>(weight[k]));
  std::vector<float> out(in.size());
  rms_norm(in, weight, epsilon, out);
  std::vector<float> in_place = in;
  rms_norm(in_place, weight, epsilon, in_place);
  EXPECT_EQ(in_place, out);
  return worst_ulps(out, wanted, 1e-40);
}

TEST(RmsNorm, IsWithinFourUlps) {
  on_every_target([] {
    for (const size_t size : sizes()) {
      EXPECT_LE(norm_error(random_values(size, 1), 1e-5), 4) << size;
      EXPECT_LE(norm_error(random_values(size, 1e-4), 1e-6), 4) << size;
      EXPECT_LE(norm_error(random_values(size, 1, 50), 1e-5), 4) << size;
    }
  });
}

// Equal values round the same way at every addition: the errors of a long sum do not cancel.
TEST(RmsNorm, LongSumsOfEqualValues) {
  on_every_target([] {
    for (const float value : {1.1F, 0.7F, 3.3333F, 1e-3F, 777.7F}) {
      EXPECT_LE(norm_error(std::vector<float>(8192, value), 1e-5), 4) << value;
      std::vector<float> spread(8192, value);
      spread[3] = 1000 * value;  // as the massive activations of real models
      EXPECT_LE(norm_error(spread, 1e-5), 4) << value;
    }
  });
}

TEST(RmsNorm, LargeAndSmallValues) {
  on_every_target([] {
    for (const double deviation : {1e10, 1e18, 1e25, 1e37, 1e-10, 1e-25})
      EXPECT_LE(norm_error(random_values(100, deviation), 0), 4) << deviation;
    EXPECT_EQ(norm_error(std::vector<float>(10, 0.0F), 1e-5), 0);
  });
}

// ---- swiglu

void check_swiglu(const std::vector<float>& gate, const std::vector<float>& up) {
  std::vector<double> wanted;
  for (size_t k = 0; k < gate.size(); ++k) {
    const double g = gate[k];
    wanted.push_back(g / (1 + std::exp(-g)) * static_cast<double>(up[k]));
  }
  std::vector<float> got = gate;
  swiglu(got, up);
  for (size_t k = 0; k < gate.size(); ++k) {
    const double smallest = 1e-35 * std::abs(static_cast<double>(up[k]));
    EXPECT_LE(worst_ulps({got[k]}, {wanted[k]}, smallest), 6) << gate[k] << " with " << up[k];
  }
}

TEST(SwiGlu, IsWithinSixUlps) {
  on_every_target([] {
    for (const size_t size : sizes())
      check_swiglu(random_values(size, 3), random_values(size, 2, 0.1));
    std::vector<float> ramp;
    for (float gate = -90; gate < 90; gate += 0.37F) ramp.push_back(gate);
    check_swiglu(ramp, std::vector<float>(ramp.size(), 1.25F));
  });
}

TEST(SwiGlu, Extremes) {
  on_every_target([] {
    const std::vector<float> gate = {-86.9F,   -87,   -88,   -104,   -1000,  -1e10F, -1e30F,
                                     -3.4e38F, 86.9F, 88,    104,    1000,   1e10F,  1e30F,
                                     3.4e38F,  0,     -0.0F, 1e-40F, -1e-30F};
    check_swiglu(gate, std::vector<float>(gate.size(), 1));
    check_swiglu(gate, std::vector<float>(gate.size(), -0.5F));
  });
}

// ---- add

TEST(Add, IsOneRoundedSum) {
  on_every_target([] {
    for (const size_t size : sizes()) {
      const std::vector<float> in = random_values(size, 1);
      std::vector<float> out = random_values(size, 100, 7);
      std::vector<float> wanted = out;
      for (size_t k = 0; k < size; ++k) wanted[k] += in[k];
      add(in, out);
      EXPECT_EQ(out, wanted) << size;
    }
  });
}

// ---- log_sum_exp

double log_sum_exp_error(const std::vector<float>& values) {
  const double largest = *std::max_element(values.begin(), values.end());
  double sum = 0;
  for (const float value : values) sum += std::exp(static_cast<double>(value) - largest);
  const double wanted = largest + std::log(sum);
  const double ulp = std::abs(wanted) * std::numeric_limits<float>::epsilon();
  return std::abs(log_sum_exp(values) - wanted) / (2e-7 + ulp);
}

TEST(LogSumExp, IsWithinItsBound) {
  on_every_target([] {
    for (const size_t size : sizes()) {
      EXPECT_LE(log_sum_exp_error(random_values(size, 5)), 1) << size;
      EXPECT_LE(log_sum_exp_error(std::vector<float>(size, 0.3F)), 1) << size;
    }
    EXPECT_LE(log_sum_exp_error(random_values(49152, 4)), 1);
    EXPECT_LE(log_sum_exp_error(random_values(49152, 1e-3)), 1);
    EXPECT_LE(log_sum_exp_error(std::vector<float>(49152, -11.7F)), 1);
    EXPECT_LE(log_sum_exp_error(std::vector<float>(151936, 2)), 1);
  });
}

TEST(LogSumExp, OfOneValueIsThatValue) {
  on_every_target([] {
    for (const float value : {0.0F, -3.25F, 88.0F, -1e30F, 3e38F})
      EXPECT_EQ(log_sum_exp(std::vector<float>{value}), static_cast<double>(value));
  });
}

TEST(LogSumExp, OffsetsAndSpreads) {
  on_every_target([] {
    for (const double offset : {-1e6, -1e4, 1e4, 1e6})
      EXPECT_LE(log_sum_exp_error(random_values(1000, 3, offset)), 1) << offset;
    // One value above all: the others add nothing, however far below they lie.
    std::vector<float> values(100, -3e38F);
    values[57] = 12;
    EXPECT_EQ(log_sum_exp(values), 12);
    values[3] = 12;
    EXPECT_NEAR(log_sum_exp(values), 12 + std::log(2.0), 1e-6);
    // The largest may lie past the last whole vector, and negative values are no smaller than the
    // padding.
    for (size_t size = 1; size <= 40; ++size) {
      std::vector<float> low(size, -200);
      low.back() = -50;
      EXPECT_NEAR(log_sum_exp(low), -50, 1e-5) << size;
    }
  });
}

// Parts may rise, fall, or be of one value.
TEST(SumOfExp, ComesInParts) {
  on_every_target([] {
    std::vector<float> values = random_values(1000, 5);
    for (const bool rises : {true, false}) {
      std::ranges::sort(values);
      if (!rises) std::ranges::reverse(values);
      for (const size_t part : {size_t{1}, size_t{37}, size_t{256}, size_t{999}}) {
        SumOfExp sum;
        for (size_t first = 0; first < values.size(); first += part)
          sum.add(std::span(values).subspan(first, std::min(part, values.size() - first)));
        EXPECT_NEAR(sum.log(), log_sum_exp(values), 1e-6) << part;
      }
    }
  });
}

TEST(SumOfExp, WhatIsNotFiniteIsNotHidden) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  on_every_target([] {
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), kInfinity}) {
      for (const size_t size : sizes()) {
        std::vector<float> values = random_values(size, 5);
        values[size / 2] = bad;
        EXPECT_FALSE(std::isfinite(log_sum_exp(values))) << bad << " of " << size;
        SumOfExp sum;
        sum.add(values);
        sum.add(std::vector<float>{1, 2, 3});
        EXPECT_FALSE(std::isfinite(sum.log())) << bad << " of " << size;
      }
    }
  });
}

// ---- round_to_bf16

TEST(RoundToBf16, IsToBf16) {
  on_every_target([] {
    for (const size_t size : sizes()) {
      std::vector<float> in = random_values(size, 1e3);
      in[0] = std::numeric_limits<float>::quiet_NaN();
      in[size / 2] = -std::numeric_limits<float>::infinity();
      in[size - 1] = 1.00390625f;  // a tie
      std::vector<Bf16> out(size + 1);
      round_to_bf16(in, out);
      for (size_t k = 0; k < size; ++k) EXPECT_EQ(out[k].bits, to_bf16(in[k]).bits) << k;
      EXPECT_EQ(out[size].bits, 0);
    }
  });
}

}  // namespace
}  // namespace ropewalk
