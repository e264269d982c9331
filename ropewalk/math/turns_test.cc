#include "ropewalk/math/turns.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ropewalk/math/spectrum.h"
#include "ropewalk/testing/exact_values.h"

namespace ropewalk {
namespace {

using exact_values::decimal_of;
using exact_values::double_double_of;
using exact_values::float_ulps;
using exact_values::ulps;

nlohmann::json fixture(const char* table) {
  static const nlohmann::json all = exact_values::read_fixture("math/angles.json");
  return all.at(table);
}

DoubleDouble plain_turns(const nlohmann::json& row) {
  const auto pair = row["pair"].get<int64_t>();
  return rope_spectrum(row["base"].get<double>(), row["frequency_dim"], pair + 1)
      .turns_per_token[pair];
}

// (got, exact) as the contract of cos_sin_at states it.
void expect_table_entry(double got, DoubleDouble exact) {
  if (std::fabs(exact.hi) > 0x1p-10) {
    EXPECT_LE(ulps(got, exact), 2);
  } else {
    EXPECT_LE(abs(DoubleDouble(got) - exact), 0x1p-62);
  }
  if (std::fabs(exact.hi) > 0x1p-38) {
    EXPECT_LE(float_ulps(static_cast<float>(got), exact), 1);
  }
}

TEST(FractionOfTurnTest, IsRightFarOut) {
  for (const auto& row : fixture("angles")) {
    const DoubleDouble position = row["position"].get<int64_t>();
    const DoubleDouble speed = plain_turns(row);
    const DoubleDouble error = abs(fraction_of_turn(position, speed) - decimal_of(row["fraction"]));
    EXPECT_LE(error, 0x1p-102 * position * speed) << row;
  }
}

TEST(FractionOfTurnTest, RemovesWholeTurnsExactly) {
  EXPECT_EQ(fraction_of_turn(0x1p53, 1.0), 0.0);
  EXPECT_EQ(fraction_of_turn(0x1p53 - 1, 0.25), -0.25);
  EXPECT_EQ(fraction_of_turn(0x1p52 + 1, DoubleDouble(0.5, 0x1p-60)),
            DoubleDouble(0.5) + DoubleDouble(0x1p-8, 0x1p-60) - 1.0);
  EXPECT_EQ(fraction_of_turn(0.0, 0.3), 0.0);
  // (2^40 + 1/4) thirds of a turn: 2^40 = 1 mod 3.
  const DoubleDouble third = DoubleDouble(1) / 3;
  const DoubleDouble at_quarter = fraction_of_turn(DoubleDouble(0x1p40) + 0.25, third);
  EXPECT_LE(abs(at_quarter - DoubleDouble(5) / 12), 0x1p-104 * 0x1p39);
}

TEST(FractionOfTurnTest, IsOddAndAtMostHalf) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> speed(-1, 1);
  std::uniform_int_distribution<int64_t> position(0, int64_t{1} << 53);
  for (int draw = 0; draw < 10000; ++draw) {
    const DoubleDouble p = position(random);
    const DoubleDouble s(speed(random), speed(random) * 0x1p-56);
    const DoubleDouble turns = fraction_of_turn(p, s);
    EXPECT_LE(abs(turns), 0.5);
    EXPECT_EQ(fraction_of_turn(-p, s), -turns);
    EXPECT_EQ(fraction_of_turn(p, -s), -turns);
  }
}

TEST(CosSinOfTurnsTest, IsWithinOneUlp) {
  for (const auto& row : fixture("turns")) {
    const auto [cosine, sine] = cos_sin_of_turns(double_double_of(row["turns"]));
    EXPECT_LE(ulps(cosine, decimal_of(row["cos"])), 0.75) << row;
    EXPECT_LE(ulps(sine, decimal_of(row["sin"])), 0.75) << row;
  }
}

TEST(CosSinOfTurnsTest, IsExactAtQuarters) {
  for (int quarter = -9; quarter <= 9; ++quarter) {
    const auto [cosine, sine] = cos_sin_of_turns(quarter / 4.0);
    const int quadrant = ((quarter % 4) + 4) % 4;
    EXPECT_EQ(cosine, quadrant == 0 ? 1 : quadrant == 2 ? -1 : 0);
    EXPECT_EQ(sine, quadrant == 1 ? 1 : quadrant == 3 ? -1 : 0);
  }
}

TEST(CosSinOfTurnsTest, IsEvenAndOdd) {
  std::mt19937_64 random(13);
  std::uniform_real_distribution<double> draw_turns(-2, 2);
  for (int draw = 0; draw < 10000; ++draw) {
    const DoubleDouble turns(draw_turns(random), 0x1p-60);
    const CosSin there = cos_sin_of_turns(turns);
    const CosSin back = cos_sin_of_turns(-turns);
    EXPECT_EQ(back.cos, there.cos);
    EXPECT_EQ(back.sin, -there.sin);
  }
}

TEST(CosSinAtTest, IsRightFarOut) {
  for (const auto& row : fixture("angles")) {
    const auto [cosine, sine] = cos_sin_at(row["position"].get<int64_t>(), plain_turns(row));
    SCOPED_TRACE(row.dump());
    expect_table_entry(cosine, decimal_of(row["cos"]));
    expect_table_entry(sine, decimal_of(row["sin"]));
  }
}

}  // namespace
}  // namespace ropewalk
