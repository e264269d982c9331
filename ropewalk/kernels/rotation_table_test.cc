#include "ropewalk/kernels/rotation_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "ropewalk/math/turns.h"
#include "ropewalk/testing/exact_values.h"

namespace ropewalk {
namespace {

Spectrum some_spectrum(double amplitude = 1) {
  Spectrum spectrum = rope_spectrum(10000.0, 32, 16);
  spectrum.amplitude = amplitude;
  return spectrum;
}

// Integers up to 2^40, fractions as leaky maps give them, and negative ones.
const std::vector<DoubleDouble> kPositions = {
    0.0,          1.0,
    2.0,          511.0,
    4096.0,       100000.0,
    1048577.0,    16777217.0,
    2147483649.0, 1099511627775.0,
    0.5,          DoubleDouble(256.0) + DoubleDouble(1.0) / 3.0,
    -1.0,         -4097.25};

TEST(RotationTable, ExactEntriesAreRoundedOnce) {
  for (const double amplitude : {1.0, 1.2079441541679836}) {
    const Spectrum spectrum = some_spectrum(amplitude);
    const auto rows = static_cast<int64_t>(kPositions.size());
    RotationTable table(spectrum.n_pairs(), rows);
    fill_rotation_table(spectrum, AngleMode::kExact, kPositions, 0, table);
    for (int64_t pair = 0; pair < spectrum.n_pairs(); ++pair) {
      for (int64_t r = 0; r < rows; ++r) {
        const CosSin exact = cos_sin_at(kPositions[r], spectrum.turns_per_token[pair]);
        EXPECT_EQ(table.cos_of(pair)[r], static_cast<float>(exact.cos * amplitude));
        EXPECT_EQ(table.sin_of(pair)[r], static_cast<float>(exact.sin * amplitude));
      }
    }
  }
}

// A table of some pairs has the rows that the table of all has.
TEST(RotationTable, SomePairsAlone) {
  const Spectrum spectrum = some_spectrum(1.25);
  const auto rows = static_cast<int64_t>(kPositions.size());
  const std::vector<int64_t> pairs = {1, 5, 6, 15};
  for (const AngleMode mode : {AngleMode::kExact, AngleMode::kFloat32}) {
    RotationTable all(spectrum.n_pairs(), rows);
    RotationTable some(std::ssize(pairs), rows);
    fill_rotation_table(spectrum, mode, kPositions, 0, all);
    fill_rotation_table(spectrum, pairs, mode, kPositions, 0, some);
    for (int64_t c = 0; c < std::ssize(pairs); ++c) {
      for (int64_t r = 0; r < rows; ++r) {
        EXPECT_EQ(some.cos_of(c)[r], all.cos_of(pairs[c])[r]) << pairs[c] << " " << r;
        EXPECT_EQ(some.sin_of(c)[r], all.sin_of(pairs[c])[r]) << pairs[c] << " " << r;
      }
    }
  }
}

// The comparison mode: every step in float. Frequencies that came as a list are multiplied once.
TEST(RotationTable, Float32EntriesOfAListAreOneProduct) {
  for (const double amplitude : {1.0, 1.2079441541679836}) {
    const std::vector<double> inv_freq = {1.0, 0.3, 0.01, 1.0 / 3000};
    Spectrum spectrum = spectrum_of({inv_freq.begin(), inv_freq.end()});
    spectrum.amplitude = amplitude;
    const auto rows = static_cast<int64_t>(kPositions.size());
    RotationTable table(4, rows);
    fill_rotation_table(spectrum, AngleMode::kFloat32, kPositions, 0, table);
    for (int64_t pair = 0; pair < 4; ++pair) {
      for (int64_t r = 0; r < rows; ++r) {
        const float angle = static_cast<float>(static_cast<double>(kPositions[r])) *
                            static_cast<float>(inv_freq[pair]);
        EXPECT_EQ(table.cos_of(pair)[r], std::cos(angle) * static_cast<float>(amplitude));
        EXPECT_EQ(table.sin_of(pair)[r], std::sin(angle) * static_cast<float>(amplitude));
      }
    }
  }
}

// What the mode is there to show: at long positions float32 is far off, exact entries are not.
TEST(RotationTable, Float32IsFarOffAtLongPositions) {
  const Spectrum spectrum = some_spectrum();
  const std::vector<DoubleDouble> far = {1000003.0};
  RotationTable exact(16, 1);
  RotationTable rounded(16, 1);
  fill_rotation_table(spectrum, AngleMode::kExact, far, 0, exact);
  fill_rotation_table(spectrum, AngleMode::kFloat32, far, 0, rounded);
  double worst = 0;
  for (int64_t pair = 0; pair < 16; ++pair)
    worst = std::max(worst, std::abs(static_cast<double>(exact.cos_of(pair)[0]) -
                                     static_cast<double>(rounded.cos_of(pair)[0])));
  EXPECT_GT(worst, 1e-3);
}

TEST(RotationTable, RowsArePaddedWithZerosAndFilledInParts) {
  const Spectrum spectrum = some_spectrum();
  for (const int64_t rows : {1, 15, 16, 17, 33}) {
    RotationTable whole(16, rows);
    EXPECT_GE(whole.stride, rows);
    EXPECT_EQ(whole.stride % 16, 0);
    std::vector<DoubleDouble> positions;
    for (int64_t r = 0; r < rows; ++r) positions.emplace_back(static_cast<double>(3 * r));
    for (const AngleMode mode : {AngleMode::kExact, AngleMode::kFloat32}) {
      fill_rotation_table(spectrum, mode, positions, 0, whole);
      RotationTable parts(16, rows);
      const auto all = std::span<const DoubleDouble>(positions);
      const auto cut = static_cast<size_t>(rows / 2);
      fill_rotation_table(spectrum, mode, all.first(cut), 0, parts);
      fill_rotation_table(spectrum, mode, all.subspan(cut), static_cast<int64_t>(cut), parts);
      for (int64_t pair = 0; pair < 16; ++pair) {
        for (int64_t r = 0; r < whole.stride; ++r) {
          EXPECT_EQ(whole.cos_of(pair)[r], parts.cos_of(pair)[r]);
          EXPECT_EQ(whole.sin_of(pair)[r], parts.sin_of(pair)[r]);
          if (r < rows) continue;
          EXPECT_EQ(whole.cos_of(pair)[r], 0);
          EXPECT_EQ(whole.sin_of(pair)[r], 0);
        }
      }
    }
  }
}

TEST(RotationTable, OneEntryOfTurns) {
  RotationTable table(2, 3);
  fill_rotation_entry(0.25, 1.5, 1, 2, table);
  EXPECT_EQ(table.cos_of(1)[2], 0);
  EXPECT_EQ(table.sin_of(1)[2], 1.5F);
  EXPECT_EQ(table.sin_of(0)[2], 0);
  EXPECT_EQ(table.sin_of(1)[1], 0);
}

}  // namespace
}  // namespace ropewalk
