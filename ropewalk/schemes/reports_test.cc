// Faults that public bug reports tell of, in formulas of frequencies (L3, YRN, DYN, PAR, CFG, BAS,
// SCH, TAB), by the codes of the project's collection: what is right is held to here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/math/turns.h"
#include "ropewalk/schemes/index_ramp.h"
#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk {
namespace {

Rotary model(double base, int64_t rotary_dim, int64_t trained_length = 0, int64_t head_dim = 0) {
  return plain_rotary({.base = base, .frequency_dim = rotary_dim, .trained_length = trained_length},
                      {PairOrder::kHalf, head_dim == 0 ? rotary_dim : head_dim, rotary_dim});
}

Spectrum spectrum_under(const std::string& scheme, const Rotary& declared, int64_t n = 1) {
  return apply_scheme(scheme, declared).spectrum.at(n);
}

std::vector<double> inv_freq_under(const std::string& scheme, const Rotary& declared) {
  return spectrum_under(scheme, declared).inv_freq();
}

// By how much each pair is slowed: what a file of divisors would hold.
std::vector<double> divisors_under(const std::string& scheme, const Rotary& declared) {
  std::vector<double> divisors = inv_freq_under("rope", declared);
  const std::vector<double> inv_freq = inv_freq_under(scheme, declared);
  for (size_t pair = 0; pair < divisors.size(); ++pair) divisors[pair] /= inv_freq[pair];
  return divisors;
}

// Equal to the seven digits that the collection gives.
void expect_digits(double got, double wanted) { EXPECT_NEAR(got / wanted, 1, 3e-7); }

// ---- L3, and CFG-08: the Llama 3 rule

const char* const kLlama31 = "llama3,factor=8,low=1,high=4,original=8192";
const char* const kLlama32 = "llama3,factor=32,low=1,high=4,original=8192";

// The fault was 1 / (1 - s) * factor + s in place of 1 / ((1 - s) / factor + s).
TEST(Reports, L3_01_MiddleBandOfLlama31) {
  const std::vector<double> divisors = divisors_under(kLlama31, model(500000, 128));
  for (size_t pair = 0; pair < 29; ++pair) EXPECT_EQ(divisors[pair], 1) << pair;
  for (size_t pair = 35; pair < 64; ++pair) EXPECT_NEAR(divisors[pair], 8, 1e-14) << pair;
  expect_digits(divisors[29], 1.207484);
  expect_digits(divisors[32], 2.694530);
  expect_digits(divisors[34], 5.257327);
}

TEST(Reports, L3_02_Llama32IsScaled) {
  const Rotary declared = model(500000, 64);
  const std::vector<double> plain = inv_freq_under("rope", declared);
  const std::vector<double> inv_freq = inv_freq_under(kLlama32, declared);
  for (size_t pair = 0; pair < 15; ++pair) EXPECT_EQ(inv_freq[pair], plain[pair]) << pair;
  expect_digits(inv_freq[15], 1.290548e-3);
  expect_digits(inv_freq[16], 4.295568e-4);
  expect_digits(inv_freq[17], 9.708288e-5);
  for (size_t pair = 18; pair < 32; ++pair) {
    EXPECT_NEAR(inv_freq[pair] * 32 / plain[pair], 1, 1e-15) << pair;
  }
  expect_digits(inv_freq[31], 9.418307e-8);
}

TEST(Reports, CFG_08_TheFactorThatIsGivenIsUsed) {
  const Rotary declared = model(500000, 64);
  expect_digits(inv_freq_under(kLlama32, declared)[31], 9.418307e-8);
  expect_digits(inv_freq_under(kLlama31, declared)[31], 3.767323e-7);
  EXPECT_THROW(parse_scheme("llama3,low=1,high=4,original=8192"), Error);  // it has no default
}

// ---- CFG-19, BAS-07

// The factor is on the positions, not on the power of the base.
TEST(Reports, CFG_19_LinearScalesTheAngle) {
  const Rotary declared = model(10000, 4);
  const Spectrum spectrum = spectrum_under("linear,factor=2", declared);
  EXPECT_THAT(spectrum.inv_freq(),
              ::testing::ElementsAre(0.5, ::testing::DoubleNear(0.005, 1e-17)));
  const CosSin at_8 = cos_sin_at(8, spectrum.turns_per_token[0]);
  EXPECT_NEAR(at_8.cos, std::cos(4.0), 1e-15);
  EXPECT_NEAR(at_8.sin, std::sin(4.0), 1e-15);
}

TEST(Reports, BAS_07_CandidatesMultiplyTheModelsOwnBase) {
  const Rotary declared = model(1e6, 128, 16384);
  const std::vector<std::string> candidates = candidate_schemes(16384, 32768);
  EXPECT_THAT(candidates, ::testing::Contains("ntk,factor=2"));
  EXPECT_NEAR(spectrum_under("ntk,factor=2", declared).base, 2022126, 0.5);
  for (const std::string& text : candidates) {
    const Rotary rotary = apply_scheme(text, declared);
    EXPECT_GE(rotary.spectrum.at(32768).base, 1e6) << text;
  }
}

// ---- YRN

struct Ramp {
  double low;
  double high;
};

Ramp ramp_of(const Rotary& declared, double fast, double slow, double length) {
  return {static_cast<double>(index_of_turns(declared.source, fast, length)),
          static_cast<double>(index_of_turns(declared.source, slow, length))};
}

TEST(Reports, YRN_01_YarnOfQwen) {
  const Rotary declared = model(1e6, 128);
  const Ramp raw = ramp_of(declared, 32, 1, 32768);
  EXPECT_NEAR(raw.low, 23.5959, 5e-5);
  EXPECT_NEAR(raw.high, 39.6509, 5e-5);
  const std::vector<double> inv_freq = inv_freq_under("yarn,factor=4,original=32768", declared);
  EXPECT_EQ(inv_freq[0], 1);
  EXPECT_EQ(inv_freq[23], inv_freq_under("rope", declared)[23]);
  expect_digits(inv_freq[23], 6.978306e-3);
  expect_digits(inv_freq[40], 4.445699e-5);
  expect_digits(inv_freq[63], 3.102344e-7);
}

// Its other end would be a negative index.
TEST(Reports, YRN_03_TheLowerEndMayBeTheFirstPair) {
  const Rotary declared = model(10000, 8);
  const Ramp raw = ramp_of(declared, 32, 1, 64);
  EXPECT_NEAR(raw.low, -0.4971, 5e-5);
  const std::vector<double> inv_freq = inv_freq_under("yarn,factor=4,original=64", declared);
  EXPECT_THAT(inv_freq, ::testing::ElementsAre(1, ::testing::DoubleNear(0.0625, 1e-16),
                                               ::testing::DoubleNear(0.0025, 1e-17),
                                               ::testing::DoubleNear(0.00025, 1e-18)));
}

TEST(Reports, YRN_03_EndsThatMeetAreNoDivisionByZero) {
  // Both ends at index 0: only the first pair stays.
  const std::vector<double> inv_freq =
      inv_freq_under("yarn,factor=4,original=6,beta_fast=1,beta_slow=1", model(10000, 8));
  EXPECT_THAT(inv_freq, ::testing::ElementsAre(1, ::testing::DoubleNear(0.025, 1e-16),
                                               ::testing::DoubleNear(0.0025, 1e-17),
                                               ::testing::DoubleNear(0.00025, 1e-18)));
}

TEST(Reports, YRN_06_SwappedBetasAreRefused) {
  const Rotary declared = model(1e6, 128, 32768);
  const Ramp swapped = ramp_of(declared, 1, 32, 32768);
  EXPECT_NEAR(swapped.low, 39.6509, 5e-5);
  EXPECT_NEAR(swapped.high, 23.5959, 5e-5);
  for (const char* scheme : {"yarn,factor=4,beta_fast=1,beta_slow=32",
                             "yarn,factor=4,ramp=turns,beta_fast=1,beta_slow=32",
                             "dynamic_yarn,beta_fast=1,beta_slow=32"}) {
    try {
      apply_scheme(scheme, declared);
      ADD_FAILURE() << scheme;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("beta_slow")) << scheme;
    }
  }
}

// The upper end is held to d - 1, not to the last pair.
TEST(Reports, YRN_09_TheUpperEndMayLiePastTheLastPair) {
  const Rotary declared = model(10000, 64);
  const Ramp raw = ramp_of(declared, 32, 1, 131072);
  EXPECT_NEAR(raw.low, 22.5134, 5e-5);
  EXPECT_NEAR(raw.high, 34.5546, 5e-5);
  const std::vector<double> inv_freq = inv_freq_under("yarn,factor=4,original=131072", declared);
  expect_digits(inv_freq[28], 2.067643e-4);
  expect_digits(inv_freq[31], 6.411161e-5);
}

// ---- DYN

TEST(Reports, DYN_01_TheBaseGrowsWithTheLength) {
  const SpectrumRule rule =
      apply_scheme("dynamic_ntk,factor=2,block=all", model(10000, 128, 4096)).spectrum;
  EXPECT_EQ(rule.at(4096).base, 10000);
  EXPECT_NEAR(rule.at(8192).base, 30527.74, 5e-3);
  EXPECT_NEAR(rule.at(16384).base, 72195.86, 5e-3);
  double before = 0;
  for (int64_t n = 1; n < 20000; n += 97) {
    const double base = rule.at(n).base;
    EXPECT_GE(base, before) << n;
    if (n <= 4096) {
      EXPECT_EQ(base, 10000) << n;
    }
    before = base;
  }
}

// Below half of the length the formula without its lower bound is no number.
TEST(Reports, DYN_02_ShortLengthsAreClamped) {
  const Rotary declared = model(10000, 128, 2048);
  EXPECT_EQ(spectrum_under("dynamic_ntk,factor=2", declared, 1024).base, 10000);
  EXPECT_EQ(spectrum_under("dynamic_ntk,factor=2", declared, 512).base, 10000);
}

const char* const kDynamic[] = {"dynamic_ntk", "dynamic_ntk,factor=2,block=all",
                                "dynamic_ntk,factor=8", "qwen_dynamic_ntk", "dynamic_yarn"};

// Bit for bit.
TEST(Reports, DYN_05_07_NothingChangesWithinTheTrainedLength) {
  const Rotary declared = model(10000, 128, 4096);
  const Spectrum plain = spectrum_under("rope", declared);
  for (const char* scheme : kDynamic) {
    for (int64_t n : {1, 2, 1000, 4095, 4096}) {
      const Spectrum spectrum = spectrum_under(scheme, declared, n);
      EXPECT_EQ(spectrum.turns_per_token, plain.turns_per_token) << scheme << " " << n;
      EXPECT_EQ(spectrum.amplitude, 1) << scheme << " " << n;
    }
    EXPECT_NE(spectrum_under(scheme, declared, 4097).turns_per_token, plain.turns_per_token)
        << scheme;
  }
}

// Nothing is remembered: short, long, short.
TEST(Reports, DYN_09_ALongSequenceChangesNoShortOneAfterIt) {
  for (const char* scheme : kDynamic) {
    const SpectrumRule rule = apply_scheme(scheme, model(10000, 128, 4096)).spectrum;
    const Spectrum first = rule.at(100);
    const Spectrum large = rule.at(100000);
    EXPECT_NE(large.turns_per_token, first.turns_per_token) << scheme;
    EXPECT_EQ(rule.at(100).turns_per_token, first.turns_per_token) << scheme;
  }
}

// ---- PAR

// The exponent runs over the rotated coordinates, and so does the pairing.
TEST(Reports, PAR_01_PartialRotaryCountsItsOwnWidth) {
  const Rotary declared = model(1e7, 64, 0, 256);
  const std::vector<double> inv_freq = inv_freq_under("rope", declared);
  ASSERT_EQ(inv_freq.size(), 32u);
  EXPECT_NEAR(inv_freq[1], 0.604296, 5e-7);
  expect_digits(inv_freq[31], 1.654817e-7);
  for (int64_t pair : {0, 1, 31}) {
    EXPECT_EQ(declared.layout.first(pair), pair);
    EXPECT_EQ(declared.layout.second(pair), pair + 32);
  }
}

TEST(Reports, PAR_05_ProportionalPairsAcrossTheWholeHead) {
  const Rotary declared = model(1e6, 512);
  const Rotary rotary = apply_scheme("proportional,rotating=64", declared);
  const std::vector<double> inv_freq = rotary.spectrum.at(1).inv_freq();
  ASSERT_EQ(inv_freq.size(), 256u);
  EXPECT_NEAR(inv_freq[1], 0.947464, 5e-7);
  expect_digits(inv_freq[63], 3.337625e-2);
  for (size_t pair = 64; pair < 256; ++pair) EXPECT_EQ(inv_freq[pair], 0) << pair;
  EXPECT_EQ(rotary.layout.first(63), 63);
  EXPECT_EQ(rotary.layout.second(63), 63 + 256);
}

// ---- EXT-02, EXT-04: one scaling at a time

// A model that declares a scaling is not scaled twice: the new one starts from the file's base.
TEST(Reports, EXT_02_AnotherScalingReplacesTheDeclaredOne) {
  const Rotary plain = model(500000, 128, 8192);
  const Rotary declared = apply_scheme(kLlama31, plain);
  EXPECT_NE(inv_freq_under("declared", declared), inv_freq_under("declared", plain));
  for (const char* const scheme : {"linear,factor=15", "ntk,factor=8", "rope"}) {
    EXPECT_EQ(inv_freq_under(scheme, declared), inv_freq_under(scheme, plain)) << scheme;
  }
  EXPECT_EQ(spectrum_under("dynamic_ntk,factor=8", declared, 131072).inv_freq(),
            spectrum_under("dynamic_ntk,factor=8", plain, 131072).inv_freq());
}

TEST(Reports, EXT_04_AlphasAreBasesAndGoWithNothingElse) {
  const Rotary declared = model(10000, 128);
  for (const auto& [alpha, base] :
       {std::pair<int, double>{2, 20221.26}, {4, 40889.94}, {8, 82684.62}}) {
    const std::string scheme = "ntk,factor=" + std::to_string(alpha);
    EXPECT_NEAR(spectrum_under(scheme, declared).base, base, 5e-3);
  }
  EXPECT_THROW(apply_scheme("linear,factor=2+ntk,factor=2", declared), Error);
}

// ---- SCH-12, TAB-02

// The curve p / (1 + p / 6144), as a function of the user and through points of a string.
TEST(Reports, SCH_12_AnyMonotoneCurveIsAMap) {
  const DistanceMap exact([](int64_t d) { return DoubleDouble(d) / (1 + DoubleDouble(d) / 6144); });
  const std::string text = "curve,points=0:0:512:472.61538461538464:3072:2048:6144:3072";
  const DistanceMap drawn = apply_scheme(text, model(10000, 128)).distance;
  for (const auto& [distance, seen] :
       {std::pair<int64_t, double>{512, 472.615}, {3072, 2048}, {6144, 3072}}) {
    EXPECT_NEAR(static_cast<double>(exact.at(distance, 0)), seen, 5e-4);
    EXPECT_NEAR(static_cast<double>(drawn.at(distance + 7, 7)), seen, 5e-4);
  }
}

// The length that turns are counted over bounds no table: another number than the trained length.
TEST(Reports, TAB_02_TheOriginalLengthIsNoCapacity) {
  const Rotary declared = model(500000, 128, 131072);
  const Rotary rotary = apply_scheme(kLlama31, declared);
  EXPECT_EQ(rotary.source.trained_length, 131072);
  EXPECT_NE(inv_freq_under(kLlama31, declared),
            inv_freq_under("llama3,factor=8,low=1,high=4", declared));
  const PairAngle angle =
      pair_angle(rotary, rotary.spectrum.at(1), rotary.spectrum.at(1), 40, 131071, 0);
  EXPECT_FALSE(angle.silent);
}

}  // namespace
}  // namespace ropewalk
