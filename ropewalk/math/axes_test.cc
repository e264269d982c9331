#include "ropewalk/math/axes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

using Sections = std::vector<int64_t>;

std::string digits(const std::vector<uint8_t>& axes) {
  std::string text;
  for (const uint8_t axis : axes) text += static_cast<char>('0' + axis);
  return text;
}

TEST(AxesTest, Contiguous) {
  EXPECT_EQ(digits(contiguous_axes(Sections{2, 3, 3})), "00111222");
  EXPECT_EQ(digits(contiguous_axes(Sections{2, 0, 1, 3})), "002333");
}

TEST(AxesTest, Interleaved) {
  EXPECT_EQ(digits(interleaved_axes(Sections{4, 2, 2})), "01201200");
  EXPECT_EQ(digits(interleaved_axes(Sections{11, 11, 10})), "01201201201201201201201201201201");
}

TEST(AxesTest, InterleavedOfQwen3VlLeavesTheSlowestPairsToTime) {
  const auto axes = interleaved_axes(Sections{24, 20, 20});
  EXPECT_EQ(std::count(axes.begin(), axes.end(), kTimeAxis), 24);
  EXPECT_EQ(std::count(axes.begin(), axes.end(), kHeightAxis), 20);
  EXPECT_EQ(std::count(axes.begin(), axes.end(), kWidthAxis), 20);
  EXPECT_EQ(digits(axes).substr(57), "0120000");
}

TEST(AxesTest, GgmlGivesSomeOfThemToItsFourthAxis) {
  EXPECT_EQ(digits(ggml_interleaved_axes(Sections{24, 20, 20, 0})).substr(57), "0120330");
  EXPECT_EQ(digits(ggml_interleaved_axes(Sections{4, 2, 2})), "01201203");
}

TEST(AxesTest, Ernie) {
  EXPECT_EQ(digits(ernie_axes("mrope_section", Sections{3, 3, 2})), "12121200");
  try {
    ernie_axes("mrope_section", Sections{3, 2, 3});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.place(), "mrope_section[1]");
    EXPECT_EQ(error.kind(), FaultKind::kInconsistent);
  }
}

TEST(AxesTest, Greedy) {
  EXPECT_EQ(digits(greedy_axes(Sections{2, 2}, false)), "0101");
  EXPECT_EQ(digits(greedy_axes(Sections{2, 3, 3}, true)), "01212120");
  EXPECT_EQ(digits(greedy_axes(Sections{1, 4}, false)), "01111");
  EXPECT_EQ(digits(greedy_axes(Sections{0, 1, 2}, true)), "122") << "one axis is empty";
}

void expect_refusal(const Sections& sections, FaultKind kind, const std::string& place) {
  try {
    check_sections("s", sections, 3, 4, 64);
    FAIL() << place;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_EQ(error.place(), place);
  }
}

TEST(AxesTest, SectionsAreChecked) {
  check_sections("s", Sections{16, 24, 24}, 3, 4, 64);
  check_sections("s", Sections{16, 16, 16, 16}, 3, 4, 64);
  expect_refusal({32, 32}, FaultKind::kWrongLength, "s");
  expect_refusal({16, 16, 16, 8, 8}, FaultKind::kWrongLength, "s");
  expect_refusal({-4, 44, 24}, FaultKind::kOutOfRange, "s[0]");
  expect_refusal({16, 24, 23}, FaultKind::kSumMismatch, "s");
  expect_refusal({INT64_MAX, INT64_MAX, 2}, FaultKind::kSumMismatch, "s[0]");
}

TEST(AxesTest, EachPairTurnsByItsOwnCoordinate) {
  Spectrum spectrum = rope_spectrum(10000, 16, 8);
  spectrum.axis = interleaved_axes(Sections{4, 2, 2});
  const std::vector<int64_t> coordinates = {3, 700, 110000};
  const std::vector<CosSin> table = cos_sin_of_pairs(spectrum, coordinates);
  ASSERT_EQ(table.size(), 8u);
  for (size_t pair = 0; pair < table.size(); ++pair) {
    const CosSin alone =
        cos_sin_at(DoubleDouble(coordinates[spectrum.axis[pair]]), spectrum.turns_per_token[pair]);
    EXPECT_EQ(table[pair].cos, alone.cos);
    EXPECT_EQ(table[pair].sin, alone.sin);
  }
}

TEST(AxesTest, OneAxisNeedsOneCoordinate) {
  const Spectrum spectrum = rope_spectrum(10000, 4, 2);
  const std::vector<int64_t> coordinates = {5};
  EXPECT_EQ(cos_sin_of_pairs(spectrum, coordinates)[1].sin,
            cos_sin_at(DoubleDouble(5), spectrum.turns_per_token[1]).sin);
}

}  // namespace
}  // namespace ropewalk
