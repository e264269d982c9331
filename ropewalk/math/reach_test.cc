#include "ropewalk/math/reach.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <ostream>
#include <string>

namespace ropewalk {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

constexpr double kPiDouble = std::numbers::pi;

struct Model {
  std::string name;
  double base;
  int64_t frequency_dim;
  int64_t trained_length;
  double critical_pair;
  int64_t full_turns;
  double longest_period;
  int64_t reach;

  Spectrum spectrum() const { return rope_spectrum(base, frequency_dim, frequency_dim / 2); }
};

void PrintTo(const Model& model, std::ostream* out) { *out << model.name; }

// Public models; critical pairs are given to two digits, periods to whole tokens.
const Model kModels[] = {
    {"Llama2", 1e4, 128, 4096, 45.03, 46, 54410, 1707},
    {"Llama3", 5e5, 128, 8192, 34.98, 35, 2559196, 18438},
    {"Qwen3", 1e6, 128, 32768, 39.65, 40, 5063256, 27115},
    {"CodeLlama", 1e6, 128, 16384, 36.44, 37, 5063256, 27115},
    {"Gemma1", 1e4, 256, 8192, 99.69, 100, 58470, 2653},
    {"Gemma3", 1e6, 256, 32768, 79.30, 80, 5640335, 71627},
    {"Phi3Mini", 1e4, 96, 4096, 33.77, 34, 51862, 1046},
    {"TinyLlama", 1e4, 64, 2048, 20.11, 21, 47117, 725},
    {"Stories260K", 1e4, 8, 512, 1.91, 2, 6283, 91},
    {"Aidreams260K", 1e4, 16, 128, 2.62, 3, 19869, 91},
};

class ReachOfModels : public ::testing::TestWithParam<Model> {};

TEST_P(ReachOfModels, AreAsPublished) {
  const Model& model = GetParam();
  EXPECT_NEAR(critical_pair(model.base, model.frequency_dim, model.trained_length),
              model.critical_pair, 0.005);
  EXPECT_EQ(full_turn_pairs(model.spectrum(), model.trained_length), model.full_turns);
  EXPECT_NEAR(longest_period(model.spectrum()), model.longest_period, 0.5);
  EXPECT_EQ(effective_reach(model.spectrum(), 0, 1 << 20), model.reach);
}

INSTANTIATE_TEST_SUITE_P(Models, ReachOfModels, ::testing::ValuesIn(kModels),
                         [](const auto& model) { return model.param.name; });

// Four pairs of 1, 0.1, 0.01 and 0.001 radians a token.
Spectrum decimal() { return rope_spectrum(10000.0, 8, 4); }

Rotary decimal_rotary() {
  return plain_rotary({.base = 10000.0, .frequency_dim = 8, .trained_length = 512},
                      {PairOrder::kHalf, 8, 8});
}

TEST(Turns, AreCountedWithinALength) {
  EXPECT_THAT(turns_within(decimal(), 512),
              ElementsAre(DoubleNear(512 / (2 * kPiDouble), 1e-13), DoubleNear(8.1487, 1e-4),
                          DoubleNear(0.81487, 1e-5), DoubleNear(0.081487, 1e-6)));
  EXPECT_EQ(full_turn_pairs(decimal(), 628), 2);
  EXPECT_EQ(full_turn_pairs(decimal(), 629), 3);
}

TEST(Turns, PairsThatStandStillMakeNone) {
  const Spectrum still = spectrum_of({DoubleDouble(1), DoubleDouble(0)});
  EXPECT_EQ(turns_within(still, 512)[1], 0);
  EXPECT_EQ(full_turn_pairs(still, 512), 1);
  EXPECT_NEAR(longest_period(still), 2 * kPiDouble, 1e-15);
  EXPECT_EQ(longest_period(spectrum_of({DoubleDouble(0)})), 0);
}

// Llama 2, in Liu et al. 2023.
TEST(Bases, CriticalDimensionOfLlama2) {
  EXPECT_EQ(critical_dimension(10000.0, 128, 4096), 92);
  EXPECT_NEAR(extrapolation_bound(1e6, 128, 92), 129027, 0.5);
  const SmallerBases smaller = smaller_bases(4096);
  EXPECT_NEAR(smaller.quarter_turn, 2608, 0.5);
  EXPECT_NEAR(smaller.half_turn, 1304, 0.5);
  EXPECT_NEAR(smaller.full_turn, 652, 0.5);
}

TEST(Bases, CriticalDimensionStaysWithinTheHead) {
  EXPECT_EQ(critical_dimension(10000.0, 8, 6), 0);
  EXPECT_EQ(critical_dimension(10.0, 8, 4096), 8);
}

// The base for a target moves the critical pair's turn there: for the trained length the base stays.
TEST(Bases, BaseForATargetKeepsTheCriticalPair) {
  EXPECT_NEAR(base_for_target(10000.0, 4096, 4096), 10000, 1e-9);
  const double base = base_for_target(10000.0, 4096, 16384);
  EXPECT_NEAR(critical_pair(base, 128, 16384), critical_pair(10000.0, 128, 4096), 1e-9);
  EXPECT_NEAR(reach_by_turn(10000.0, base, 4096), 16384, 1e-6);
}

// The theoretical pairs of LongRoPE2: 31 for Phi-3-mini at 2048 tokens, 35 for Llama 3 8B at 8192.
TEST(Bases, CriticalPairIsSearchedFromTenTurnsToOne) {
  const PairRange phi3 = critical_pair_search(10000.0, 96, 2048);
  EXPECT_EQ(phi3.last, 31);
  EXPECT_LE(phi3.first, 25);
  const PairRange llama3 = critical_pair_search(500000.0, 128, 8192);
  EXPECT_EQ(llama3.last, 35);
  EXPECT_LE(llama3.first, 30);
  EXPECT_NEAR(static_cast<double>(pair_of_turns(500000.0, 128, 10, 8192)),
              static_cast<double>(llama3.first), 1);
}

// The pair that made one radian, or one turn, over 1000 tokens of base 10000.
TEST(Bases, AFactorOf16OnTheBaseIsNotOneOfTheReach) {
  EXPECT_EQ(reach_by_radian(10000.0, 160000.0, 1000), 8000);
  EXPECT_NEAR(reach_by_turn(10000.0, 160000.0, 1000), 4600.594, 1e-3);
}

double sum_of_cosines(double m) {
  return std::cos(m) + std::cos(m / 10) + std::cos(m / 100) + std::cos(m / 1000);
}

TEST(LikeKeys, ScoreIsASumOfCosines) {
  EXPECT_EQ(like_key_score(decimal(), 0, 0), 4);
  const double at_20 = sum_of_cosines(20);
  EXPECT_NEAR(like_key_score(decimal(), 0, 20), at_20, 1e-15);
  EXPECT_NEAR(like_key_score(decimal(), 3, 20), at_20 + 3, 1e-15);
  Spectrum loud = decimal();
  loud.amplitude = 2;
  EXPECT_NEAR(like_key_score(loud, 3, 20), 4 * at_20 + 3, 1e-14);
}

// Tables decide the sign; it must be the one of the sum itself, over several of their blocks.
TEST(LikeKeys, ReachIsTheFirstNegativeScore) {
  int found = 0;
  for (int64_t frequency_dim : {8, 20, 64, 128}) {
    for (double base : {500.0, 3000.0, 20000.0}) {
      for (int64_t unrotated : {0, 1, 3}) {
        const Spectrum spectrum = rope_spectrum(base, frequency_dim, frequency_dim / 2);
        constexpr int64_t kLimit = 3000;
        std::optional<int64_t> first;
        for (int64_t m = 0; m < kLimit && !first; ++m) {
          if (like_key_score(spectrum, unrotated, m) < -1e-13) first = m;
        }
        found += first.has_value();
        EXPECT_EQ(effective_reach(spectrum, unrotated, kLimit), first)
            << frequency_dim << " " << base << " " << unrotated;
      }
    }
  }
  EXPECT_GT(found, 10);
}

TEST(LikeKeys, ReachIsBelowItsLimit) {
  EXPECT_EQ(effective_reach(decimal(), 0, 92), 91);
  EXPECT_EQ(effective_reach(decimal(), 0, 91), std::nullopt);
  EXPECT_EQ(effective_reach(decimal(), 0, 0), std::nullopt);
}

TEST(LikeKeys, HalfOfTheHeadUnrotatedAlwaysAttends) {
  EXPECT_TRUE(like_keys_always_attend(decimal(), 4));
  EXPECT_FALSE(like_keys_always_attend(decimal(), 3));
  EXPECT_EQ(effective_reach(decimal(), 4, 1 << 20), std::nullopt);
  // Pairs that stand still count as unrotated.
  const Spectrum half = spectrum_of({DoubleDouble(1), DoubleDouble(0.1), 0, 0});
  EXPECT_TRUE(like_keys_always_attend(half, 0));
  // Under an amplitude the rotated half weighs more.
  Spectrum loud = decimal();
  loud.amplitude = 1.5;
  EXPECT_FALSE(like_keys_always_attend(loud, 4));
}

// The definition of every angle, and the fast way, say the same.
TEST(LikeKeys, ReachOfARotaryIsThatOfItsSpectrum) {
  Rotary rotary = decimal_rotary();
  EXPECT_EQ(effective_reach(rotary, 4096), 91);
  rotary.distance = DistanceMap([](int64_t distance) { return DoubleDouble(distance); });
  EXPECT_EQ(effective_reach(rotary, 4096), 91);
}

TEST(LikeKeys, ReachUnderAMapAMaskOrAWindow) {
  Rotary capped = decimal_rotary();
  capped.distance = piecewise_linear(80, 80, 0);
  EXPECT_EQ(effective_reach(capped, 4096), std::nullopt);
  Rotary leaky = decimal_rotary();
  leaky.distance = piecewise_linear(80, 80, DoubleDouble(1) / 4);
  EXPECT_GE(sum_of_cosines(80 + 41 / 4.0), 0);
  EXPECT_LT(sum_of_cosines(80 + 42 / 4.0), 0);
  EXPECT_EQ(effective_reach(leaky, 4096), 80 + 42);
  Rotary windowed = decimal_rotary();
  windowed.visibility.window = 91;
  EXPECT_EQ(effective_reach(windowed, 4096), std::nullopt);
  Rotary masked = decimal_rotary();  // no pair is heard where its cosine is negative
  masked.mask = {.past = PairMask::Past::kSilent, .turns = 0.25};
  EXPECT_EQ(effective_reach(masked, 4096), std::nullopt);
}

TEST(LikeKeys, ReachOfAPartlyRotatedHead) {
  Rotary partial = plain_rotary({.base = 10000.0, .frequency_dim = 8, .trained_length = 512},
                                {PairOrder::kHalf, 16, 8});
  EXPECT_EQ(effective_reach(partial, 4096), std::nullopt);
}

TEST(LikeKeys, ReachOfASpectrumThatDependsOnTheLength) {
  Rotary rotary = decimal_rotary();
  const auto at = [](int64_t n) { return rope_spectrum(n > 512 ? 1e6 : 1e4, 8, 4); };
  rotary.spectrum = SpectrumRule(SpectrumRule::Length::kSequence, at);
  EXPECT_EQ(effective_reach(rotary, 512), 91);
  EXPECT_EQ(effective_reach(rotary, 1024), effective_reach(rope_spectrum(1e6, 8, 4), 0, 1024));
  rotary.spectrum = SpectrumRule(SpectrumRule::Length::kBlock, at, 64);
  EXPECT_EQ(effective_reach(rotary, 1024), 91);
}

// By the grid of 0.2 % in d = 128.
TEST(FeasibleBase, SmallestByExactScan) {
  for (const auto& [length, base] :
       {std::pair<int64_t, double>{1024, 4295}, {2048, 11594}, {4096, 28663}, {8192, 83808}}) {
    const std::optional<double> smallest = smallest_feasible_base(128, length);
    ASSERT_TRUE(smallest);
    EXPECT_NEAR(*smallest, base, 0.5) << length;
  }
}

// A larger base may fail where a smaller one does not.
TEST(FeasibleBase, IsNoInterval) {
  EXPECT_EQ(effective_reach(rope_spectrum(2.7e4, 128, 64), 0, 4096), 4079);
  EXPECT_FALSE(base_is_feasible(2.7e4, 128, 4096));
  const double smallest = smallest_feasible_base(128, 4096).value_or(0);
  EXPECT_TRUE(base_is_feasible(smallest, 128, 4096));
  int larger_that_fail = 0;
  for (double base = smallest; base < 40000; base *= 1.002) {
    larger_that_fail += !base_is_feasible(base, 128, 4096);
  }
  EXPECT_GT(larger_that_fail, 0);
}

TEST(FeasibleBase, OnePairNeverIs) { EXPECT_EQ(smallest_feasible_base(2, 64), std::nullopt); }

TEST(FeasibleBase, RulesOfThumb) {
  EXPECT_NEAR(fitted_feasible_base(4096) / 28663, 1.13, 0.01);
  EXPECT_NEAR(asymptotic_feasible_base(4096), 6644, 1);
}

TEST(PhaseBounds, AreWhatTheirFormulasSay) {
  EXPECT_NEAR(alias_bound(10000), 62831.853071795865, 1e-11);
  EXPECT_NEAR(stable_base(4096, 0.5), 4096 / (kPiDouble / 3), 1e-9);
  // Every layer must keep the root of it.
  EXPECT_NEAR(std::pow(std::cos(4096 / stable_base(4096, 0.5, 32)), 32), 0.5, 1e-12);
  EXPECT_GT(stable_base(4096, 0.5, 32), stable_base(4096, 0.5));
  EXPECT_EQ(precision_bound(0x1p-23), 8388608);
}

TEST(LogitScales, AreWhatTheirFormulasSay) {
  EXPECT_EQ(log_length_scale(100, 512), 1);
  EXPECT_NEAR(log_length_scale(512 * 512, 512), 2, 1e-15);
  EXPECT_EQ(yarn_logit_scale(1), 1);
  EXPECT_NEAR(yarn_logit_scale(8), std::pow(0.1 * std::log(8) + 1, 2), 1e-15);
  EXPECT_NEAR(drope_logit_scale(8, 0.3), 1 + 0.3 * std::log(8), 1e-15);
}

}  // namespace
}  // namespace ropewalk
