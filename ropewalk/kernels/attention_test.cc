// What attention promises beside its values, which tests/kernel_conformance_test.cc holds to the
// reference: storage, and bits that depend neither on threads nor on where a pass begins.
#include "ropewalk/kernels/attention.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace ropewalk {
namespace {

constexpr int64_t kTokens = 401, kHeads = 4, kKvHeads = 2, kHeadDim = 20;
constexpr PairLayout kLayout{PairOrder::kInterleaved, kHeadDim, 16};

std::vector<float> random_values(int64_t size, double deviation = 1) {
  std::mt19937 generator(static_cast<unsigned>(size));
  std::normal_distribution<double> normal(0, deviation);
  std::vector<float> values(static_cast<size_t>(size));
  for (float& value : values) value = static_cast<float>(normal(generator));
  return values;
}

Rotary plain() {
  return plain_rotary({.base = 10000.0, .frequency_dim = 16, .trained_length = 64}, kLayout);
}

Rotary curved() {
  Rotary rotary = plain();
  rotary.distance =
      DistanceMap([](int64_t d) { return DoubleDouble(std::sqrt(static_cast<double>(d))); });
  return rotary;
}

struct Inputs {
  std::vector<float> query = random_values(kTokens * kHeads * kHeadDim);
  std::vector<float> key = random_values(kTokens * kKvHeads * kHeadDim + 1);
  std::vector<float> value = random_values(kTokens * kKvHeads * kHeadDim + 2);
};

// Rows [first, last).
template <typename Element = float>
std::vector<float> run(const Rotary& rotary, const Inputs& in, int64_t first, int64_t last,
                       float scale = 0.25F) {
  KvTiles<Element> kv(kKvHeads, kHeadDim, kTokens);
  kv.store(0, kTokens, in.key.data(), in.value.data());
  const Rotations rotations(rotary, kTokens, first, last - first, AngleMode::kExact);
  const std::vector<float> scales(static_cast<size_t>(last - first), scale);
  std::vector<float> out(static_cast<size_t>((last - first) * kHeads * kHeadDim));
  attend<Element>(rotations, kv, kHeads, in.query.data() + first * kHeads * kHeadDim, scales,
                  out.data(), {.products = Products::kBf16});
  return out;
}

// Runs body(run) for float32 products on each set of instructions that this CPU has, for a compiler
// may do otherwise with each, and for each unit of bfloat16 products.
template <typename Body>
void for_products(const Body& body) {
  for (const std::string& target : attention_targets()) {
    SCOPED_TRACE(target);
    force_attention_target(target);
    body([](auto&&... arguments) { return run<float>(arguments...); });
  }
  force_attention_target("");
  for (const std::string& unit : bf16_product_units()) {
    force_bf16_product_unit(unit);
    body([](auto&&... arguments) { return run<Bf16>(arguments...); });
  }
  force_bf16_product_unit("");
}

TEST(KvTiles, KeepsKeysByCoordinateAndValuesByToken) {
  const Inputs in;
  KvTiles<float> kv(kKvHeads, kHeadDim, 130);
  EXPECT_EQ(kv.capacity(), 130);
  EXPECT_EQ(kv.value_stride(), 32);
  kv.store(0, 100, in.key.data(), in.value.data());
  kv.store(100, 30, in.key.data() + 100 * kKvHeads * kHeadDim,
           in.value.data() + 100 * kKvHeads * kHeadDim);
  KvTiles<Bf16> rounded(kKvHeads, kHeadDim, 130);
  rounded.store(0, 130, in.key.data(), in.value.data());
  for (const int64_t token : {0, 63, 64, 99, 100, 129}) {
    for (int64_t head = 0; head < kKvHeads; ++head) {
      for (int64_t x = 0; x < kHeadDim; ++x) {
        const size_t source = static_cast<size_t>((token * kKvHeads + head) * kHeadDim + x);
        const int64_t tile = token / kTile;
        const int64_t column = token % kTile;
        EXPECT_EQ(kv.keys(head, tile)[x * kTile + column], in.key[source]);
        EXPECT_EQ(kv.values(head, tile)[column * kv.value_stride() + x], in.value[source]);
        EXPECT_EQ(rounded.keys(head, tile)[x * kTile + column].bits, to_bf16(in.key[source]).bits);
      }
      EXPECT_EQ(kv.values(head, token / kTile)[token % kTile * kv.value_stride() + kHeadDim], 0);
    }
  }
}

Rotary masked() {
  Rotary rotary = plain();
  rotary.distance = piecewise_linear(50, 50.0, 0.25);
  rotary.mask.past = PairMask::Past::kSilent;
  rotary.visibility = {.window = 120, .sinks = 3};
  return rotary;
}

TEST(Attend, ThreadsDoNotChangeABit) {
  const Inputs in;
  const int before = omp_get_max_threads();
  for_products([&](const auto& run_rows) {
    for (const Rotary& rotary : {plain(), curved(), masked()}) {
      omp_set_num_threads(1);
      const std::vector<float> one = run_rows(rotary, in, 0, kTokens);
      for (const int threads : {2, 3, 8}) {
        omp_set_num_threads(threads);
        EXPECT_EQ(run_rows(rotary, in, 0, kTokens), one) << threads;
      }
      omp_set_num_threads(before);
    }
  });
}

// A row sees the same bits whatever rows come with it: what makes a cache equal one pass.
TEST(Attend, NeighboursDoNotChangeABit) {
  const Inputs in;
  for_products([&](const auto& run_rows) {
    for (const Rotary& rotary : {plain(), curved(), masked()}) {
      const std::vector<float> all = run_rows(rotary, in, 0, kTokens);
      for (const auto& [first, last] : std::vector<std::pair<int64_t, int64_t>>{
               {199, 200}, {64, 200}, {1, 63}, {100, 171}, {390, 391}, {257, 401}}) {
        const std::vector<float> some = run_rows(rotary, in, first, last);
        EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin() + first * kHeads * kHeadDim))
            << first << " to " << last;
      }
    }
  });
}

// The first row sees itself alone, so it is its value; and huge logits overflow nothing.
// A fault upstream must not come out as a plausible number.
TEST(Attend, WhatIsNotANumberStaysSo) {
  for (const int64_t at : {int64_t{5}, int64_t{63}, int64_t{130}}) {
    Inputs in;
    for (int64_t x = 0; x < kKvHeads * kHeadDim; ++x)
      in.key[static_cast<size_t>(at * kKvHeads * kHeadDim + x)] = std::nanf("");
    const std::vector<float> out = run(plain(), in, 0, kTokens);
    for (int64_t row = 0; row < kTokens; ++row) {
      for (int64_t x = 0; x < kHeads * kHeadDim; ++x) {
        const float value = out[static_cast<size_t>(row * kHeads * kHeadDim + x)];
        EXPECT_EQ(std::isnan(value), row >= at) << "row " << row << ", key " << at;
      }
    }
  }
}

TEST(Attend, HugeLogitsChooseOneValue) {
  const Inputs in;
  for (const Rotary& rotary : {plain(), curved()}) {
    const std::vector<float> out = run(rotary, in, 0, kTokens, 1e6F);
    for (int64_t h = 0; h < kHeads; ++h) {
      for (int64_t x = 0; x < kHeadDim; ++x) {
        const auto value = static_cast<size_t>(h / (kHeads / kKvHeads) * kHeadDim + x);
        EXPECT_EQ(out[static_cast<size_t>(h * kHeadDim + x)], in.value[value]);
      }
    }
    // Each row of each head is one of the values, or a mixture of equal ones.
    for (int64_t row = 0; row < kTokens; row += 17) {
      double nearest = 1e30;
      for (int64_t j = 0; j <= row; ++j) {
        double distance = 0;
        for (int64_t x = 0; x < kHeadDim; ++x) {
          const double got = out[static_cast<size_t>(row * kHeads * kHeadDim + x)];
          distance += std::abs(got - in.value[static_cast<size_t>(j * kKvHeads * kHeadDim + x)]);
        }
        nearest = std::min(nearest, distance);
      }
      EXPECT_LE(nearest, 1e-3) << row;
    }
  }
}

}  // namespace
}  // namespace ropewalk
