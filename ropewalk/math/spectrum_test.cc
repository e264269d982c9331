#include "ropewalk/math/spectrum.h"

#include <gtest/gtest.h>

#include "ropewalk/testing/exact_values.h"

namespace ropewalk {
namespace {

using Length = SpectrumRule::Length;

// A spectrum that tells which length it was asked for.
Spectrum marked(int64_t n) {
  return {.turns_per_token = {1.0}, .amplitude = static_cast<double>(n)};
}

TEST(SpectrumTest, PlainFrequenciesAreRight) {
  const auto fixture = exact_values::read_fixture("math/angles.json");
  for (const auto& row : fixture["inv_freq"]) {
    const int64_t dim = row["frequency_dim"];
    const auto inv_freq = rope_inv_freq(row["base"].get<double>(), dim, dim / 2);
    const Spectrum spectrum = rope_spectrum(row["base"].get<double>(), dim, dim / 2);
    const auto radians = spectrum.inv_freq();
    ASSERT_EQ(std::ssize(inv_freq), dim / 2);
    for (size_t column = 0; column < row["pairs"].size(); ++column) {
      const int64_t pair = row["pairs"][column];
      const DoubleDouble exact = exact_values::decimal_of(row["inv_freq"][column]);
      EXPECT_LE(exact_values::relative_error(inv_freq[pair], exact), 0x1p-101) << row;
      EXPECT_LE(exact_values::relative_error(spectrum.turns_per_token[pair], exact / kTwoPi),
                0x1p-101);
      EXPECT_EQ(radians[pair], exact.hi);
    }
  }
}

TEST(SpectrumTest, RemembersWhatItWasMadeFrom) {
  const Spectrum spectrum = rope_spectrum(500000, 128, 64);
  EXPECT_EQ(spectrum.base, 500000);
  EXPECT_EQ(spectrum.frequency_dim, 128);
  EXPECT_EQ(spectrum.n_pairs(), 64);
  EXPECT_EQ(spectrum.amplitude, 1);
  EXPECT_EQ(spectrum.logit_multiplier, 1);
  EXPECT_EQ(spectrum_of({1.0, 0.0}).base, 0);
  EXPECT_EQ(spectrum_of({1.0, 0.0}).turns_per_token[1], 0.0);
}

TEST(SpectrumRuleTest, FixedIsTheSameAtEveryLength) {
  const SpectrumRule rule(marked(5));
  EXPECT_EQ(rule.length(), Length::kFixed);
  EXPECT_EQ(rule.at(1).amplitude, 5);
  EXPECT_EQ(rule.at(1 << 20).amplitude, 5);
}

TEST(SpectrumRuleTest, LengthForRow) {
  const SpectrumRule sequence(Length::kSequence, marked);
  const SpectrumRule token(Length::kToken, marked);
  const SpectrumRule block(Length::kBlock, marked, 4);
  EXPECT_EQ(sequence.length_for_row(0, 10), 10);
  EXPECT_EQ(token.length_for_row(0, 10), 1);
  EXPECT_EQ(token.length_for_row(9, 10), 10);
  EXPECT_EQ(block.length_for_row(0, 10), 4);
  EXPECT_EQ(block.length_for_row(3, 10), 4);
  EXPECT_EQ(block.length_for_row(4, 10), 8);
  EXPECT_EQ(block.length_for_row(9, 10), 10);
  EXPECT_EQ(SpectrumRule(Length::kBlock, marked, INT64_MAX).length_for_row(9, 10), 10);
}

TEST(SpectrumRuleTest, EqualLengthsGiveEqualSpectra) {
  const SpectrumRule rule(Length::kSequence, marked);
  EXPECT_EQ(rule.at(7).amplitude, 7);
  EXPECT_EQ(rule.at(100).amplitude, 100);
  EXPECT_EQ(rule.at(7).amplitude, 7);
}

}  // namespace
}  // namespace ropewalk
