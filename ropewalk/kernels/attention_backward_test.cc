// Gradients against central differences of the double reference.
#include "ropewalk/kernels/attention_backward.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "ropewalk/math/reference.h"
#include "ropewalk/testing/simd_targets.h"

namespace ropewalk {
namespace {

constexpr int64_t kTokens = 70, kHeads = 4, kKvHeads = 2, kHeadDim = 10;
constexpr double kBound = 1e-4;

std::vector<double> random_values(int64_t size, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;  // floats, so that both sides have the same inputs
  std::vector<double> values(static_cast<size_t>(size));
  for (double& value : values) value = static_cast<double>(normal(generator));
  return values;
}

std::vector<float> narrow(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

struct Inputs {
  std::vector<double> query = random_values(kTokens * kHeads * kHeadDim, 1);
  std::vector<double> key = random_values(kTokens * kKvHeads * kHeadDim, 2);
  std::vector<double> value = random_values(kTokens * kKvHeads * kHeadDim, 3);
  std::vector<double> d_out = random_values(kTokens * kHeads * kHeadDim, 4);
};

//   log_sum_exp  (kTokens, kHeads), or null
std::vector<double> forward(const Rotary& rotary, const Inputs& in,
                            std::vector<double>* log_sum_exp = nullptr) {
  const ReferenceShape shape{
      .n_tokens = kTokens, .n_heads = kHeads, .n_kv_heads = kKvHeads, .scale = {}};
  return reference_attention(rotary, shape, in.query, in.key, in.value, {}, log_sum_exp);
}

double loss(const Rotary& rotary, const Inputs& in) {
  const std::vector<double> out = forward(rotary, in);
  double sum = 0;
  for (size_t x = 0; x < out.size(); ++x) sum += out[x] * in.d_out[x];
  return sum;
}

float scale_of_row(const Rotary& rotary, int64_t i) {
  return static_cast<float>(rotary.spectrum.at(kTokens).logit_multiplier *
                            rotary.temperature.at(i) / std::sqrt(static_cast<double>(kHeadDim)));
}

struct Gradients {
  std::vector<float> query = std::vector<float>(kTokens * kHeads * kHeadDim);
  std::vector<float> key = std::vector<float>(kTokens * kKvHeads * kHeadDim);
  std::vector<float> value = std::vector<float>(kTokens * kKvHeads * kHeadDim);
};

Gradients backward(const Rotary& rotary, const Inputs& in) {
  const std::vector<float> query = narrow(in.query);
  KvTiles<float> kv(kKvHeads, kHeadDim, kTokens);
  kv.store(0, kTokens, narrow(in.key).data(), narrow(in.value).data());
  const Rotations rotations(rotary, kTokens, 0, kTokens, AngleMode::kExact);
  std::vector<double> log_sum_exp;
  const std::vector<float> out = narrow(forward(rotary, in, &log_sum_exp));
  const std::vector<float> sums = narrow(log_sum_exp);
  std::vector<float> scale;
  for (int64_t i = 0; i < kTokens; ++i) scale.push_back(scale_of_row(rotary, i));
  Gradients got;
  attend_backward({.rotations = &rotations,
                   .kv = &kv,
                   .n_heads = kHeads,
                   .queries = query.data(),
                   .row_scale = scale,
                   .log_sum_exp = sums},
                  out.data(), narrow(in.d_out).data(), got.query.data(), got.key.data(),
                  got.value.data());
  return got;
}

struct Map {
  std::string name;
  Rotary (*change)(Rotary);
};

const Map kMaps[] = {
    {"plain", [](Rotary rotary) { return rotary; }},
    {"cap",
     [](Rotary rotary) {
       rotary.distance = piecewise_linear(20, 20.0, 0.0);
       return rotary;
     }},
    {"curve",
     [](Rotary rotary) {
       rotary.distance =
           DistanceMap([](int64_t d) { return DoubleDouble(std::sqrt(static_cast<double>(d))); });
       return rotary;
     }},
    {"silent_pairs_and_amplitude",
     [](Rotary rotary) {
       Spectrum spectrum = rotary.spectrum.at(1);
       spectrum.amplitude = 1.25;
       spectrum.logit_multiplier = 0.75;
       rotary.spectrum = SpectrumRule(spectrum);
       rotary.mask = {.past = PairMask::Past::kSilent};
       rotary.temperature = {.log_length = 16};
       return rotary;
     }},
    {"sinks",
     [](Rotary rotary) {
       rotary.visibility = {.window = 12, .sinks = 3};
       return rotary;
     }},
    {"sinks_under_a_curve",
     [](Rotary rotary) {
       rotary.distance =
           DistanceMap([](int64_t d) { return DoubleDouble(std::sqrt(static_cast<double>(d))); });
       rotary.visibility = {.window = 12, .sinks = 3, .sinks_stay = true};
       return rotary;
     }},
};

class BackwardMaps : public testing::TestWithParam<Map> {
 protected:
  static Rotary rotary() {
    const PairLayout layout{PairOrder::kHalf, kHeadDim, 8};
    return GetParam().change(
        plain_rotary({.base = 100.0, .frequency_dim = 8, .trained_length = 32}, layout));
  }
};

TEST_P(BackwardMaps, GiveTheDerivative) {
  Inputs in;
  const Gradients got = backward(rotary(), in);
  const auto check = [&](std::vector<double>& values, const std::vector<float>& gradient,
                         const char* of) {
    constexpr double kStep = 1e-4;
    // A prime step reaches every head, coordinate and part of the sequence.
    for (size_t x = 0; x < values.size(); x += 197) {
      const double kept = values[x];
      values[x] = kept + kStep;
      const double above = loss(rotary(), in);
      values[x] = kept - kStep;
      const double below = loss(rotary(), in);
      values[x] = kept;
      EXPECT_NEAR(gradient[x], (above - below) / (2 * kStep), kBound) << of << " " << x;
    }
  };
  check(in.query, got.query, "query");
  check(in.key, got.key, "key");
  check(in.value, got.value, "value");
}

TEST_P(BackwardMaps, GiveTheSameBitsOnAnyNumberOfThreads) {
  const Inputs in;
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const Gradients alone = backward(rotary(), in);
  omp_set_num_threads(3);
  const Gradients three = backward(rotary(), in);
  omp_set_num_threads(threads);
  EXPECT_EQ(three.query, alone.query);
  EXPECT_EQ(three.key, alone.key);
  EXPECT_EQ(three.value, alone.value);
}

INSTANTIATE_TEST_SUITE_P(Maps, BackwardMaps, testing::ValuesIn(kMaps),
                         [](const auto& map) { return map.param.name; });

TEST(AttentionBackward, EveryTargetAgrees) {
  const PairLayout layout{PairOrder::kInterleaved, kHeadDim, kHeadDim};
  const Rotary rotary =
      plain_rotary({.base = 100.0, .frequency_dim = kHeadDim, .trained_length = 32}, layout);
  const Inputs in;
  const Gradients expected = backward(rotary, in);
  on_every_target([&] {
    const Gradients got = backward(rotary, in);
    for (size_t x = 0; x < got.query.size(); ++x)
      EXPECT_NEAR(got.query[x], expected.query[x], 1e-5);
    for (size_t x = 0; x < got.key.size(); ++x) {
      EXPECT_NEAR(got.key[x], expected.key[x], 1e-5);
      EXPECT_NEAR(got.value[x], expected.value[x], 1e-5);
    }
  });
}

}  // namespace
}  // namespace ropewalk
