// Decoding against the double reference over caches of several blocks; every scheme over a short one
// is in tests/kernel_conformance_test.cc.
#include "ropewalk/kernels/decode.h"

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

constexpr int64_t kTokens = 2 * kDecodeBlock + 100;
constexpr double kBound = 2e-5;

struct Shape {
  int64_t n_heads = 2;
  int64_t n_kv_heads = 1;
  PairLayout layout{PairOrder::kHalf, 20, 16};
};

struct Inputs {
  std::vector<float> query;       // (n_heads, head_dim), of one row
  std::vector<float> key, value;  // (kTokens, n_kv_heads, head_dim)
};

std::vector<float> random_floats(int64_t size, std::mt19937& generator) {
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(size));
  for (float& value : values) value = normal(generator);
  return values;
}

Inputs random_inputs(const Shape& shape) {
  std::mt19937 generator(11);
  const int64_t kv = kTokens * shape.n_kv_heads * shape.layout.head_dim;
  return {.query = random_floats(shape.n_heads * shape.layout.head_dim, generator),
          .key = random_floats(kv, generator),
          .value = random_floats(kv, generator)};
}

Rotary plain(const Shape& shape) {
  return plain_rotary(
      {.base = 10000.0, .frequency_dim = shape.layout.rotary_dim, .trained_length = 256},
      shape.layout);
}

double scale_of(const Shape& shape) {
  return 1 / std::sqrt(static_cast<double>(shape.layout.head_dim));
}

// Row i of a sequence of i + 1 tokens.
//   log_sum_exp  (n_heads)
std::vector<double> reference_row(const Rotary& rotary, const Shape& shape, const Inputs& in,
                                  int64_t i, std::vector<double>* log_sum_exp = nullptr) {
  const int64_t dim = shape.layout.head_dim;
  const Spectrum spectrum = rotary.spectrum.at(rotary.spectrum.length_for_row(i, i + 1));
  std::vector<double> out(in.query.size());
  for (int64_t head = 0; head < shape.n_heads; ++head) {
    const int64_t kv_head = head / (shape.n_heads / shape.n_kv_heads);
    const auto of = [&](const std::vector<float>& from, int64_t at) {
      return std::vector<double>(from.begin() + at * dim, from.begin() + (at + 1) * dim);
    };
    const std::vector<double> query = of(in.query, head);
    double total = 0;
    for (int64_t j = 0; j <= i; ++j) {
      if (!rotary.visibility.sees(i, j)) continue;
      const int64_t at = j * shape.n_kv_heads + kv_head;
      const double weight =
          std::exp(scale_of(shape) *
                   reference_logit(rotary, spectrum, spectrum, i, j, query, of(in.key, at)));
      total += weight;
      for (int64_t x = 0; x < dim; ++x)
        out[head * dim + x] += weight * static_cast<double>(in.value[at * dim + x]);
    }
    for (int64_t x = 0; x < dim; ++x) out[head * dim + x] /= total;
    if (log_sum_exp != nullptr) log_sum_exp->push_back(std::log(total));
  }
  return out;
}

template <typename Element>
KvTiles<Element> stored(const Shape& shape, const Inputs& in) {
  KvTiles<Element> kv(shape.n_kv_heads, shape.layout.head_dim, kTokens);
  kv.store(0, kTokens, in.key.data(), in.value.data());
  return kv;
}

template <typename Element>
std::vector<float> run(DecodeRotations& rotations, const Shape& shape, const Inputs& in, int64_t i,
                       std::span<float> log_sum_exp = {}) {
  const KvTiles<Element> kv = stored<Element>(shape, in);
  std::vector<float> out(in.query.size());
  DecodeWorkspace workspace;
  rotations.stand_at(i);
  decode<Element>(rotations, kv, shape.n_heads, in.query.data(),
                  static_cast<float>(scale_of(shape)), out.data(), workspace, log_sum_exp);
  return out;
}

double worst(const std::vector<float>& got, const std::vector<double>& expected) {
  double difference = 0;
  for (size_t k = 0; k < got.size(); ++k)
    difference = std::max(difference, std::abs(static_cast<double>(got[k]) - expected[k]));
  return difference;
}

struct Map {
  std::string name;
  Rotary (*change)(Rotary);
};

const Map kMaps[] = {
    {"plain", [](Rotary rotary) { return rotary; }},
    {"cap",
     [](Rotary rotary) {
       rotary.distance = piecewise_linear(300, 300.0, 0.0);
       return rotary;
     }},
    {"leaky",
     [](Rotary rotary) {
       rotary.distance = piecewise_linear(300, 300.0, DoubleDouble(1.0) / 7.0);
       return rotary;
     }},
    {"grouped by 8",
     [](Rotary rotary) {
       Branch near{.last = 200};
       Branch far{.first = 200, .query = {.offset = 175.0, .group = 8}, .key = {.group = 8}};
       rotary.distance = DistanceMap({near, far});
       return rotary;
     }},
    {"grouped by 7, which no tile divides",
     [](Rotary rotary) {
       Branch near{.last = 200};
       Branch far{.first = 200, .query = {.offset = 175.0, .group = 7}, .key = {.group = 7}};
       rotary.distance = DistanceMap({near, far});
       return rotary;
     }},
    {"chunks",
     [](Rotary rotary) {
       Branch within{.last = 1, .query = {.period = 100}, .key = {.period = 100}};
       Branch before{.first = 1, .query = fixed_position(150.0), .key = {.period = 100}};
       rotary.distance = DistanceMap::by_chunks(100, {within, before});
       return rotary;
     }},
    {"a curve",
     [](Rotary rotary) {
       rotary.distance =
           DistanceMap([](int64_t d) { return DoubleDouble(std::sqrt(static_cast<double>(d))); });
       return rotary;
     }},
    {"a window with sinks",
     [](Rotary rotary) {
       rotary.visibility = {.window = 500, .sinks = 4};
       return rotary;
     }},
    {"a mask that silences",
     [](Rotary rotary) {
       rotary.mask = {.past = PairMask::Past::kSilent};
       return rotary;
     }},
    {"a mask that freezes, an amplitude",
     [](Rotary rotary) {
       Spectrum spectrum = rotary.spectrum.at(1);
       spectrum.amplitude = 1.25;
       rotary.spectrum = SpectrumRule(spectrum);
       rotary.mask = {.past = PairMask::Past::kFrozen};
       return rotary;
     }},
    {"a mask that freezes pairs which turn backwards",
     [](Rotary rotary) {
       Spectrum spectrum = rotary.spectrum.at(1);
       for (DoubleDouble& speed : spectrum.turns_per_token) speed = -speed;
       rotary.spectrum = SpectrumRule(spectrum);
       rotary.mask = {.past = PairMask::Past::kFrozen, .turns = 0.4};
       return rotary;
     }},
    {"a spectrum of the length",
     [](Rotary rotary) {
       const Spectrum spectrum = rotary.spectrum.at(1);
       rotary.spectrum = SpectrumRule(SpectrumRule::Length::kSequence, [spectrum](int64_t n) {
         Spectrum slower = spectrum;
         for (DoubleDouble& speed : slower.turns_per_token)
           speed = speed * 100.0 / static_cast<double>(n);
         return slower;
       });
       return rotary;
     }},
};

class DecodeMaps : public testing::TestWithParam<Map> {};

TEST_P(DecodeMaps, GiveTheReference) {
  for (const Shape& shape :
       {Shape{}, Shape{.n_heads = 6, .n_kv_heads = 1},
        Shape{.n_heads = 3, .n_kv_heads = 3, .layout = {PairOrder::kInterleaved, 16, 16}}}) {
    const Inputs in = random_inputs(shape);
    const Rotary rotary = GetParam().change(plain(shape));
    DecodeRotations rotations(rotary, kTokens, AngleMode::kExact);
    for (const int64_t i : {int64_t{0}, int64_t{63}, int64_t{64}, int64_t{511}, kDecodeBlock - 1,
                            kDecodeBlock, kTokens - 1}) {
      EXPECT_LE(worst(run<float>(rotations, shape, in, i), reference_row(rotary, shape, in, i)),
                kBound)
          << "row " << i << " of " << shape.n_heads << " heads";
    }
  }
}

TEST_P(DecodeMaps, GiveTheReferenceFromARoundedCacheOnEveryTarget) {
  const Shape shape;
  Inputs in = random_inputs(shape);
  for (float& key : in.key) key = to_float(to_bf16(key));
  for (float& value : in.value) value = to_float(to_bf16(value));
  const Rotary rotary = GetParam().change(plain(shape));
  const std::vector<double> expected = reference_row(rotary, shape, in, kTokens - 1);
  on_every_target([&] {
    DecodeRotations rotations(rotary, kTokens, AngleMode::kExact);
    EXPECT_LE(worst(run<Bf16>(rotations, shape, in, kTokens - 1), expected), kBound);
  });
}

INSTANTIATE_TEST_SUITE_P(Maps, DecodeMaps, testing::ValuesIn(kMaps), [](const auto& map) {
  std::string name = map.param.name;
  std::erase_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
  return name;
});

TEST(Decode, SameBitsWhateverTheThreadCount) {
  const Shape shape{.n_heads = 4, .n_kv_heads = 2, .layout = {PairOrder::kHalf, 128, 128}};
  const Inputs in = random_inputs(shape);
  DecodeRotations rotations(plain(shape), kTokens, AngleMode::kExact);
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const std::vector<float> alone = run<Bf16>(rotations, shape, in, kTokens - 1);
  for (const int n : {2, 3, 5}) {
    omp_set_num_threads(n);
    EXPECT_EQ(run<Bf16>(rotations, shape, in, kTokens - 1), alone) << n << " threads";
  }
  omp_set_num_threads(threads);
}

TEST(Decode, GivesTheLogSumExp) {
  const Shape shape;
  const Inputs in = random_inputs(shape);
  DecodeRotations rotations(plain(shape), kTokens, AngleMode::kExact);
  std::vector<float> got(static_cast<size_t>(shape.n_heads));
  std::vector<double> expected;
  run<float>(rotations, shape, in, kTokens - 1, got);
  reference_row(plain(shape), shape, in, kTokens - 1, &expected);
  for (int64_t head = 0; head < shape.n_heads; ++head) EXPECT_NEAR(got[head], expected[head], 1e-5);
}

// Rounded angles are the engine's that is compared with: token by token, as attend() has them.
TEST(Decode, TakesRoundedAnglesAsAttendDoes) {
  const Shape shape;
  const Inputs in = random_inputs(shape);
  const Rotary rotary = kMaps[1].change(plain(shape));
  const int64_t i = kTokens - 1;
  DecodeRotations decoding(rotary, kTokens, AngleMode::kFloat32);
  const std::vector<float> got = run<float>(decoding, shape, in, i);
  const Rotations rotations(rotary, kTokens, i, 1, AngleMode::kFloat32);
  const KvTiles<float> kv = stored<float>(shape, in);
  const std::vector<float> scale = {static_cast<float>(scale_of(shape))};
  std::vector<float> expected(in.query.size());
  attend<float>(rotations, kv, shape.n_heads, in.query.data(), scale, expected.data());
  for (size_t x = 0; x < got.size(); ++x) EXPECT_NEAR(got[x], expected[x], 2e-6);
}

}  // namespace
}  // namespace ropewalk
