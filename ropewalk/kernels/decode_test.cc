// Decoding against the double reference over caches of several blocks; every scheme over a short one
// is in tests/kernel_conformance_test.cc.
#include "ropewalk/kernels/decode.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "ropewalk/base/error.h"
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
           speed = speed * 100.0 / static_cast<double>(n + 100);  // slower than a turn a token
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

// What a step of some rows gives.
struct Step {
  int64_t first = 0;
  int64_t n_rows = 1;
  int64_t first_key = 0;
  AttentionOptions options;
};

struct Decoded {
  std::vector<float> out;          // (n_rows, n_heads, head_dim)
  std::vector<float> log_sum_exp;  // (n_rows, n_heads)

  bool operator==(const Decoded&) const = default;
};

// Row i asks what `queries` has for it: (kTokens, n_heads, head_dim).
template <typename Element>
Decoded run_step(DecodeRotations& rotations, const Shape& shape, const KvTiles<Element>& kv,
                 const std::vector<float>& queries, const Step& step) {
  const int64_t heads = step.n_rows * shape.n_heads;
  const int64_t dim = shape.layout.head_dim;
  Decoded decoded{std::vector<float>(static_cast<size_t>(heads * dim)),
                  std::vector<float>(static_cast<size_t>(heads))};
  std::vector<float> scale;
  for (int64_t i = step.first; i < step.first + step.n_rows; ++i)
    scale.push_back(static_cast<float>(scale_of(shape) * (1 + 1e-4 * static_cast<double>(i))));
  DecodeWorkspace workspace;
  rotations.stand_at(step.first, step.n_rows);
  decode<Element>({.rotations = &rotations,
                   .kv = &kv,
                   .queries = queries.data() + step.first * shape.n_heads * dim,
                   .row_scale = scale,
                   .out = decoded.out.data(),
                   .first_key = step.first_key,
                   .log_sum_exp = decoded.log_sum_exp},
                  shape.n_heads, step.options, workspace);
  return decoded;
}

std::vector<float> queries_of_all_rows(const Shape& shape) {
  std::mt19937 generator(17);
  return random_floats(kTokens * shape.n_heads * shape.layout.head_dim, generator);
}

std::vector<float> biases_of(const Shape& shape, int64_t n_distances) {
  std::mt19937 generator(19);
  return random_floats(shape.n_heads * n_distances, generator);
}

// Rows that come together, across the end of a block too, are what each is alone, to the bit.
TEST_P(DecodeMaps, RowsTogetherAreWhatEachIsAlone) {
  for (const Shape& shape :
       {Shape{.n_heads = 3, .n_kv_heads = 3}, Shape{.n_heads = 6, .n_kv_heads = 2}}) {
    const KvTiles<Bf16> kv = stored<Bf16>(shape, random_inputs(shape));
    const std::vector<float> queries = queries_of_all_rows(shape);
    const std::vector<float> bias = biases_of(shape, 600);
    DecodeRotations rotations(GetParam().change(plain(shape)), kTokens, AngleMode::kExact);
    Step step{.first_key = 5, .options = {.softcap = 20, .distance_bias = bias}};
    for (const int64_t first : {int64_t{0}, kDecodeBlock - 3, kTokens - 5}) {
      step.first = first;
      step.n_rows = 5;
      const Decoded together = run_step(rotations, shape, kv, queries, step);
      Decoded each;
      step.n_rows = 1;
      for (; step.first < first + 5; ++step.first) {
        const Decoded row = run_step(rotations, shape, kv, queries, step);
        each.out.insert(each.out.end(), row.out.begin(), row.out.end());
        each.log_sum_exp.insert(each.log_sum_exp.end(), row.log_sum_exp.begin(),
                                row.log_sum_exp.end());
      }
      EXPECT_TRUE(together == each) << "from row " << first;
    }
  }
}

// A prompt is attended and what follows decoded from one cache, and the two agree on every row: under
// cap, bias, padding, window, sinks and a scale for each row.
TEST(Decode, ReadsTheCacheThatAttendReads) {
  const Shape shape{.n_heads = 6, .n_kv_heads = 2};
  const KvTiles<float> kv = stored<float>(shape, random_inputs(shape));
  const std::vector<float> queries = queries_of_all_rows(shape);
  const std::vector<float> bias = biases_of(shape, 600);
  Rotary rotary = plain(shape);
  rotary.distance = piecewise_linear(300, 300.0, 0.125);
  rotary.visibility = {.window = 700, .sinks = 40};
  DecodeRotations decoding(rotary, kTokens, AngleMode::kExact);
  const int64_t heads = shape.n_heads * shape.layout.head_dim;
  for (const int64_t first_key : {int64_t{0}, int64_t{30}, kDecodeBlock + 3, kTokens - 3}) {
    const Step step{.first = kTokens - 8,
                    .n_rows = 8,
                    .first_key = first_key,
                    .options = {.softcap = 3, .distance_bias = bias}};
    const Decoded got = run_step(decoding, shape, kv, queries, step);
    const Rotations rotations(rotary, kTokens, step.first, step.n_rows, AngleMode::kExact);
    std::vector<float> scale;
    for (int64_t i = step.first; i < kTokens; ++i)
      scale.push_back(static_cast<float>(scale_of(shape) * (1 + 1e-4 * static_cast<double>(i))));
    Decoded expected = got;
    const AttentionSequence<float> sequence{.rotations = &rotations,
                                            .kv = &kv,
                                            .queries = queries.data() + step.first * heads,
                                            .row_scale = scale,
                                            .out = expected.out.data(),
                                            .first_key = first_key,
                                            .log_sum_exp = expected.log_sum_exp};
    attend<float>(std::span(&sequence, 1), shape.n_heads, step.options);
    for (size_t x = 0; x < got.out.size(); ++x) ASSERT_NEAR(got.out[x], expected.out[x], kBound);
    for (size_t x = 0; x < got.log_sum_exp.size(); ++x) {
      if (std::isinf(expected.log_sum_exp[x])) {
        ASSERT_EQ(got.log_sum_exp[x], expected.log_sum_exp[x]);
      } else {
        ASSERT_NEAR(got.log_sum_exp[x], expected.log_sum_exp[x], kBound);
      }
    }
  }
}

TEST(Decode, SeveralRowsHaveTheSameBitsWhateverTheThreadCount) {
  const Shape shape{.n_heads = 4, .n_kv_heads = 2, .layout = {PairOrder::kHalf, 128, 128}};
  const KvTiles<Bf16> kv = stored<Bf16>(shape, random_inputs(shape));
  const std::vector<float> queries = queries_of_all_rows(shape);
  const std::vector<float> bias = biases_of(shape, kTokens);
  DecodeRotations rotations(plain(shape), kTokens, AngleMode::kExact);
  const Step step{.first = kTokens - 6,
                  .n_rows = 6,
                  .first_key = 3,
                  .options = {.softcap = 5, .distance_bias = bias}};
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const Decoded alone = run_step(rotations, shape, kv, queries, step);
  for (const int n : {2, 3, 5}) {
    omp_set_num_threads(n);
    EXPECT_TRUE(run_step(rotations, shape, kv, queries, step) == alone) << n << " threads";
  }
  omp_set_num_threads(threads);
}

// Keys that nobody sees are in no result: padding of whole blocks, rows before the first key.
TEST(Decode, PaddingIsNotSeen) {
  const Shape shape;
  const Inputs in = random_inputs(shape);
  const std::vector<float> queries = queries_of_all_rows(shape);
  Inputs other = in;
  std::fill_n(other.key.begin(), kDecodeBlock * shape.layout.head_dim, 9.0F);
  std::fill_n(other.value.begin(), kDecodeBlock * shape.layout.head_dim, 9.0F);
  DecodeRotations rotations(plain(shape), kTokens, AngleMode::kExact);
  const Step step{.first = kDecodeBlock - 2, .n_rows = 4, .first_key = kDecodeBlock, .options = {}};
  const Decoded got = run_step(rotations, shape, stored<float>(shape, in), queries, step);
  EXPECT_TRUE(got == run_step(rotations, shape, stored<float>(shape, other), queries, step));
  for (int64_t x = 0; x < 2 * shape.n_heads * shape.layout.head_dim; ++x)
    EXPECT_EQ(got.out[static_cast<size_t>(x)], 0);
  for (int64_t head = 0; head < 2 * shape.n_heads; ++head)
    EXPECT_EQ(got.log_sum_exp[static_cast<size_t>(head)], -std::numeric_limits<float>::infinity());
}

// A fault upstream must not come out as a plausible number, whatever stands beside it.
TEST(Decode, WhatIsNotANumberStaysSo) {
  const Shape shape;
  const std::vector<float> bias = biases_of(shape, 600);
  for (const AttentionOptions& options :
       {AttentionOptions{}, AttentionOptions{.softcap = 2, .distance_bias = bias}}) {
    on_every_target([&] {
      for (const int64_t at : {int64_t{0}, int64_t{77}, kDecodeBlock, kTokens - 2}) {
        Inputs in = random_inputs(shape);
        for (int64_t x = 0; x < shape.layout.head_dim; ++x)
          in.key[static_cast<size_t>(at * shape.layout.head_dim + x)] = std::nanf("");
        DecodeRotations rotations(plain(shape), kTokens, AngleMode::kExact);
        const Step step{.first = kTokens - 4, .n_rows = 4, .options = options};
        const Decoded got =
            run_step(rotations, shape, stored<float>(shape, in), queries_of_all_rows(shape), step);
        for (int64_t x = 0; x < std::ssize(got.out); ++x) {
          const bool sees = step.first + x / (shape.n_heads * shape.layout.head_dim) >= at;
          EXPECT_EQ(std::isnan(got.out[static_cast<size_t>(x)]), sees) << "key " << at;
        }
      }
    });
  }
}

TEST(Decode, ABiasIsWholeForEveryHead) {
  const Shape shape;
  const std::vector<float> bias(7);
  DecodeRotations rotations(plain(shape), kTokens, AngleMode::kExact);
  const KvTiles<float> kv(shape.n_kv_heads, shape.layout.head_dim, kTokens);
  EXPECT_THROW(run_step(rotations, shape, kv, queries_of_all_rows(shape),
                        {.options = {.distance_bias = bias}}),
               Error);
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
