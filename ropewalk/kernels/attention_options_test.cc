// What attention can be told beside the plan, against the double reference: cap, bias, padding,
// batches, log-sum-exp; by every SIMD target, and by bfloat16 products.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/kernels/attention.h"
#include "ropewalk/math/reference.h"
#include "ropewalk/math/relative_buckets.h"

namespace ropewalk {
namespace {

constexpr int64_t kTokens = 333;  // two groups of tiles, the last one cut
constexpr int64_t kHeads = 6, kKvHeads = 2, kHeadDim = 24;
constexpr PairLayout kLayout{PairOrder::kHalf, kHeadDim, 18};
constexpr double kScale = 0.25;
constexpr double kBound = 2e-5;

struct Text {
  int64_t n_tokens = 0;
  std::vector<float> query, key, value;  // (n_tokens, heads, head_dim); keys, values as bfloat16
};

Text text_of(int64_t n_tokens, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  const auto filled = [&](int64_t heads, bool rounded) {
    std::vector<float> values(static_cast<size_t>(n_tokens * heads * kHeadDim));
    for (float& value : values) {
      value = normal(generator);
      if (rounded) value = to_float(to_bf16(value));
    }
    return values;
  };
  return {n_tokens, filled(kHeads, false), filled(kKvHeads, true), filled(kKvHeads, true)};
}

Rotary plain() {
  return plain_rotary({.base = 10000.0, .frequency_dim = 18, .trained_length = 64}, kLayout);
}

Rotary capped() {
  Rotary rotary = plain();
  rotary.distance = piecewise_linear(70, 70.0, 0.0);
  rotary.visibility = {.window = 150, .sinks = 5};
  return rotary;
}

struct Result {
  std::vector<float> out;          // (n_tokens, kHeads, kHeadDim)
  std::vector<float> log_sum_exp;  // (n_tokens, kHeads)
};

template <typename Element>
Result run(const Rotary& rotary, const Text& text, const AttentionOptions& options,
           int64_t first_key = 0) {
  KvTiles<Element> kv(kKvHeads, kHeadDim, text.n_tokens);
  kv.store(0, text.n_tokens, text.key.data(), text.value.data());
  const Rotations rotations(rotary, text.n_tokens, 0, text.n_tokens, AngleMode::kExact);
  const std::vector<float> scale(static_cast<size_t>(text.n_tokens), kScale);
  Result result{std::vector<float>(text.query.size(), 7),
                std::vector<float>(static_cast<size_t>(text.n_tokens * kHeads))};
  const AttentionSequence<Element> sequence{.rotations = &rotations,
                                            .kv = &kv,
                                            .queries = text.query.data(),
                                            .row_scale = scale,
                                            .out = result.out.data(),
                                            .first_key = first_key,
                                            .log_sum_exp = result.log_sum_exp};
  attend<Element>(std::span(&sequence, 1), kHeads, options);
  return result;
}

struct Expected {
  std::vector<double> out, log_sum_exp;
};

Expected reference(const Rotary& rotary, const Text& text, double softcap, int64_t first_key,
                   const ScoreBias& bias) {
  const auto wide = [](const std::vector<float>& values) {
    return std::vector<double>(values.begin(), values.end());
  };
  Expected expected;
  expected.out = reference_attention(rotary,
                                     {.n_tokens = text.n_tokens,
                                      .n_heads = kHeads,
                                      .n_kv_heads = kKvHeads,
                                      .scale = kScale,
                                      .softcap = softcap,
                                      .first_key = first_key},
                                     wide(text.query), wide(text.key), wide(text.value), bias,
                                     &expected.log_sum_exp);
  return expected;
}

double worst(const std::vector<float>& got, const std::vector<double>& expected) {
  double difference = 0;
  for (size_t k = 0; k < got.size(); ++k) {
    if (std::isinf(expected[k]) && got[k] == expected[k]) continue;
    if (!std::isfinite(got[k])) return std::numeric_limits<double>::infinity();
    difference = std::max(difference, std::abs(got[k] - expected[k]));
  }
  return difference;
}

// The most by which bfloat16 products may move a logit: both sides are off by at most 2^-9 of each
// coordinate, so it by 2^-8 and a little of scale * sum |q k| <= scale |q| |k|.
double logit_error(const Text& text) {
  const auto longest = [](const std::vector<float>& heads) {
    double most = 0;
    for (size_t head = 0; head < heads.size(); head += kHeadDim) {
      double square = 0;
      for (size_t x = head; x < head + kHeadDim; ++x) square += heads[x] * heads[x];
      most = std::max(most, square);
    }
    return std::sqrt(most);
  };
  return (0x1p-8 + 0x1p-17) * kScale * longest(text.query) * longest(text.key);
}

// The most by which they may move an output: each weight by a factor of e^(2 error of a logit) and
// its own rounding, and that of the total, 2^-8 together.
double output_error(const Text& text) {
  double most = 0;
  for (const float value : text.value) most = std::max(most, std::abs(static_cast<double>(value)));
  return (std::exp(2 * logit_error(text) + 0x1p-8) - 1) * most;
}

double root_mean_square(const std::vector<float>& got, const std::vector<double>& expected) {
  double sum = 0;
  for (size_t k = 0; k < got.size(); ++k) sum += (got[k] - expected[k]) * (got[k] - expected[k]);
  return std::sqrt(sum / static_cast<double>(got.size()));
}

// Undoes what it forces.
class Forced {
 public:
  ~Forced() {
    force_attention_target("");
    force_bf16_product_unit("");
  }
};

// float32 by every target and both caches; bfloat16 by every unit, within the most that rounding can
// do, and on the whole within what it does: both roundings of a logit and that of a weight have a
// root mean square of 2^-9 / sqrt(3) of their size, which for logits of unit size is less than 2^-8
// all together.
void check(const Rotary& rotary, const Text& text, AttentionOptions options, int64_t first_key,
           const ScoreBias& bias, const std::string& label) {
  const Forced forced;
  const Expected expected = reference(rotary, text, options.softcap, first_key, bias);
  for (const std::string& target : attention_targets()) {
    force_attention_target(target);
    for (const Result& got : {run<float>(rotary, text, options, first_key),
                              run<Bf16>(rotary, text, options, first_key)}) {
      EXPECT_LE(worst(got.out, expected.out), kBound) << label << " on " << target;
      EXPECT_LE(worst(got.log_sum_exp, expected.log_sum_exp), kBound) << label << " on " << target;
    }
    force_attention_target("");
  }
  options.products = Products::kBf16;
  for (const std::string& unit : bf16_product_units()) {
    force_bf16_product_unit(unit);
    const Result got = run<Bf16>(rotary, text, options, first_key);
    EXPECT_LE(root_mean_square(got.out, expected.out), 0x1p-8) << label << " by " << unit;
    EXPECT_LE(worst(got.log_sum_exp, expected.log_sum_exp), logit_error(text) + 0x1p-8)
        << label << " by " << unit;
    EXPECT_LE(worst(got.out, expected.out), output_error(text)) << label << " by " << unit;
  }
}

TEST(AttentionOptions, CapAndBiasAndBoth) {
  const Text text = text_of(kTokens, 1);
  std::vector<float> biases(kHeads * kTokens);
  std::mt19937 generator(5);
  std::normal_distribution<float> normal;
  for (float& bias : biases) bias = normal(generator);
  const ScoreBias as_table([&](int64_t head, int64_t i, int64_t j) {
    return static_cast<double>(biases[static_cast<size_t>(head * kTokens + i - j)]);
  });
  for (const Rotary& rotary : {plain(), capped()}) {
    check(rotary, text, {}, 0, {}, "nothing");
    check(rotary, text, {.softcap = 1.5F, .distance_bias = {}}, 0, {}, "cap");
    check(rotary, text, {.distance_bias = biases}, 0, as_table, "bias");
    check(rotary, text, {.softcap = 1.5F, .distance_bias = biases}, 0, as_table, "cap and bias");
  }
}

// ALiBi in full, and T5's buckets from a table that ends where the last bucket begins.
TEST(AttentionOptions, SlopesAndBuckets) {
  const Text text = text_of(kTokens, 2);
  const std::vector<double> slopes = alibi_slopes(kHeads);
  std::vector<float> line(kHeads * kTokens);
  for (int64_t h = 0; h < kHeads; ++h) {
    for (int64_t d = 0; d < kTokens; ++d)
      line[static_cast<size_t>(h * kTokens + d)] =
          static_cast<float>(-slopes[h] * static_cast<double>(d));
  }
  check(plain(), text, {.distance_bias = line}, 0, linear_bias(slopes), "slopes");

  constexpr int64_t kKnown = 100;
  std::vector<float> known(kHeads * kKnown);
  for (size_t k = 0; k < known.size(); ++k) known[k] = std::sin(static_cast<float>(k));
  const ScoreBias as_table([&](int64_t head, int64_t i, int64_t j) {
    return static_cast<double>(
        known[static_cast<size_t>(head * kKnown + std::min(i - j, kKnown - 1))]);
  });
  check(plain(), text, {.distance_bias = known}, 0, as_table, "buckets");
}

TEST(AttentionOptions, PaddingIsNotSeen) {
  const Text text = text_of(kTokens, 3);
  for (const Rotary& rotary : {plain(), capped()}) {
    for (const int64_t first_key : {1, 64, 100, 300, 332}) {
      check(rotary, text, {}, first_key, {}, "padding of " + std::to_string(first_key));
      const Result got = run<float>(rotary, text, {}, first_key);
      for (int64_t x = 0; x < first_key * kHeads * kHeadDim; ++x)
        ASSERT_EQ(got.out[static_cast<size_t>(x)], 0);
    }
  }
}

TEST(AttentionOptions, PaddingUnderACurveIsNotSeen) {
  Rotary rotary = plain();
  rotary.distance =
      DistanceMap([](int64_t d) { return DoubleDouble(std::sqrt(static_cast<double>(d))); });
  check(rotary, text_of(200, 4), {.softcap = 2}, 77, {}, "curve");
}

// Where every score of a row is no number, and where a cap or a bias comes after: still no plausible
// number comes out, by any target or unit.
TEST(AttentionOptions, WhatIsNotANumberStaysSo) {
  Text text = text_of(kTokens, 6);
  const int64_t row = 70;
  std::fill_n(text.query.begin() + row * kHeads * kHeadDim, kHeads * kHeadDim, std::nanf(""));
  std::fill_n(text.key.begin(), kKvHeads * kHeadDim, std::nanf(""));
  const std::vector<float> bias(kHeads, 0.5F);
  const Forced forced;
  for (AttentionOptions options :
       {AttentionOptions{}, AttentionOptions{.softcap = 2, .distance_bias = bias}}) {
    const auto check = [&](const Result& got, bool key_counts) {
      for (int64_t r = 0; r < kTokens; ++r) {
        const bool bad = key_counts || r == row;
        for (int64_t x = 0; x < kHeads * kHeadDim; ++x)
          ASSERT_EQ(std::isnan(got.out[static_cast<size_t>(r * kHeads * kHeadDim + x)]), bad) << r;
      }
    };
    for (const std::string& target : attention_targets()) {
      SCOPED_TRACE(target);
      force_attention_target(target);
      check(run<float>(plain(), text, options), true);
      // That key is padding, so its tile is one with hidden keys.
      check(run<float>(plain(), text, options, 1), false);
    }
    force_attention_target("");
    options.products = Products::kBf16;
    for (const std::string& unit : bf16_product_units()) {
      SCOPED_TRACE(unit);
      force_bf16_product_unit(unit);
      check(run<Bf16>(plain(), text, options), true);
    }
    force_bf16_product_unit("");
  }
}

// Sequences of a batch are what each is alone, to the bit.
template <typename Element>
void expect_batch_is_each(const AttentionOptions& options) {
  const Rotary rotary = capped();
  std::vector<Text> texts;
  std::vector<KvTiles<Element>> caches;
  std::vector<std::unique_ptr<Rotations>> rotations;
  std::vector<std::vector<float>> outs;
  std::vector<AttentionSequence<Element>> batch;
  const std::vector<float> scale(kTokens, kScale);
  const std::vector<int64_t> lengths = {75, 1, kTokens, 64};
  for (const int64_t n : lengths) {
    texts.push_back(text_of(n, static_cast<unsigned>(n)));
    caches.emplace_back(kKvHeads, kHeadDim, n);
    caches.back().store(0, n, texts.back().key.data(), texts.back().value.data());
    rotations.push_back(std::make_unique<Rotations>(rotary, n, 0, n, AngleMode::kExact));
    outs.emplace_back(texts.back().query.size());
  }
  for (size_t s = 0; s < texts.size(); ++s) {
    batch.push_back({.rotations = rotations[s].get(),
                     .kv = &caches[s],
                     .queries = texts[s].query.data(),
                     .row_scale = std::span(scale).first(static_cast<size_t>(lengths[s])),
                     .out = outs[s].data(),
                     .first_key = s == 0 ? 11 : 0,
                     .log_sum_exp = {}});
  }
  attend<Element>(batch, kHeads, options);
  for (size_t s = 0; s < texts.size(); ++s)
    EXPECT_EQ(outs[s], run<Element>(rotary, texts[s], options, batch[s].first_key).out) << s;
  attend<Element>({}, kHeads, options);
}

TEST(AttentionOptions, ABatchIsEachOfItsSequences) {
  expect_batch_is_each<float>({});
  expect_batch_is_each<Bf16>({.products = Products::kBf16});
}

TEST(AttentionOptions, UnitsAreNamedAndRefused) {
  EXPECT_THROW(force_bf16_product_unit("8087"), Error);
}

}  // namespace
}  // namespace ropewalk
