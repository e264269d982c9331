#include "ropewalk/math/reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "ropewalk/math/turns.h"

namespace ropewalk {
namespace {

using Length = SpectrumRule::Length;

constexpr int64_t kFar = int64_t{1} << 40;

std::vector<double> random_values(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(count);
  for (double& value : values) value = normal(random);
  return values;
}

double dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

Rotary plain(PairOrder order, int64_t head_dim, int64_t rotary_dim) {
  return plain_rotary({.base = 10000.0, .frequency_dim = rotary_dim, .trained_length = 16},
                      {order, head_dim, rotary_dim});
}

void expect_near(std::span<const double> got, std::span<const double> wanted, double tolerance) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t c = 0; c < got.size(); ++c) EXPECT_NEAR(got[c], wanted[c], tolerance) << c;
}

TEST(ReferenceRotateTest, BothLayouts) {  // LAY-03
  const Spectrum spectrum = rope_spectrum(10000.0, 4, 2);
  const std::vector<double> x = {1, 2, 3, 4};
  expect_near(reference_rotate({PairOrder::kInterleaved, 4, 4}, spectrum, 1.0, x),
              std::vector{-1.142640, 1.922076, 2.959851, 4.029800}, 1e-6);
  expect_near(reference_rotate({PairOrder::kHalf, 4, 4}, spectrum, 1.0, x),
              std::vector{-1.984111, 1.959901, 2.462378, 4.019800}, 1e-6);
}

TEST(ReferenceRotateTest, LayoutsAgreeThroughThePermutation) {
  const auto half = random_values(16, 1);
  const auto source = interleaved_from_half(16, 12);
  std::vector<double> interleaved;
  for (const int64_t row : source) interleaved.push_back(half[row]);
  const Spectrum spectrum = rope_spectrum(10000.0, 12, 6);
  const auto half_turned = reference_rotate({PairOrder::kHalf, 16, 12}, spectrum, 77.0, half);
  const auto turned =
      reference_rotate({PairOrder::kInterleaved, 16, 12}, spectrum, 77.0, interleaved);
  for (int64_t c = 0; c < 16; ++c) EXPECT_EQ(turned[c], half_turned[source[c]]);
}

TEST(ReferenceRotateTest, PositionZeroIsTheIdentity) {  // LAY-02
  for (const PairOrder order : {PairOrder::kHalf, PairOrder::kInterleaved}) {
    for (const int64_t rotary_dim : {2, 6, 8}) {
      const auto x = random_values(8, 2);
      EXPECT_EQ(reference_rotate({order, 8, rotary_dim},
                                 rope_spectrum(10000.0, rotary_dim, rotary_dim / 2), 0.0, x),
                x);
    }
  }
}

TEST(ReferenceRotateTest, KeepsTheNorm) {
  const auto x = random_values(64, 3);
  for (const int64_t position : {int64_t{1}, int64_t{131071}, kFar - 1}) {
    const auto turned =
        reference_rotate({PairOrder::kHalf, 64, 64}, rope_spectrum(500000.0, 64, 32), position, x);
    EXPECT_NEAR(dot(turned, turned), dot(x, x), 1e-13);
  }
}

TEST(ReferenceRotateTest, AmplitudeLeavesPassingCoordinatesAlone) {
  Spectrum spectrum = rope_spectrum(10000.0, 4, 2);
  const auto x = random_values(6, 4);
  const auto plain_turn = reference_rotate({PairOrder::kHalf, 6, 4}, spectrum, 5.0, x);
  spectrum.amplitude = 1.25;
  const auto loud = reference_rotate({PairOrder::kHalf, 6, 4}, spectrum, 5.0, x);
  for (int64_t c = 0; c < 4; ++c) EXPECT_DOUBLE_EQ(loud[c], 1.25 * plain_turn[c]);
  EXPECT_EQ(loud[4], x[4]);
  EXPECT_EQ(loud[5], x[5]);
}

TEST(ReferenceLogitTest, IsTheProductOfRotatedHeads) {
  const auto q = random_values(24, 5);
  const auto k = random_values(24, 6);
  for (const PairOrder order : {PairOrder::kHalf, PairOrder::kInterleaved}) {
    const Rotary rotary = plain(order, 24, 16);
    Spectrum spectrum = rotary.spectrum.at(1);
    spectrum.amplitude = 1.1;
    for (const auto& [i, j] : {std::pair<int64_t, int64_t>{9, 2}, {1000, 1000}, {kFar, 12345}}) {
      const double rotated = dot(reference_rotate(rotary.layout, spectrum, i, q),
                                 reference_rotate(rotary.layout, spectrum, j, k));
      EXPECT_NEAR(reference_logit(rotary, spectrum, spectrum, i, j, q, k), rotated, 1e-13);
    }
  }
}

TEST(ReferenceLogitTest, IsTheProductOfHeadsThatDecay) {
  const auto q = random_values(24, 5);
  const auto k = random_values(24, 6);
  const Rotary rotary = plain(PairOrder::kHalf, 24, 16);
  Spectrum spectrum = rotary.spectrum.at(1);
  for (int64_t pair = 0; pair < 8; ++pair)
    spectrum.decay.push_back(-0.01 * static_cast<double>(pair));
  for (const auto& [i, j] : {std::pair<int64_t, int64_t>{9, 2}, {300, 290}, {300, 0}}) {
    const double rotated = dot(reference_rotate(rotary.layout, spectrum, i, q, HeadSide::kQuery),
                               reference_rotate(rotary.layout, spectrum, j, k, HeadSide::kKey));
    EXPECT_NEAR(reference_logit(rotary, spectrum, spectrum, i, j, q, k), rotated, 1e-13);
    EXPECT_NE(reference_logit(rotary, rotary.spectrum.at(1), rotary.spectrum.at(1), i, j, q, k),
              rotated);
  }
}

TEST(ReferenceLogitTest, DependsOnTheDistanceAlone) {
  const Rotary rotary = plain(PairOrder::kHalf, 64, 64);
  const Spectrum spectrum = rotary.spectrum.at(1);
  const auto q = random_values(64, 7);
  const auto k = random_values(64, 8);
  const double near = dot(reference_rotate(rotary.layout, spectrum, 300, q),
                          reference_rotate(rotary.layout, spectrum, 100, k));
  const double far = dot(reference_rotate(rotary.layout, spectrum, kFar + 200, q),
                         reference_rotate(rotary.layout, spectrum, kFar, k));
  EXPECT_NEAR(far, near, 1e-13);
  EXPECT_EQ(reference_logit(rotary, spectrum, spectrum, kFar + 200, kFar, q, k),
            reference_logit(rotary, spectrum, spectrum, 300, 100, q, k));
}

TEST(ReferenceLogitTest, MultiplierAndTemperatureReachEveryCoordinate) {
  Rotary rotary = plain(PairOrder::kHalf, 8, 4);
  Spectrum spectrum = rotary.spectrum.at(1);
  const auto q = random_values(8, 9);
  const auto k = random_values(8, 10);
  const double once = reference_logit(rotary, spectrum, spectrum, 1023, 4, q, k);
  spectrum.logit_multiplier = 3;
  rotary.temperature = {.factor = 1, .log_length = 32};
  EXPECT_DOUBLE_EQ(reference_logit(rotary, spectrum, spectrum, 1023, 4, q, k), 6 * once);
}

TEST(ReferenceLogitTest, SilentPairsAddNothing) {
  Rotary rotary = plain(PairOrder::kInterleaved, 4, 4);
  rotary.mask = {.past = PairMask::Past::kSilent, .turns = 1.0};
  const Spectrum spectrum = rotary.spectrum.at(1);
  const std::vector<double> fast = {1, 2, 0, 0};
  EXPECT_NE(reference_logit(rotary, spectrum, spectrum, 6, 0, fast, fast), 0);
  EXPECT_EQ(reference_logit(rotary, spectrum, spectrum, 7, 0, fast, fast), 0);  // 7 > 2 pi
}

// Attention written once more, from rotated heads: plain RoPE with grouped keys.
TEST(ReferenceAttentionTest, PlainRopeWithGroupedKeys) {
  constexpr int64_t kTokens = 9, kHeads = 4, kKvHeads = 2, kDim = 8;
  const Rotary rotary = plain(PairOrder::kHalf, kDim, kDim);
  const Spectrum spectrum = rotary.spectrum.at(kTokens);
  const auto q = random_values(kTokens * kHeads * kDim, 11);
  const auto k = random_values(kTokens * kKvHeads * kDim, 12);
  const auto v = random_values(kTokens * kKvHeads * kDim, 13);
  const auto out = reference_attention(
      rotary, {.n_tokens = kTokens, .n_heads = kHeads, .n_kv_heads = kKvHeads, .scale = {}}, q, k,
      v);

  for (int64_t i = 0; i < kTokens; ++i) {
    for (int64_t head = 0; head < kHeads; ++head) {
      const auto q_head = std::span(q).subspan((i * kHeads + head) * kDim, kDim);
      const auto q_turned = reference_rotate(rotary.layout, spectrum, i, q_head);
      std::vector<double> wanted(kDim);
      double sum = 0;
      for (int64_t j = 0; j <= i; ++j) {
        const int64_t row = (j * kKvHeads + head / 2) * kDim;
        const auto k_turned =
            reference_rotate(rotary.layout, spectrum, j, std::span(k).subspan(row, kDim));
        const double weight = std::exp(dot(q_turned, k_turned) / std::sqrt(8.0));
        sum += weight;
        for (int64_t c = 0; c < kDim; ++c) wanted[c] += weight * v[row + c];
      }
      for (double& value : wanted) value /= sum;
      expect_near(std::span(out).subspan((i * kHeads + head) * kDim, kDim), wanted, 1e-13);
    }
  }
}

struct SmallHead {
  Rotary rotary = plain(PairOrder::kHalf, 4, 4);
  int64_t n_tokens = 12;
  std::vector<double> q = random_values(12 * 4, 14);
  std::vector<double> k = random_values(12 * 4, 15);
  std::vector<double> v = random_values(12 * 4, 16);

  std::vector<double> attend(int64_t n, const ScoreBias& bias = {}) const {
    const auto used = [n](const std::vector<double>& values) {
      return std::span(values).first(n * 4);
    };
    return reference_attention(rotary, {.n_tokens = n, .n_heads = 1, .n_kv_heads = 1, .scale = {}},
                               used(q), used(k), used(v), bias);
  }
};

TEST(ReferenceAttentionTest, WindowOfOneReturnsTheValues) {
  SmallHead head;
  head.rotary.visibility.window = 1;
  EXPECT_EQ(head.attend(12), head.v);
}

TEST(ReferenceAttentionTest, SinksAreSeenPastTheWindow) {
  SmallHead head;
  head.rotary.visibility = {.window = 1, .sinks = 1};
  // The last row sees itself and key 0 from position 1.
  const Spectrum spectrum = head.rotary.spectrum.at(12);
  const std::span<const double> q = std::span(head.q).last(4);
  const auto logit = [&](int64_t i, int64_t j, std::span<const double> key) {
    return dot(reference_rotate(head.rotary.layout, spectrum, i, q),
               reference_rotate(head.rotary.layout, spectrum, j, key)) /
           2;
  };
  const double own = std::exp(logit(11, 11, std::span(head.k).last(4)));
  const double sink = std::exp(logit(1, 0, std::span(head.k).first(4)));
  std::vector<double> wanted;
  for (int64_t c = 0; c < 4; ++c) {
    wanted.push_back((own * head.v[44 + c] + sink * head.v[c]) / (own + sink));
  }
  const auto out = head.attend(12);
  expect_near(std::span(out).last(4), wanted, 1e-14);
}

TEST(ReferenceAttentionTest, BiasIsAddedToScaledLogits) {
  SmallHead head;
  const ScoreBias only_first([](int64_t, int64_t, int64_t j) { return j == 0 ? 0.0 : -1e4; });
  const auto out = head.attend(12, only_first);
  for (int64_t i = 0; i < 12; ++i) {
    expect_near(std::span(out).subspan(i * 4, 4), std::span(head.v).first(4), 1e-14);
  }
}

// base grows with the length, as dynamic NTK has it.
Spectrum longer_slower(int64_t n) { return rope_spectrum(10000.0 * static_cast<double>(n), 4, 2); }

TEST(ReferenceAttentionTest, SequenceLengthMovesEarlierRows) {
  SmallHead head;
  head.rotary.spectrum = SpectrumRule(Length::kSequence, longer_slower);
  const auto all = head.attend(12);
  const auto fewer = head.attend(8);
  EXPECT_GT(std::fabs(all[7 * 4] - fewer[7 * 4]), 1e-6);
}

TEST(ReferenceAttentionTest, BlockLengthKeepsFullBlocks) {
  SmallHead head;
  head.rotary.spectrum = SpectrumRule(Length::kBlock, longer_slower, 4);
  const auto all = head.attend(12);
  const auto fewer = head.attend(8);
  expect_near(std::span(all).first(32), fewer, 0);

  // Each block is what a sequence that ends with it gives.
  SmallHead whole;
  whole.rotary.spectrum = SpectrumRule(Length::kSequence, longer_slower);
  const auto sequence = whole.attend(8);
  expect_near(std::span(fewer).last(16), std::span(sequence).last(16), 0);
}

TEST(ReferenceAttentionTest, TokenLengthGivesKeysTheirOwnSpectrum) {
  SmallHead head;
  head.rotary.spectrum = SpectrumRule(Length::kToken, longer_slower);
  const auto out = head.attend(2);
  const auto turned = [&](const std::vector<double>& values, int64_t t) {
    return reference_rotate(head.rotary.layout, longer_slower(t + 1), t,
                            std::span(values).subspan(t * 4, 4));
  };
  const double first = std::exp(dot(turned(head.q, 1), turned(head.k, 0)) / 2);
  const double second = std::exp(dot(turned(head.q, 1), turned(head.k, 1)) / 2);
  std::vector<double> wanted;
  for (int64_t c = 0; c < 4; ++c) {
    wanted.push_back((first * head.v[c] + second * head.v[4 + c]) / (first + second));
  }
  expect_near(std::span(out).last(4), wanted, 1e-14);
}

}  // namespace
}  // namespace ropewalk
