#include "ropewalk/kernels/rotations.h"

#include <gmock/gmock.h>

#include <cmath>

#include "ropewalk/base/error.h"
#include "ropewalk/math/turns.h"

namespace ropewalk {
namespace {

using testing::ElementsAre;

Rotary plain() {
  return plain_rotary({.base = 10000.0, .frequency_dim = 8, .trained_length = 64},
                      {PairOrder::kHalf, 8, 8});
}

// Slower with every token: a rule whose length shows in the table.
SpectrumRule rule(SpectrumRule::Length length, int64_t block = 1) {
  return {length, [](int64_t n) { return rope_spectrum(10000.0 + static_cast<double>(n), 8, 4); },
          block};
}

TEST(RotationSpans, SplitWhereTheLengthChanges) {
  using enum SpectrumRule::Length;
  EXPECT_THAT(rotation_spans(SpectrumRule(), 5, 1000), ElementsAre(5));
  EXPECT_THAT(rotation_spans(rule(kSequence), 5, 1000), ElementsAre(5));
  EXPECT_THAT(rotation_spans(rule(kToken), 5, 1000), ElementsAre(5));
  EXPECT_THAT(rotation_spans(rule(kBlock, 64), 0, 64), ElementsAre(0));
  EXPECT_THAT(rotation_spans(rule(kBlock, 64), 0, 65), ElementsAre(0, 64));
  EXPECT_THAT(rotation_spans(rule(kBlock, 64), 63, 130), ElementsAre(63, 64, 128));
  EXPECT_THAT(rotation_spans(rule(kBlock, 64), 64, 65), ElementsAre(64));
  EXPECT_THAT(rotation_spans(rule(kBlock, 1), 7, 10), ElementsAre(7, 8, 9));
}

// The angle between query i and key j that the tables of a heard pair make, as cos and sin.
CosSin difference(const HeardPair& pair, int64_t query_row, int64_t key_row) {
  const double qc = pair.query_cos[query_row];
  const double qs = pair.query_sin[query_row];
  const double kc = pair.key_cos[key_row];
  const double ks = pair.key_sin[key_row];
  return {.cos = qc * kc + qs * ks, .sin = qs * kc - qc * ks};
}

TEST(Rotations, TablesTurnByTheDistance) {
  const Rotary rotary = plain();
  const Rotations rotations(rotary, 100, 40, 60, AngleMode::kExact);
  ASSERT_EQ(rotations.plan().branches.size(), 1u);
  ASSERT_EQ(rotations.heard(0).size(), 4u);
  const Spectrum spectrum = rotary.spectrum.at(1);
  for (const HeardPair& pair : rotations.heard(0)) {
    for (const int64_t i : {40, 63, 99}) {
      for (const int64_t j : {int64_t{0}, int64_t{17}, i}) {
        const CosSin got = difference(pair, i - 40, j);
        const CosSin wanted = cos_sin_at(static_cast<double>(i - j),
                                         spectrum.turns_per_token[static_cast<size_t>(pair.pair)]);
        EXPECT_NEAR(got.cos, wanted.cos, 1.5e-7);
        EXPECT_NEAR(got.sin, wanted.sin, 1.5e-7);
      }
    }
  }
}

// Rows of a block, and every key they look at, turn with the spectrum of the block's end.
TEST(Rotations, ABlockTakesTheSpectrumOfItsEnd) {
  Rotary rotary = plain();
  rotary.spectrum = rule(SpectrumRule::Length::kBlock, 64);
  const Rotations open(rotary, 100, 64, 36, AngleMode::kExact);
  const Rotations closed(rotary, 300, 64, 64, AngleMode::kExact);
  const auto speed = [](double n) { return rope_spectrum(10000.0 + n, 8, 4).turns_per_token[1]; };
  EXPECT_EQ(open.heard(0)[1].key_sin[63], static_cast<float>(cos_sin_at(63.0, speed(100)).sin));
  EXPECT_EQ(closed.heard(0)[1].key_sin[63], static_cast<float>(cos_sin_at(63.0, speed(128)).sin));
}

// The cache fault: every token keeps the spectrum of its own time.
TEST(Rotations, TokensMayKeepTheirOwnSpectrum) {
  Rotary rotary = plain();
  rotary.spectrum = rule(SpectrumRule::Length::kToken);
  const Rotations rotations(rotary, 100, 0, 100, AngleMode::kExact);
  for (const int64_t t : {0, 1, 50, 99}) {
    const DoubleDouble speed =
        rope_spectrum(10000.0 + static_cast<double>(t + 1), 8, 4).turns_per_token[2];
    const auto wanted = static_cast<float>(cos_sin_at(static_cast<double>(t), speed).sin);
    EXPECT_EQ(rotations.heard(0)[2].query_sin[t], wanted);
    EXPECT_EQ(rotations.heard(0)[2].key_sin[t], wanted);
  }
}

TEST(Rotations, ACurveGoesByDistance) {
  Rotary rotary = plain();
  rotary.distance =
      DistanceMap([](int64_t d) { return DoubleDouble(std::sqrt(static_cast<double>(d))); });
  const Rotations rotations(rotary, 50, 0, 50, AngleMode::kExact);
  ASSERT_TRUE(rotations.plan().by_distance);
  const int64_t n = rotations.plan().n_by_distance;
  EXPECT_EQ(n, 50);
  const RotationTable& table = rotations.by_distance();
  for (const int64_t d : {0, 1, 2, 30, 49}) {
    const CosSin wanted =
        cos_sin_at(std::sqrt(static_cast<double>(d)), rotary.spectrum.at(1).turns_per_token[1]);
    EXPECT_EQ(table.cos_of(1)[Rotations::kDistanceMargin + n - 1 - d],
              static_cast<float>(wanted.cos));
  }
}

// Bands of pairs share a branch, and tables hold the pairs that are heard in them.
TEST(Rotations, BandsOfPairsHaveTheirOwnTables) {
  Rotary rotary = plain();
  Branch far{.first = 4, .query = {.offset = 2.0, .group = 2}, .key = {.group = 2}};
  far.bands = {{.pairs = {.first = 0, .last = 1}, .query = {}, .key = {}}};
  rotary.distance = DistanceMap({Branch{.last = 4}, far});
  const Rotations rotations(rotary, 32, 0, 32, AngleMode::kExact);
  ASSERT_EQ(rotations.plan().branches.size(), 2U);
  const std::vector<HeardPair>& near = rotations.heard(0);
  const std::vector<HeardPair>& banded = rotations.heard(1);
  ASSERT_EQ(banded.size(), 4U);
  for (const size_t pair : {0U, 1U}) EXPECT_EQ(banded[pair].key_cos, near[pair].key_cos);
  const Spectrum spectrum = rotary.spectrum.at(1);
  for (const HeardPair& pair : banded) {
    const double seen = pair.pair < 2 ? 31 - 6 : 15 + 2 - 3;
    const CosSin got = difference(pair, 31, 6);
    const CosSin wanted = cos_sin_at(seen, spectrum.turns_per_token[pair.pair]);
    EXPECT_NEAR(got.cos, wanted.cos, 1.5e-7);
    EXPECT_NEAR(got.sin, wanted.sin, 1.5e-7);
  }
  // All pairs at their own positions, and two of them in groups: six pairs, queries and keys; rows,
  // anchors to a whole line, and steps.
  constexpr int64_t kSteps = kSteadyRows + kStepsAgain;
  EXPECT_EQ(rotations.table_bytes(), 6 * (32 + 16 + kSteps) * 2 * 2 * 4);
}

// What the anchor and the step of a token make of the row's own entries.
void expect_steady(const SteadyRows& steady, const float* cos, const float* sin, int64_t first,
                   int64_t end) {
  ASSERT_NE(steady.anchor_cos, nullptr);
  for (int64_t token = first; token < end; ++token) {
    const int64_t anchor = token / kSteadyRows - first / kSteadyRows;
    for (int64_t step = token % kSteadyRows; step < kSteadyRows + kStepsAgain;
         step += kSteadyRows) {
      const float c = steady.anchor_cos[anchor] * steady.step_cos[step] -
                      steady.anchor_sin[anchor] * steady.step_sin[step];
      const float s = steady.anchor_sin[anchor] * steady.step_cos[step] +
                      steady.anchor_cos[anchor] * steady.step_sin[step];
      EXPECT_NEAR(c, cos[token - first], 2e-7) << token;
      EXPECT_NEAR(s, sin[token - first], 2e-7) << token;
    }
  }
}

TEST(Rotations, RowsThatRiseEvenlyAreAnchorsTimesSteps) {
  constexpr int64_t kFirst = 10037, kEnd = kFirst + 300;
  for (const Branch& far : {Branch{.first = 100}, Branch{.first = 100, .query = {.slope = 0.3}},
                            Branch{.first = 100, .query = {.offset = 7.0, .group = 8}}}) {
    Rotary rotary = plain();
    Branch near = far;
    near.first = 0;
    near.last = far.first;
    near.query = {};
    rotary.distance = DistanceMap({near, far});
    const Rotations rotations(rotary, kEnd, kFirst, kEnd - kFirst, AngleMode::kExact);
    for (size_t b = 0; b < rotations.plan().branches.size(); ++b) {
      for (const HeardPair& pair : rotations.heard(b)) {
        expect_steady(pair.query_steady, pair.query_cos, pair.query_sin, kFirst, kEnd);
        expect_steady(pair.key_steady, pair.key_cos, pair.key_sin, 0, kEnd);
      }
    }
  }
}

TEST(Rotations, OtherRowsAreNotSteady) {
  const auto steady = [](const Rotary& rotary, AngleMode mode) {
    const Rotations rotations(rotary, 300, 0, 300, mode);
    return rotations.heard(0)[0].query_steady.anchor_cos != nullptr;
  };
  EXPECT_TRUE(steady(plain(), AngleMode::kExact));
  EXPECT_FALSE(steady(plain(), AngleMode::kFloat32));
  for (const PositionMap& query :
       {PositionMap{.group = 3}, PositionMap{.period = 100}, PositionMap{.limit = 50}}) {
    Rotary rotary = plain();
    rotary.distance = DistanceMap({Branch{.query = query, .key = query}});
    EXPECT_FALSE(steady(rotary, AngleMode::kExact));
  }
}

TEST(Rotations, AMapMayDependOnTheLength) {
  Rotary rotary = plain();
  rotary.spectrum = SpectrumRule(SpectrumRule::Length::kSequence,
                                 [](int64_t) { return rope_spectrum(10000.0, 8, 4); });
  rotary.distance = DistanceMap::by_length([](int64_t n) {
    return n <= 50 ? DistanceMap() : piecewise_linear(n / 10, DoubleDouble(n / 10), 0.0);
  });
  EXPECT_EQ(Rotations(rotary, 50, 0, 50, AngleMode::kExact).plan().branches.size(), 1U);
  // Later rows may come: what counts is the whole sequence.
  const Rotations later(rotary, 100, 0, 50, AngleMode::kExact);
  ASSERT_EQ(later.plan().branches.size(), 2U);
  EXPECT_EQ(later.plan().branches[1].first, 10);
}

// ---- decay

Rotary fading(double per_token) {
  Rotary rotary = plain();
  Spectrum spectrum = rotary.spectrum.at(1);
  spectrum.decay = {-per_token, -per_token / 2, -per_token / 4, 0};
  rotary.spectrum = SpectrumRule(spectrum);
  return rotary;
}

// What the tables of every heard pair make between two tokens, against the definition.
void expect_defined(const Rotary& rotary, const Rotations& rotations, int64_t i, int64_t j,
                    double tolerance = 3e-7) {
  const Spectrum spectrum = rotary.spectrum.at(1);
  for (const HeardPair& pair : rotations.heard(0)) {
    const PairAngle angle = pair_angle(rotary, spectrum, spectrum, pair.pair, i, j);
    const CosSin phi = cos_sin_of_turns(angle.turns);
    const double gain = std::exp(angle.log_gain);
    const CosSin got = difference(pair, i - rotations.first_row(), j);
    EXPECT_NEAR(got.cos, phi.cos * gain, tolerance * gain + 1e-17)
        << pair.pair << ": " << i << " " << j;
    EXPECT_NEAR(got.sin, phi.sin * gain, tolerance * gain + 1e-17)
        << pair.pair << ": " << i << " " << j;
  }
}

TEST(RotationsDecay, LiesInTheTables) {
  for (const AngleMode mode : {AngleMode::kExact, AngleMode::kFloat32}) {
    const Rotary rotary = fading(0.1);
    const Rotations rotations(rotary, 100, 40, 60, mode);
    for (const int64_t i : {40, 63, 99}) {
      for (const int64_t j : {int64_t{0}, int64_t{17}, i}) {
        expect_defined(rotary, rotations, i, j, mode == AngleMode::kExact ? 3e-7 : 2e-5);
      }
    }
  }
}

// 0.1 per token: 512 rows share a centre, however a pass is cut.
TEST(RotationsDecay, SpansEndAtMultiplesOfTheBlock) {
  EXPECT_EQ(decay_block(fading(0.1).spectrum.at(1)), 512);
  EXPECT_EQ(decay_block(fading(1e3).spectrum.at(1)), 1);
  EXPECT_EQ(decay_block(plain().spectrum.at(1)), kUnbounded);
  EXPECT_EQ(decay_block(fading(1e-300).spectrum.at(1)), kUnbounded);
  EXPECT_THAT(rotation_spans(fading(0.1).spectrum, 5, 512), ElementsAre(5));
  EXPECT_THAT(rotation_spans(fading(0.1).spectrum, 5, 513), ElementsAre(5, 512));
  EXPECT_THAT(rotation_spans(fading(0.1).spectrum, 512, 1500), ElementsAre(512, 1024));
}

TEST(RotationsDecay, NoEntryDependsOnWhereAPassBegins) {
  const Rotary rotary = fading(0.1);
  const Rotations all(rotary, 1024, 512, 512, AngleMode::kExact);
  const Rotations late(rotary, 900, 890, 10, AngleMode::kExact);
  for (size_t pair = 0; pair < 4; ++pair) {
    const HeardPair& a = all.heard(0)[pair];
    const HeardPair& b = late.heard(0)[pair];
    for (int64_t i = 890; i < 900; ++i) {
      EXPECT_EQ(a.query_cos[i - 512], b.query_cos[i - 890]);
      EXPECT_EQ(a.query_sin[i - 512], b.query_sin[i - 890]);
    }
    for (int64_t j = 0; j < 900; ++j) {
      EXPECT_EQ(a.key_cos[j], b.key_cos[j]);
      EXPECT_EQ(a.key_sin[j], b.key_sin[j]);
    }
  }
}

// Far past the range of a float, and steeper than it from one token to the next.
TEST(RotationsDecay, FarKeysFadeAway) {
  for (const double per_token : {0.1, 3.0, 500.0}) {
    const Rotary rotary = fading(per_token);
    constexpr int64_t kLast = 20000;
    const Rotations rotations(rotary, kLast + 1, kLast, 1, AngleMode::kExact);
    for (const int64_t j : {int64_t{0}, kLast / 2, kLast - 300, kLast - 20, kLast - 1, kLast}) {
      expect_defined(rotary, rotations, kLast, j);
    }
    for (const HeardPair& pair : rotations.heard(0)) {
      for (int64_t j = 0; j <= kLast; ++j) {
        ASSERT_TRUE(std::isfinite(pair.key_cos[j]) && std::isfinite(pair.key_sin[j])) << j;
      }
    }
  }
}

TEST(RotationsDecay, GoesByTheDistanceOfACurve) {
  Rotary rotary = fading(0.1);
  rotary.distance =
      DistanceMap([](int64_t d) { return DoubleDouble(std::sqrt(static_cast<double>(d))); });
  const Rotations rotations(rotary, 50, 0, 50, AngleMode::kExact);
  const int64_t row = Rotations::kDistanceMargin + rotations.plan().n_by_distance - 1 - 36;
  const CosSin phi = cos_sin_at(6.0, rotary.spectrum.at(1).turns_per_token[1]);
  EXPECT_NEAR(rotations.by_distance().cos_of(1)[row], phi.cos * std::exp(-0.3), 6e-8);
  EXPECT_NEAR(rotations.by_distance().sin_of(1)[row], phi.sin * std::exp(-0.3), 6e-8);
}

TEST(RotationsDecay, RefusesWhatLeavesTheRange) {
  // Rows of several blocks.
  EXPECT_THROW(Rotations(fading(0.1), 5000, 0, 5000, AngleMode::kExact), Error);
  // A map that stretches a block.
  Rotary stretched = fading(0.1);
  stretched.distance = piecewise_linear(1, 1.0, 8.0);
  EXPECT_THROW(Rotations(stretched, 512, 0, 512, AngleMode::kExact), Error);
  EXPECT_NO_THROW(Rotations(fading(0.1), 512, 0, 512, AngleMode::kExact));
  // Keys with spectra of their own would need centres of their own.
  Rotary own = fading(0.1);
  own.spectrum = SpectrumRule(SpectrumRule::Length::kToken,
                              [spectrum = own.spectrum.at(1)](int64_t) { return spectrum; });
  EXPECT_THROW(Rotations(own, 50, 0, 50, AngleMode::kExact), Error);
}

}  // namespace
}  // namespace ropewalk
