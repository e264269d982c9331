// Faults that public bug reports tell of, in tables of cosines (TAB, LNG, INI), by the codes of the
// project's collection: what is right is held to here. Tables hold the rows that were asked for, whatever
// length a model declares, so that there is no end to run past.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <type_traits>
#include <vector>

#include "ropewalk/kernels/rotations.h"
#include "ropewalk/math/turns.h"

namespace ropewalk {
namespace {

Rotary model(int64_t trained_length) {
  return plain_rotary({.base = 500000.0, .frequency_dim = 128, .trained_length = trained_length},
                      {PairOrder::kHalf, 128, 128});
}

// Cosine of query i against key j, from the tables.
double cosine(const Rotations& rotations, size_t pair, int64_t i, int64_t j) {
  const HeardPair& heard = rotations.heard(0)[pair];
  const int64_t row = i - rotations.first_row();
  return static_cast<double>(heard.query_cos[row]) * heard.key_cos[j] +
         static_cast<double>(heard.query_sin[row]) * heard.key_sin[j];
}

double exact_cosine(const Rotary& rotary, size_t pair, int64_t distance) {
  return cos_sin_at(DoubleDouble(distance), rotary.spectrum.at(1).turns_per_token[pair]).cos;
}

TEST(Reports, TAB_01_PositionsPastTheTrainedLengthHaveTheirRows) {
  const Rotary rotary = model(4096);
  for (const int64_t n : {4095, 4096, 4097, 5000}) {
    const Rotations rotations(rotary, n, n - 1, 1, AngleMode::kExact);
    for (const size_t pair : {0, 1, 63}) {
      EXPECT_NEAR(cosine(rotations, pair, n - 1, 0), exact_cosine(rotary, pair, n - 1), 2e-7);
    }
  }
}

// Rows of k tokens looked ahead, past what is there already.
TEST(Reports, TAB_04_RowsLookedAheadHaveTheirRows) {
  const Rotary rotary = model(4096);
  constexpr int64_t kAhead = 7;
  const Rotations rotations(rotary, 4096 + kAhead, 4096, kAhead, AngleMode::kExact);
  EXPECT_EQ(rotations.n_rows(), kAhead);
  EXPECT_NEAR(cosine(rotations, 0, 4096 + kAhead - 1, 4096 + kAhead - 1), 1, 2e-7);
  EXPECT_NEAR(cosine(rotations, 1, 4096 + kAhead - 1, 3),
              exact_cosine(rotary, 1, 4096 + kAhead - 4), 2e-7);
}

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

TEST(Reports, TAB_07_TablesGoByTheSequenceNotByTheDeclaredLength) {
  const double before = peak_megabytes();
  const Rotary rotary = model(10485760);
  const Rotations rotations(rotary, 64, 0, 64, AngleMode::kExact);
  EXPECT_NEAR(cosine(rotations, 5, 63, 2), exact_cosine(rotary, 5, 61), 2e-7);
  EXPECT_LT(peak_megabytes() - before, 100);
}

// A table one row longer is the same table where both have rows, bit for bit.
TEST(Reports, TAB_09_OneTokenMoreChangesNoEarlierRow) {
  const Rotary rotary = model(512);
  const Rotations wanted(rotary, 511, 0, 511, AngleMode::kExact);
  for (const int64_t n : {512, 513}) {
    const Rotations longer(rotary, n, 0, n, AngleMode::kExact);
    for (size_t pair = 0; pair < 64; ++pair) {
      for (int64_t row = 0; row < 511; ++row) {
        const HeardPair& a = wanted.heard(0)[pair];
        const HeardPair& b = longer.heard(0)[pair];
        ASSERT_EQ(a.query_cos[row], b.query_cos[row]);
        ASSERT_EQ(a.query_sin[row], b.query_sin[row]);
        ASSERT_EQ(a.key_cos[row], b.key_cos[row]);
        ASSERT_EQ(a.key_sin[row], b.key_sin[row]);
      }
    }
  }
}

// Factors of LongRoPE and their amplitude: each entry is the exact one, rounded once to float32.
TEST(Reports, LNG_08_TheTableIsExactAndFloat32) {
  Spectrum spectrum = model(4096).spectrum.at(1);
  for (size_t pair = 0; pair < 64; ++pair) {
    spectrum.turns_per_token[pair] /= 1 + static_cast<double>(pair);
  }
  spectrum.amplitude = std::sqrt(1 + std::log(32.0) / std::log(4096.0));
  const std::vector<DoubleDouble> positions = {1.0, 4095.0, 4096.0, 4097.0, 131071.0};
  RotationTable table(64, static_cast<int64_t>(positions.size()));
  fill_rotation_table(spectrum, AngleMode::kExact, positions, 0, table);
  static_assert(std::is_same_v<decltype(table.cos_of(0)), const float*>);
  for (int64_t pair = 0; pair < 64; ++pair) {
    for (size_t row = 0; row < positions.size(); ++row) {
      const CosSin exact = cos_sin_at(positions[row], spectrum.turns_per_token[pair]);
      EXPECT_FLOAT_EQ(table.cos_of(pair)[row], static_cast<float>(spectrum.amplitude * exact.cos));
      EXPECT_FLOAT_EQ(table.sin_of(pair)[row], static_cast<float>(spectrum.amplitude * exact.sin));
    }
  }
}

// What was made is filled: no table holds what memory held before, nor cosines that are all one.
TEST(Reports, INI_01_TablesAreFilledWhenTheyAreMade) {
  const Rotary rotary = model(4096);
  EXPECT_EQ(rotary.spectrum.at(1).inv_freq()[0], 1.0);
  const Rotations rotations(rotary, 4096, 0, 4096, AngleMode::kExact);
  ASSERT_EQ(rotations.heard(0).size(), 64u);
  EXPECT_NEAR(cosine(rotations, 0, 1, 0), std::cos(1.0), 2e-7);
  for (const HeardPair& heard : rotations.heard(0)) {
    bool turns = false;
    for (int64_t j = 0; j < 4096; ++j) {
      const double cos = heard.key_cos[j], sin = heard.key_sin[j];
      ASSERT_NEAR(cos * cos + sin * sin, 1, 3e-7);  // no NaN passes
      turns = turns || sin != 0;
    }
    EXPECT_TRUE(turns) << heard.pair;
  }
}

}  // namespace
}  // namespace ropewalk
