#include "ropewalk/math/radix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ropewalk {
namespace {

using ::testing::ElementsAre;

// Base 10000 in four pairs is the decimal system.
Spectrum decimal() { return rope_spectrum(10000.0, 8, 4); }

Spectrum slowed(Spectrum spectrum, DoubleDouble factor) {
  for (DoubleDouble& turns : spectrum.turns_per_token) turns /= factor;
  return spectrum;
}

std::vector<double> values(const Spectrum& spectrum, int64_t position) {
  std::vector<double> list;
  for (const Digit& digit : digits_of(spectrum, position)) list.push_back(digit.value);
  return list;
}

TEST(Radix, DecimalDigitsOfBase10000) {
  EXPECT_THAT(values(decimal(), 1234), ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(values(decimal(), 9999), ElementsAre(9, 9, 9, 9));
  EXPECT_THAT(values(decimal(), 10000), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(values(decimal(), 0), ElementsAre(0, 0, 0, 0));
  for (const Digit& digit : digits_of(decimal(), 1)) EXPECT_EQ(digit.radix, 10);
}

TEST(Radix, EveryPositionBelowTheBaseHasItsDigits) {
  for (int64_t position = 0; position < 10000; ++position) {
    const std::vector<double> digits = values(decimal(), position);
    ASSERT_EQ(digits[0] + 10 * digits[1] + 100 * digits[2] + 1000 * digits[3], position);
  }
}

TEST(Radix, PlacesAreTokensAndReadingsHoldFractions) {
  const std::vector<Digit> digits = digits_of(decimal(), 1234);
  EXPECT_EQ(digits[0].place, 1);
  EXPECT_EQ(digits[3].place, 1000);
  EXPECT_EQ(digits[0].reading, 4);
  EXPECT_NEAR(digits[1].reading, 3.4, 1e-15);
  EXPECT_NEAR(digits[2].reading, 2.34, 1e-15);
  EXPECT_NEAR(digits[3].reading, 1.234, 1e-15);
}

// Linear scaling by 10 writes a tenth of the number: neighbours differ by a fraction of the lowest
// digit.
TEST(Radix, LinearScalingDividesTheNumber) {
  EXPECT_THAT(values(slowed(decimal(), 10.0), 12345), ElementsAre(4, 3, 2, 1));
  const std::vector<Digit> digits = digits_of(slowed(decimal(), 10.0), 12345);
  EXPECT_NEAR(digits[0].reading, 4.5, 1e-15);
  EXPECT_EQ(digits[0].place, 10);
  EXPECT_EQ(digits[0].radix, 10);
}

// The NTK base for a stretch of 8 makes 20 of the radix 10: the highest place is 8 times what it
// was, the lowest the same.
TEST(Radix, NtkWritesInALargerBase) {
  const Spectrum ntk = rope_spectrum(160000.0, 8, 4);
  EXPECT_THAT(values(ntk, 12345), ElementsAre(5, 17, 10, 1));
  const std::vector<Digit> digits = digits_of(ntk, 12345);
  EXPECT_EQ(digits[0].place, 1);
  EXPECT_EQ(digits[3].place, 8000);
  for (const Digit& digit : digits) EXPECT_EQ(digit.radix, 20);
}

TEST(Radix, UnequalPairsAreAMixedRadix) {
  const Spectrum mixed = spectrum_of({1, DoubleDouble(1) / 60, DoubleDouble(1) / 3600});
  EXPECT_THAT(values(mixed, 2 * 3600 + 34 * 60 + 56), ElementsAre(56, 34, 2));
  const std::vector<Digit> digits = digits_of(spectrum_of({1, DoubleDouble(1) / 24}), 30);
  EXPECT_EQ(digits[0].value, 6);
  EXPECT_EQ(digits[1].value, 1);
  EXPECT_EQ(digits[1].radix, 24);
}

TEST(Radix, PairsThatStandStillShowNothing) {
  const std::vector<Digit> digits = digits_of(spectrum_of({1, DoubleDouble(1) / 10, 0, 0}), 1234);
  EXPECT_EQ(digits[1].value, 3);
  EXPECT_EQ(digits[2].value, 0);
  EXPECT_EQ(digits[2].place, std::numeric_limits<double>::infinity());
  const std::vector<Digit> alone = digits_of(spectrum_of({1}), 1234);
  EXPECT_EQ(alone[0].value, 1234);
}

// beta of Llama is no whole number; the digit is what is left of floor(p / beta^i).
TEST(Radix, ABaseThatIsNoWholeNumber) {
  const double beta = std::pow(10000.0, 2.0 / 128);
  const std::vector<Digit> digits = digits_of(rope_spectrum(10000.0, 128, 64), 1000);
  for (size_t pair = 0; pair < 64; ++pair) {
    EXPECT_NEAR(digits[pair].radix, beta, 1e-14);
    EXPECT_GE(digits[pair].value, 0);
    EXPECT_LT(digits[pair].value, beta);
    if (pair % 16 == 0) continue;  // beta^16 is 10, which powers of a double miss
    const double whole = std::floor(1000 / std::pow(beta, static_cast<double>(pair)));
    EXPECT_NEAR(digits[pair].value, whole - std::floor(whole / beta) * beta, 1e-9) << pair;
  }
}

TEST(Radix, FarPositionsAreExact) {
  constexpr int64_t kFar = (int64_t{1} << 53) - 1;  // 9007199254740991
  EXPECT_THAT(values(decimal(), kFar), ElementsAre(1, 9, 9, 0));
}

}  // namespace
}  // namespace ropewalk
