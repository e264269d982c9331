#include "ropewalk/math/rotary.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ropewalk/math/turns.h"

namespace ropewalk {
namespace {

using Past = PairMask::Past;

// Pairs that turn 1/4, 1/64 and 0 turns per token.
Rotary quarter_rotary() {
  Rotary rotary;
  rotary.layout = {PairOrder::kHalf, 6, 6};
  Spectrum spectrum;
  spectrum.turns_per_token = {0.25, 0x1p-6, 0.0};
  rotary.spectrum = SpectrumRule(spectrum);
  return rotary;
}

PairAngle angle(const Rotary& rotary, int64_t pair, int64_t i, int64_t j) {
  const Spectrum spectrum = rotary.spectrum.at(i + 1);
  return pair_angle(rotary, spectrum, spectrum, pair, i, j);
}

DoubleDouble turns(const Rotary& rotary, int64_t pair, int64_t i, int64_t j) {
  const PairAngle seen = angle(rotary, pair, i, j);
  EXPECT_FALSE(seen.silent);
  return seen.turns;
}

TEST(PairAngleTest, PlainIsDistanceTimesSpeed) {
  const Rotary rotary = quarter_rotary();
  EXPECT_EQ(turns(rotary, 0, 7, 7), 0.0);
  EXPECT_EQ(turns(rotary, 0, 8, 7), 0.25);
  EXPECT_EQ(turns(rotary, 0, 10, 7), -0.25);
  EXPECT_EQ(turns(rotary, 1, 23, 7), 0.25);
  EXPECT_EQ(turns(rotary, 2, 1000, 7), 0.0);
}

TEST(PairAngleTest, MapMovesOnlyItsPairs) {
  Rotary rotary = quarter_rotary();
  rotary.distance = piecewise_linear(8, 8.0, 0.0, {.first = 1, .last = 2});
  EXPECT_EQ(turns(rotary, 1, 100, 0), 8 * 0x1p-6);
  EXPECT_EQ(turns(rotary, 0, 101, 0), 0.25);
}

TEST(PairAngleTest, CurveWithEqualSpectra) {
  Rotary rotary = quarter_rotary();
  rotary.distance = DistanceMap([](int64_t d) { return sqrt(DoubleDouble(d)); });
  EXPECT_EQ(turns(rotary, 1, 164, 20), 12 * 0x1p-6);
}

TEST(PairAngleTest, DecayGoesByTheDistanceThatThePairTurnsBy) {
  Rotary rotary = quarter_rotary();
  Spectrum spectrum = rotary.spectrum.at(1);
  spectrum.decay = {-0.5, -0.25, -0.125};
  rotary.spectrum = SpectrumRule(spectrum);
  EXPECT_EQ(angle(rotary, 0, 10, 7).log_gain, -1.5);
  EXPECT_EQ(angle(rotary, 2, 10, 7).log_gain, -0.375);
  EXPECT_EQ(angle(quarter_rotary(), 0, 10, 7).log_gain, 0);
  rotary.distance = piecewise_linear(8, 8.0, 0.5, {.first = 1, .last = 2});
  EXPECT_EQ(angle(rotary, 0, 20, 0).log_gain, -10);
  EXPECT_EQ(angle(rotary, 1, 20, 0).log_gain, -0.25 * (8 + 6));
  // A frozen pair stays at the distance of its last turn: half a turn is two tokens, or 32.
  rotary.mask = {.past = Past::kFrozen, .turns = 0.5};
  EXPECT_EQ(angle(rotary, 0, 20, 0).log_gain, -1);
  EXPECT_EQ(angle(rotary, 1, 100, 0).log_gain, -8);
  EXPECT_EQ(angle(rotary, 2, 100, 0).log_gain, -0.125 * (8 + 46));
}

TEST(PairAngleTest, MaskSeesTheTrueDistance) {
  Rotary rotary = quarter_rotary();
  rotary.distance = piecewise_linear(2, 2.0, 0.0);
  rotary.mask = {.past = Past::kSilent, .turns = 1.5};
  EXPECT_FALSE(angle(rotary, 0, 6, 0).silent);
  EXPECT_TRUE(angle(rotary, 0, 7, 0).silent);
  EXPECT_FALSE(angle(rotary, 1, 96, 0).silent);
  EXPECT_TRUE(angle(rotary, 1, 97, 0).silent);
  EXPECT_FALSE(angle(rotary, 2, 1 << 20, 0).silent);
}

TEST(PairAngleTest, FrozenStaysAtTheMaskWhateverTheMap) {
  Rotary rotary = quarter_rotary();
  rotary.distance = piecewise_linear(2, 2.0, 0.0);
  rotary.mask = {.past = Past::kFrozen, .turns = 1.25};
  EXPECT_EQ(turns(rotary, 0, 5, 0), 0.5);   // heard: the map's 2 tokens
  EXPECT_EQ(turns(rotary, 0, 6, 0), 0.25);  // past it: 1.25 turns
  EXPECT_EQ(turns(rotary, 0, 1000, 0), 0.25);
}

TEST(PairAngleTest, SinksAreSeenFromWhereTheWindowEnds) {
  Rotary rotary = quarter_rotary();
  rotary.visibility = {.window = 10, .sinks = 2};
  // The query at 100 stands at 11 for sinks, so that sink 0 is 11 and sink 1 is 10 tokens away.
  EXPECT_EQ(turns(rotary, 1, 100, 0), 11 * 0x1p-6);
  EXPECT_EQ(turns(rotary, 1, 100, 1), 10 * 0x1p-6);
  EXPECT_EQ(turns(rotary, 1, 100, 91), 9 * 0x1p-6);
  rotary.distance = piecewise_linear(4, 4.0, 0.5);
  EXPECT_EQ(turns(rotary, 1, 100, 0), 7.5 * 0x1p-6);
}

TEST(PairAngleTest, SinksMayStayWhereTheyAre) {
  Rotary rotary = quarter_rotary();
  rotary.visibility = {.window = 10, .sinks = 2, .sinks_stay = true};
  EXPECT_EQ(turns(rotary, 1, 20, 0), 20 * 0x1p-6);
  rotary.distance = piecewise_linear(12, 12.0, 0.0);
  EXPECT_EQ(turns(rotary, 1, 20, 1), 12 * 0x1p-6);
  EXPECT_EQ(turns(rotary, 1, 20, 11), 9 * 0x1p-6);
}

TEST(PairAngleTest, BandsMoveTheirOwnPairs) {
  Rotary rotary = quarter_rotary();
  Branch far{.first = 8, .query = fixed_position(8.0), .key = fixed_position(0.0)};
  far.bands = {
      {.pairs = {.first = 0, .last = 0}, .query = fixed_position(5.0), .key = fixed_position(0.0)}};
  rotary.distance = DistanceMap({Branch{.last = 8}, far});
  EXPECT_EQ(turns(rotary, 0, 100, 0), 0.25);  // 5 tokens of a quarter turn
  EXPECT_EQ(turns(rotary, 1, 100, 0), 8 * 0x1p-6);
}

TEST(PairAngleTest, LengthIsGivenBefore) {
  Rotary rotary = quarter_rotary();
  rotary.distance = DistanceMap::by_length(
      [](int64_t n) { return piecewise_linear(n / 2, DoubleDouble(n / 2), 0.0); });
  EXPECT_EQ(turns(at_length(rotary, 16), 1, 100, 0), 8 * 0x1p-6);
  EXPECT_EQ(turns(at_length(rotary, 40), 1, 100, 0), 20 * 0x1p-6);
}

TEST(PairAngleTest, UnequalSpectraTurnEachSideByItsOwn) {
  const Rotary rotary = quarter_rotary();
  Spectrum query;
  query.turns_per_token = {0.125, 0x1p-7, 0.0};
  const Spectrum key = rotary.spectrum.at(1);
  EXPECT_EQ(pair_angle(rotary, query, key, 0, 3, 1).turns, 0.125);  // 3/8 - 1/4
  EXPECT_EQ(pair_angle(rotary, query, key, 0, 7, 1).turns, -0.375);
  EXPECT_EQ(pair_angle(rotary, query, key, 1, 8, 4).turns, 0.0);
}

TEST(PairAngleTest, UnequalSpectraUnderAMap) {
  Rotary rotary = quarter_rotary();
  Spectrum query;
  query.turns_per_token = {0.125, 0x1p-7, 0.0};
  const Spectrum key = rotary.spectrum.at(1);
  // Far branch of a cap: the query at 4, the key at 0.
  rotary.distance = piecewise_linear(4, 4.0, 0.0);
  EXPECT_EQ(pair_angle(rotary, query, key, 1, 9, 3).turns, 4 * 0x1p-7);
  // A curve: the key at 3, the query 6 past it.
  rotary.distance = DistanceMap([](int64_t d) { return DoubleDouble(d); });
  EXPECT_EQ(pair_angle(rotary, query, key, 1, 9, 3).turns, 9 * 0x1p-7 - 3 * 0x1p-6);
}

TEST(PairMaskTest, LastHeardIsExact) {
  const PairMask mask{.past = Past::kSilent, .turns = 1.0};
  EXPECT_EQ(mask.last_heard(0.25), 4);
  EXPECT_EQ(mask.last_heard(-0.25), 4);
  EXPECT_EQ(mask.last_heard(0.3), 3);
  EXPECT_EQ(mask.last_heard(DoubleDouble(0.25, 0x1p-90)), 3);
  EXPECT_EQ(mask.last_heard(DoubleDouble(0.25, -0x1p-90)), 4);
  EXPECT_EQ(mask.last_heard(0.0), kUnbounded);
  EXPECT_EQ(mask.last_heard(0x1p-60), kUnbounded);
  EXPECT_EQ(mask.last_heard(0x1p-40), int64_t{1} << 40);
  EXPECT_EQ(mask.last_heard(DoubleDouble(0x1p-40, 0x1p-110)), (int64_t{1} << 40) - 1);
  EXPECT_EQ((PairMask{.past = Past::kSilent, .turns = 0.0}.last_heard(0.5)), 0);
  EXPECT_EQ((PairMask{.past = Past::kHeard, .turns = 0.0}.last_heard(0.5)), kUnbounded);
}

TEST(PairMaskTest, LastHeardIsTheLastByItsDefinition) {
  for (int n = 1; n < 200; ++n) {
    const PairMask mask{.past = Past::kSilent, .turns = DoubleDouble(n) / 7};
    const DoubleDouble speed = DoubleDouble(3) / 1000;
    const DoubleDouble last = mask.last_heard(speed);
    // The product here is rounded, the decision was not.
    EXPECT_LE(last * speed, mask.turns * DoubleDouble(1, 0x1p-104));
    EXPECT_GE((last + 1.0) * speed, mask.turns);
  }
}

TEST(QueryTemperatureTest, GrowsPastTheTrainedLength) {
  EXPECT_EQ(QueryTemperature{}.at(1 << 20), 1);
  EXPECT_EQ((QueryTemperature{.factor = 1.5}.at(1 << 20)), 1.5);
  const QueryTemperature logn{.factor = 2, .log_length = 1024};
  EXPECT_EQ(logn.at(0), 2);
  EXPECT_EQ(logn.at(1023), 2);
  EXPECT_DOUBLE_EQ(logn.at((1 << 20) - 1), 4);
}

TEST(VisibilityTest, WindowAndSinks) {
  const Visibility visibility{.window = 4, .sinks = 2};
  EXPECT_TRUE(visibility.sees(9, 9));
  EXPECT_TRUE(visibility.sees(9, 6));
  EXPECT_FALSE(visibility.sees(9, 5));
  EXPECT_TRUE(visibility.sees(9, 1));
  EXPECT_FALSE(visibility.sees(9, 2));
  EXPECT_FALSE(visibility.sees(3, 4));
  EXPECT_EQ(visibility.standing(9, 6), 9);
  EXPECT_EQ(visibility.standing(9, 1), 5);
  EXPECT_EQ(visibility.standing(4, 0), 4);
  const Visibility staying{.window = 4, .sinks = 2, .sinks_stay = true};
  EXPECT_TRUE(staying.sees(9, 1));
  EXPECT_FALSE(staying.sees(9, 2));
  EXPECT_EQ(staying.standing(9, 1), 9);
}

TEST(PlainRotaryTest, IsPlain) {
  const Rotary rotary = plain_rotary({.base = 10000.0, .frequency_dim = 8, .trained_length = 16},
                                     {PairOrder::kInterleaved, 8, 6});
  EXPECT_EQ(rotary.spectrum.length(), SpectrumRule::Length::kFixed);
  EXPECT_EQ(rotary.spectrum.at(1).n_pairs(), 3);
  EXPECT_DOUBLE_EQ(rotary.spectrum.at(1).inv_freq()[1], 0.1);
  EXPECT_TRUE(rotary.distance.is_identity());
  EXPECT_EQ(rotary.mask.past, Past::kHeard);
}

}  // namespace
}  // namespace ropewalk
