#include "ropewalk/kernels/rotation_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/kernels/rotation_table.h"
#include "ropewalk/math/turns.h"
#include "ropewalk/testing/exact_values.h"
#include "ropewalk/testing/simd_targets.h"

namespace ropewalk {
namespace {

using exact_values::float_ulps;
using exact_values::ulps;

struct Exact {
  DoubleDouble cos;
  DoubleDouble sin;
};

// cos and sin of 2 pi * turns to 2^-98 or so, by their series in double-double.
Exact exact_at(DoubleDouble position, DoubleDouble turns_per_token) {
  const DoubleDouble x = kTwoPi * fraction_of_turn(position, turns_per_token);
  DoubleDouble term = 1.0;
  Exact sum{1.0, 0.0};
  for (int n = 1; n <= 40; ++n) {
    term = term * x / n;
    DoubleDouble& part = n % 2 == 0 ? sum.cos : sum.sin;
    n / 2 % 2 == 0 ? part += term : part -= term;
  }
  return sum;
}

// The contract of each type.
void expect_entry(float got, DoubleDouble exact) {
  if (abs(exact) > 0x1p-38) {
    EXPECT_LE(float_ulps(got, exact), 1);
  }
}
void expect_entry(double got, DoubleDouble exact) {
  if (abs(exact) > 0x1p-10) {
    EXPECT_LE(ulps(got, exact), 2);
  } else {
    EXPECT_LE(abs(DoubleDouble(got) - exact), 0x1p-62);
  }
}
void expect_entry(Bf16 got, DoubleDouble exact) {
  if (abs(exact) <= 0x1p-38) return;
  const double ulp = std::ldexp(1.0, std::ilogb(exact.hi) - 7);
  EXPECT_LE(abs(DoubleDouble(to_float(got)) - exact), 0.5001 * ulp);
}
void expect_entry(F16 got, DoubleDouble exact) {
  const double ulp = std::ldexp(1.0, std::max(std::ilogb(exact.hi), -14) - 10);
  EXPECT_LE(abs(DoubleDouble(to_float(got)) - exact), 0.5001 * ulp);
}

template <typename Element>
void expect_table(const Spectrum& spectrum, const std::vector<DoubleDouble>& positions) {
  const auto table =
      rotation_rows<Element>(spectrum, RowPositions::list(positions), TableAmplitude::kLeftOut);
  for (int64_t r = 0; r < table.n_rows; ++r) {
    for (int64_t pair = 0; pair < table.n_pairs; ++pair) {
      SCOPED_TRACE(std::to_string(positions[r].hi) + " of pair " + std::to_string(pair));
      const Exact exact = exact_at(positions[r], spectrum.turns_per_token[pair]);
      expect_entry(table.cos_of(r)[pair], exact.cos);
      expect_entry(table.sin_of(r)[pair], exact.sin);
    }
    for (int64_t pair = table.n_pairs; pair < table.pair_stride; ++pair) {
      const Exact exact{1.0, 0.0};
      expect_entry(table.cos_of(r)[pair], exact.cos);
      expect_entry(table.sin_of(r)[pair], exact.sin);
    }
  }
}

// Log-uniform up to 2^40 in size, some negative, some with fractions.
std::vector<DoubleDouble> random_positions(int count, unsigned seed) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> power(0, 40);
  std::vector<DoubleDouble> positions;
  for (int k = 0; k < count; ++k) {
    const double whole = std::floor(std::exp2(power(generator)));
    switch (generator() % 8) {
      case 0:
        positions.emplace_back(-whole);
        break;
      case 1:
        positions.push_back(DoubleDouble(whole) / 3);
        break;
      default:
        positions.emplace_back(whole);
    }
  }
  return positions;
}

TEST(RotationRows, EveryTypeIsExactFarOutOnEveryTarget) {
  on_every_target([] {
    for (const double base : {1e2, 1e4, 5e5, 1e9}) {
      const Spectrum spectrum = rope_spectrum(base, 80, 40);
      const auto positions = random_positions(40, static_cast<unsigned>(base));
      expect_table<float>(spectrum, positions);
      expect_table<double>(spectrum, positions);
      expect_table<Bf16>(spectrum, positions);
      expect_table<F16>(spectrum, positions);
    }
  });
}

// 1e5 draws, both kinds of table.
TEST(RotationRows, DrawsAtAnyPositionAreWithinTheBound) {
  double worst = 0;
  double worst_double = 0;
  for (const double base : {1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9}) {
    const Spectrum spectrum = rope_spectrum(base, 128, 64);
    const auto positions = random_positions(200, static_cast<unsigned>(base) + 1);
    const auto rows = RowPositions::list(positions);
    const auto floats = rotation_rows<float>(spectrum, rows, TableAmplitude::kLeftOut);
    const auto doubles = rotation_rows<double>(spectrum, rows, TableAmplitude::kLeftOut);
    for (int64_t r = 0; r < rows.count(); ++r) {
      for (int64_t pair = 0; pair < 64; ++pair) {
        const Exact exact = exact_at(positions[r], spectrum.turns_per_token[pair]);
        const auto hold = [&](float got, double got_double, DoubleDouble value) {
          expect_entry(got, value);
          expect_entry(got_double, value);
          if (abs(value) > 0x1p-38) worst = std::max(worst, float_ulps(got, value));
          if (abs(value) > 0x1p-10) worst_double = std::max(worst_double, ulps(got_double, value));
        };
        hold(floats.cos_of(r)[pair], doubles.cos_of(r)[pair], exact.cos);
        hold(floats.sin_of(r)[pair], doubles.sin_of(r)[pair], exact.sin);
      }
    }
  }
  RecordProperty("worst_float_ulps", std::to_string(worst));
  RecordProperty("worst_double_ulps", std::to_string(worst_double));
}

// A long run: entries come from products there, small ones do not.
TEST(RotationRows, RunsAreWithinTheBoundOnEveryTarget) {
  on_every_target([] {
    for (const int64_t first : {int64_t{-70}, int64_t{100000}, (int64_t{1} << 40) - 500}) {
      for (const double base : {1e2, 1e9}) {
        const Spectrum spectrum = rope_spectrum(base, 32, 16);
        const auto rows = RowPositions::range(first, 400);
        const auto table = rotation_rows<float>(spectrum, rows, TableAmplitude::kLeftOut);
        for (int64_t r = 0; r < rows.count(); ++r) {
          for (int64_t pair = 0; pair < 16; ++pair) {
            const Exact exact = exact_at(rows.at(r, 0), spectrum.turns_per_token[pair]);
            expect_entry(table.cos_of(r)[pair], exact.cos);
            expect_entry(table.sin_of(r)[pair], exact.sin);
          }
        }
      }
    }
  });
}

// Angles of whole quarters and of next to nothing.
TEST(RotationRows, ZerosAndTheirNeighbours) {
  on_every_target([] {
    Spectrum spectrum;
    spectrum.turns_per_token = {0.25,    0.125,
                                0.0,     DoubleDouble(0.25) + 0x1p-30,
                                0x1p-36, DoubleDouble(0.125) - 0x1p-34,
                                0.5,     DoubleDouble(1) / 6};
    expect_table<float>(spectrum, random_positions(300, 5));
    expect_table<double>(spectrum, random_positions(300, 5));
    std::vector<DoubleDouble> run;
    for (int p = 0; p < 100; ++p) run.emplace_back(p);
    expect_table<float>(spectrum, run);
    const auto table =
        rotation_rows<float>(spectrum, RowPositions::list(run), TableAmplitude::kLeftOut);
    for (int64_t r = 0; r < 100; ++r) {
      EXPECT_EQ(table.cos_of(r)[2], 1);
      EXPECT_EQ(table.sin_of(r)[2], 0);
      EXPECT_EQ(table.sin_of(r)[6], 0);
      EXPECT_EQ(table.cos_of(r)[6], r % 2 == 0 ? 1 : -1);
    }
  });
}

template <typename Element>
bool equal_rows(const RotationRows<Element>& a, int64_t row_a, const RotationRows<Element>& b,
                int64_t row_b) {
  const auto bytes = static_cast<size_t>(a.pair_stride) * 2 * sizeof(Element);
  return a.pair_stride == b.pair_stride &&
         std::memcmp(a.cos_of(row_a), b.cos_of(row_b), bytes) == 0;
}

// One position has one entry: in a range, a list, a part, another thread's share, by axes, alone,
// and in the tables by pairs.
TEST(RotationRows, EqualPositionsGiveEqualBits) {
  on_every_target([] {
    Spectrum spectrum = rope_spectrum(1e6, 96, 48);
    spectrum.amplitude = 1.2079441541679836;
    constexpr int64_t kFirst = 99990;
    constexpr int64_t kRows = 2100;  // enough for threads
    std::vector<DoubleDouble> positions;
    for (int64_t r = 0; r < kRows; ++r) positions.emplace_back(kFirst + r);
    const auto range = rotation_rows<float>(spectrum, RowPositions::range(kFirst, kRows),
                                            TableAmplitude::kApplied);
    const auto list =
        rotation_rows<float>(spectrum, RowPositions::list(positions), TableAmplitude::kApplied);
    RotationTable by_pairs(48, kRows);
    fill_rotation_table(spectrum, AngleMode::kExact, positions, 0, by_pairs);
    RotationTable lone(48, kRows);
    for (int64_t r = 0; r < kRows; ++r) {
      fill_rotation_table(spectrum, AngleMode::kExact, std::span(positions).subspan(r, 1), r, lone);
    }
    RotationRows<float> parts(48, kRows);
    for (int64_t r = 0; r < kRows; r += 77) {
      fill_rotation_rows(spectrum,
                         RowPositions::range(kFirst + r, std::min<int64_t>(77, kRows - r)),
                         TableAmplitude::kApplied, r, parts);
    }
    for (int64_t r = 0; r < kRows; ++r) {
      ASSERT_TRUE(equal_rows(range, r, list, r)) << r;
      ASSERT_TRUE(equal_rows(range, r, parts, r)) << r;
      for (int64_t pair = 0; pair < 48; ++pair) {
        ASSERT_EQ(by_pairs.cos_of(pair)[r], range.cos_of(r)[pair]);
        ASSERT_EQ(by_pairs.sin_of(pair)[r], range.sin_of(r)[pair]);
        ASSERT_EQ(lone.cos_of(pair)[r], range.cos_of(r)[pair]);
        ASSERT_EQ(lone.sin_of(pair)[r], range.sin_of(r)[pair]);
      }
    }
  });
}

TEST(RotationRows, PairsGoByTheirAxis) {
  on_every_target([] {
    Spectrum spectrum = rope_spectrum(1e4, 40, 20);
    for (int pair = 0; pair < 20; ++pair) spectrum.axis.push_back(static_cast<uint8_t>(pair % 3));
    const std::vector<DoubleDouble> coordinates = {5, 7, 900, 100000, 3, 4, 8, 8, 8, 1, 2.5, -3};
    const auto table = rotation_rows<float>(spectrum, RowPositions::axes(coordinates, 3),
                                            TableAmplitude::kLeftOut);
    const auto plain =
        rotation_rows<float>(spectrum, RowPositions::range(8, 1), TableAmplitude::kLeftOut);
    ASSERT_EQ(table.n_rows, 4);
    for (int64_t r = 0; r < 4; ++r) {
      for (int64_t pair = 0; pair < 20; ++pair) {
        const Exact exact = exact_at(coordinates[r * 3 + pair % 3], spectrum.turns_per_token[pair]);
        expect_entry(table.cos_of(r)[pair], exact.cos);
        expect_entry(table.sin_of(r)[pair], exact.sin);
      }
    }
    EXPECT_TRUE(equal_rows(table, 2, plain, 0));
  });
}

TEST(RotationRows, AmplitudeIsInOrOutOrUndone) {
  Spectrum spectrum = rope_spectrum(1e4, 8, 4);
  spectrum.amplitude = 1.25;
  const auto rows = RowPositions::range(3, 40);
  const auto with = rotation_rows<double>(spectrum, rows, TableAmplitude::kApplied);
  const auto without = rotation_rows<double>(spectrum, rows, TableAmplitude::kLeftOut);
  const auto undone = rotation_rows<double>(spectrum, rows, TableAmplitude::kUndone);
  for (int64_t r = 0; r < 40; ++r) {
    for (int64_t pair = 0; pair < 4; ++pair) {
      EXPECT_EQ(with.cos_of(r)[pair], 1.25 * without.cos_of(r)[pair]);
      EXPECT_EQ(with.sin_of(r)[pair], 1.25 * without.sin_of(r)[pair]);
      EXPECT_EQ(undone.cos_of(r)[pair], 0.8 * without.cos_of(r)[pair]);
      EXPECT_EQ(undone.sin_of(r)[pair], 0.8 * without.sin_of(r)[pair]);
    }
  }
}

// From one spectrum and position to another: the difference of two exact angles.
TEST(RotationRows, DifferencesOfSpectraAndPositions) {
  const Spectrum from = rope_spectrum(1e4, 32, 16);
  Spectrum to = rope_spectrum(5e5, 32, 16);
  to.amplitude = 1.5;
  const auto positions = random_positions(50, 9);
  auto shifted = positions;
  for (DoubleDouble& position : shifted) position -= 4096;
  const auto rows = RowPositions::list(positions);
  const auto shifted_rows = RowPositions::list(shifted);
  const Spectrum step = re_rotation_spectrum(from, to);
  EXPECT_EQ(step.amplitude, 1.5);
  const auto straight = rotation_rows<float>(step, rows, TableAmplitude::kLeftOut);
  const auto general = re_rotation_rows<float>(from, rows, to, rows, TableAmplitude::kLeftOut);
  const auto moved =
      re_rotation_rows<float>(from, rows, to, shifted_rows, TableAmplitude::kApplied);
  for (int64_t r = 0; r < rows.count(); ++r) {
    for (int64_t pair = 0; pair < 16; ++pair) {
      const Exact exact = exact_at(positions[r], step.turns_per_token[pair]);
      expect_entry(straight.cos_of(r)[pair], exact.cos);
      expect_entry(straight.sin_of(r)[pair], exact.sin);
      expect_entry(general.cos_of(r)[pair], exact.cos);
      expect_entry(general.sin_of(r)[pair], exact.sin);
      const DoubleDouble turns = fraction_of_turn(shifted[r], to.turns_per_token[pair]) -
                                 fraction_of_turn(positions[r], from.turns_per_token[pair]);
      const Exact far = exact_at(1.0, turns);
      expect_entry(moved.cos_of(r)[pair], 1.5 * far.cos);
      expect_entry(moved.sin_of(r)[pair], 1.5 * far.sin);
    }
  }
}

// Doubles lose a bit below 2^-10 where two angles meet.
void expect_difference(double got, DoubleDouble exact) {
  if (abs(exact) > 0x1p-10) return expect_entry(got, exact);
  EXPECT_LE(abs(DoubleDouble(got) - exact), 0x1p-61);
}
template <typename Element>
void expect_difference(Element got, DoubleDouble exact) {
  expect_entry(got, exact);
}

template <typename Element>
void expect_differences(const Spectrum& from, const RowPositions& from_rows, const Spectrum& to,
                        const RowPositions& to_rows) {
  const auto table =
      re_rotation_rows<Element>(from, from_rows, to, to_rows, TableAmplitude::kLeftOut);
  const auto turns = [](const Spectrum& spectrum, const RowPositions& rows, int64_t r,
                        int64_t pair) {
    const int64_t axis = rows.n_axes() == 1 ? 0 : spectrum.axis[static_cast<size_t>(pair)];
    return fraction_of_turn(rows.at(r, axis), spectrum.turns_per_token[static_cast<size_t>(pair)]);
  };
  for (int64_t r = 0; r < table.n_rows; ++r) {
    for (int64_t pair = 0; pair < table.n_pairs; ++pair) {
      SCOPED_TRACE("row " + std::to_string(r) + ", pair " + std::to_string(pair));
      const Exact exact =
          exact_at(1.0, turns(to, to_rows, r, pair) - turns(from, from_rows, r, pair));
      expect_difference(table.cos_of(r)[pair], exact.cos);
      expect_difference(table.sin_of(r)[pair], exact.sin);
    }
  }
}

// Far positions, fractions, several axes, equal spectra and positions: whatever the two sides are.
TEST(RotationRows, DifferencesAreWithinTheBoundOnEveryTarget) {
  constexpr int64_t kRows = 40, kAxes = 3;
  Spectrum from = rope_spectrum(1e4, 46, 23);
  Spectrum to = rope_spectrum(3e7, 46, 23);
  const auto here = random_positions(kRows * kAxes, 21);
  auto there = random_positions(kRows * kAxes, 22);
  for (size_t r = 0; r < there.size(); r += 5) there[r] = here[r];
  on_every_target([&] {
    const auto check = [&]<typename Element>(Element) {
      const auto list = [&](const std::vector<DoubleDouble>& positions) {
        return RowPositions::list(std::span(positions).first(kRows));
      };
      expect_differences<Element>(from, list(here), to, list(there));
      expect_differences<Element>(from, list(here), from, list(there));
      expect_differences<Element>(from, RowPositions::range(1 << 20, kRows), to,
                                  RowPositions::range(-5, kRows));
      Spectrum from_axes = from;
      for (int64_t pair = 0; pair < from.n_pairs(); ++pair)
        from_axes.axis.push_back(static_cast<uint8_t>(pair % kAxes));
      Spectrum to_axes = to;
      to_axes.axis = from_axes.axis;
      expect_differences<Element>(from_axes, RowPositions::axes(here, kAxes), to_axes,
                                  RowPositions::axes(there, kAxes));
    };
    check(0.0F);
    check(0.0);
    check(Bf16());
    check(F16());
  });
}

// Enough rows for threads to share: each is what it is alone.
TEST(RotationRows, ManyDifferencesAreEachWhatItIsAlone) {
  constexpr int64_t kRows = 5000;
  const Spectrum from = rope_spectrum(1e4, 64, 32);
  const Spectrum to = rope_spectrum(5e5, 64, 32);
  const auto table =
      re_rotation_rows<float>(from, RowPositions::range(0, kRows), to,
                              RowPositions::range(7, kRows), TableAmplitude::kApplied);
  for (int64_t r = 0; r < kRows; r += 611) {
    const auto alone =
        re_rotation_rows<float>(from, RowPositions::range(r, 1), to, RowPositions::range(7 + r, 1),
                                TableAmplitude::kApplied);
    EXPECT_EQ(std::memcmp(table.cos_of(r), alone.cos_of(0), 64 * sizeof(float)), 0) << r;
  }
}

TEST(RotationRows, FaultsAreToldAtTheEdge) {
  const Spectrum spectrum = rope_spectrum(1e4, 8, 4);
  const std::vector<DoubleDouble> far = {0x1p41};
  const std::vector<DoubleDouble> nan = {std::nan("")};
  const std::vector<DoubleDouble> three = {1, 2, 3};
  EXPECT_THROW(RowPositions::list(far), Error);
  EXPECT_THROW(RowPositions::list(nan), Error);
  EXPECT_THROW(RowPositions::axes(three, 2), Error);
  EXPECT_THROW(RowPositions::range(0, -1), Error);
  EXPECT_THROW(RowPositions::range((int64_t{1} << 40) - 1, 3), Error);
  EXPECT_THROW(RotationRows<float>(-1, 1), Error);
  EXPECT_THROW(RotationRows<float>(64, INT64_MAX / 64), Error);
  EXPECT_THROW(
      rotation_rows<float>(spectrum, RowPositions::axes(three, 3), TableAmplitude::kLeftOut),
      Error);
  Spectrum with_axes = spectrum;
  with_axes.axis = {0, 1, 2, 3};
  EXPECT_THROW(
      rotation_rows<float>(with_axes, RowPositions::axes(three, 3), TableAmplitude::kLeftOut),
      Error);
  EXPECT_THROW(re_rotation_spectrum(spectrum, rope_spectrum(1e4, 8, 3)), Error);
  Spectrum mute = spectrum;
  mute.amplitude = 0;
  EXPECT_THROW(rotation_rows<float>(mute, RowPositions::range(0, 1), TableAmplitude::kUndone),
               Error);
  Spectrum fading = spectrum;
  fading.decay = {-1, -1, -1, -1};
  EXPECT_THROW(rotation_rows<float>(fading, RowPositions::range(0, 1), TableAmplitude::kLeftOut),
               Error);
  EXPECT_THROW(re_rotation_spectrum(spectrum, fading), Error);
  RotationRows<float> table(4, 10);
  EXPECT_THROW(
      fill_rotation_rows(spectrum, RowPositions::range(0, 3), TableAmplitude::kLeftOut, 8, table),
      Error);
  EXPECT_THROW(fill_rotation_rows(rope_spectrum(1e4, 8, 3), RowPositions::range(0, 3),
                                  TableAmplitude::kLeftOut, 0, table),
               Error);
}

}  // namespace
}  // namespace ropewalk
