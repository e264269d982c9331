// Faults that public bug reports tell of, of encodings beside RoPE (NRP), of positions of several
// axes (MRP), of layouts (LAY) and bases (BAS), by the codes of the project's collection: what is right is held to here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/math/alibi.h"
#include "ropewalk/math/axes.h"
#include "ropewalk/math/grid_resize.h"
#include "ropewalk/math/input_embedding.h"
#include "ropewalk/math/reference.h"
#include "ropewalk/math/score_bias.h"
#include "ropewalk/math/vision.h"
#include "ropewalk/math/xpos.h"

namespace ropewalk {
namespace {

using Sections = std::vector<int64_t>;

std::string letters(const std::vector<uint8_t>& axes) {
  std::string text;
  for (const uint8_t axis : axes) text += "thwe"[axis];
  return text;
}

void expect_near(const std::vector<double>& got, const std::vector<double>& wanted, double error) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t k = 0; k < got.size(); ++k) EXPECT_NEAR(got[k], wanted[k], error) << k;
}

std::vector<double> sinusoid(SinusoidOrder order, int64_t dim, int64_t position) {
  std::vector<double> row(static_cast<size_t>(dim));
  SinusoidalEmbedding(order, dim).row(position, row);
  return row;
}

// ---- encodings other than RoPE

TEST(Reports, NRP01_SlopesOfTwelveHeadsAreTwoSequences) {
  const auto slopes = alibi_slopes(12);
  std::vector<double> wanted;
  for (int k = 1; k <= 8; ++k) wanted.push_back(std::ldexp(1.0, -k));
  for (const double slope : {0.707107, 0.353553, 0.176777, 0.088388}) wanted.push_back(slope);
  expect_near(slopes, wanted, 5e-7);
  EXPECT_GT(std::abs(slopes[0] - 0.629961), 0.1) << "one sequence: 2^(-8/12)";
  EXPECT_EQ(alibi_slopes(40)[31], 1.0 / 256);
}

TEST(Reports, NRP02_TheFirstExponentIsOne) {
  const auto slopes = alibi_slopes(8);
  EXPECT_EQ(slopes.front(), 0.5);
  EXPECT_EQ(slopes.back(), 0.00390625);
  EXPECT_LT(*std::ranges::max_element(slopes), 1.0);
}

TEST(Reports, NRP04_DecodingSeesTheLastRowOfTheFullMatrix) {
  std::vector<double> table(32 * 2);
  for (size_t k = 0; k < table.size(); ++k) table[k] = static_cast<double>(k) / 8;
  const ScoreBias bias = bucket_bias(T5Buckets{}, table, 2);
  std::vector<std::vector<double>> full;
  for (int64_t i = 0; i <= 10; ++i) {
    full.emplace_back();
    for (int64_t j = 0; j <= 10; ++j) full.back().push_back(bias.at(1, i, j));
  }
  std::vector<double> decoded;
  for (int64_t j = 0; j <= 10; ++j) decoded.push_back(table[T5Buckets{}.bucket(j - 10) * 2 + 1]);
  EXPECT_EQ(decoded, full.back());
  EXPECT_NE(full.front(), full.back()) << "the faulty one takes the row of query 0";
}

TEST(Reports, NRP06_OddWidthsEndWithASine) {
  const auto at_one = sinusoid(SinusoidOrder::kInterleaved, 5, 1);
  const double second = std::pow(10000, -0.4), third = std::pow(10000, -0.8);
  expect_near(at_one,
              {std::sin(1), std::cos(1), std::sin(second), std::cos(second), std::sin(third)},
              1e-15);
  EXPECT_EQ(sinusoid(SinusoidOrder::kInterleaved, 5, 0), (std::vector<double>{0, 1, 0, 1, 0}));
  EXPECT_EQ(sinusoid(SinusoidOrder::kInterleaved, 1, 0), (std::vector<double>{0}));
}

TEST(Reports, NRP09_XposScalesByPositionWithACacheToo) {
  const Xpos xpos{.rotary_dim = 32};
  for (const int64_t offset : {0, 100}) {
    const auto full_query = xpos.query_scale(offset + 7);
    for (int64_t j = 0; j <= 7; ++j) {
      // A key cached when it was read, a query that comes later: positions, never indices.
      const auto cached_key = xpos.key_scale(offset + j);
      const auto by_distance = xpos.score_scale(7 - j);
      for (size_t pair = 0; pair < by_distance.size(); ++pair) {
        EXPECT_NEAR(full_query[pair] * cached_key[pair] / by_distance[pair], 1, 1e-15);
      }
    }
  }
  const auto at_base = xpos.query_scale(512);
  EXPECT_NEAR(at_base[0] * xpos.key_scale(512)[0], 1, 1e-15);
  EXPECT_NEAR(at_base[0], static_cast<double>(xpos.zeta()[0]), 1e-16);
}

TEST(Reports, NRP10_CornersStayOnlyWhereTheyAreAligned) {
  const PatchGrid from{27, 27}, to{24, 24};
  std::vector<double> table;
  for (int64_t k = 0; k < 27 * 27; ++k) table.push_back(std::sin(static_cast<double>(k * k)));
  const auto corners = [](const std::vector<double>& values, PatchGrid grid) {
    const int64_t last_row = (grid.rows - 1) * grid.columns;
    return std::vector<double>{values[0], values[grid.columns - 1], values[last_row],
                               values[last_row + grid.columns - 1]};
  };
  expect_near(corners(resized_table(table, from, to, 1, Corners::kAligned), to),
              corners(table, from), 1e-15);
  const auto edges = corners(resized_table(table, from, to, 1, Corners::kEdges), to);
  for (size_t k = 0; k < 4; ++k) EXPECT_NE(edges[k], corners(table, from)[k]);
  EXPECT_NE(to_string(Corners::kAligned), to_string(Corners::kEdges));
}

TEST(Reports, NRP11_NarrowTables) {
  expect_near(sinusoid(SinusoidOrder::kInterleaved, 3, 1), {0.841471, 0.540302, 0.002154}, 5e-7);
  expect_near(sinusoid(SinusoidOrder::kInterleaved, 1, 1), {0.841471}, 5e-7);
  for (const auto order :
       {SinusoidOrder::kInterleaved, SinusoidOrder::kConcatenated, SinusoidOrder::kTensor2Tensor}) {
    expect_near(sinusoid(order, 2, 1), {0.841471, 0.540302}, 5e-7);
    EXPECT_THROW(SinusoidalEmbedding(order, 0), Error);
  }
}

TEST(Reports, NRP13_SlopesOfTenHeadsAreNotSorted) {
  const auto slopes = alibi_slopes(10);
  EXPECT_EQ(slopes[7], 0.00390625);
  EXPECT_NEAR(slopes[8], 0.707107, 5e-7);
  EXPECT_NEAR(slopes[9], 0.353553, 5e-7);
  auto sorted = slopes;
  std::ranges::sort(sorted, std::greater());
  EXPECT_NE(sorted, slopes) << "another model";
}

// ---- layouts and bases

double norm(const std::vector<double>& head) {
  return std::sqrt(std::inner_product(head.begin(), head.end(), head.begin(), 0.0));
}

// The fault: angles laid out (t0, t0, t1, t1) for a rule that pairs coordinates 0 with 2, 1 with 3,
// so that the two parts of a pair turn by different angles.
TEST(Reports, LAY_04_ARotationKeepsTheNorm) {
  const std::vector<double> head = {0, 0, 1, 0}, angles = {1, 1, 0.01, 0.01};
  std::vector<double> faulty(4);
  for (size_t k = 0; k < 4; ++k) {
    const double partner = k < 2 ? -head[k + 2] : head[k - 2];
    faulty[k] = head[k] * std::cos(angles[k]) + partner * std::sin(angles[k]);
  }
  EXPECT_NEAR(norm(faulty), 1.306895, 5e-7);
  for (const PairOrder order : {PairOrder::kHalf, PairOrder::kInterleaved}) {
    const Rotary rotary = plain_rotary({.base = 10000.0, .frequency_dim = 4}, {order, 4, 4});
    EXPECT_NEAR(norm(reference_rotate(rotary.layout, rotary.spectrum.at(1), 1.0, head)), 1, 1e-15);
  }
}

TEST(Reports, LAY_13_CentresOfPatches) {
  const VisionRotary rotary = dinov3_vision(16);
  EXPECT_EQ(rotary.layout.order, PairOrder::kHalf);
  std::vector<double> centres;
  for (int64_t row = 0; row < 4; ++row) {
    const DoubleDouble turns = rotary.turns({4, 4}, {row, 0})[0];
    centres.push_back(static_cast<double>(turns / rotary.turns_per_unit[0]));
  }
  expect_near(centres, {-0.75, -0.25, 0.25, 0.75}, 1e-15);
  const VisionRotary other = llama4_vision(16);
  EXPECT_NE(other.layout.order, rotary.layout.order);
  EXPECT_NE(other.coordinate, rotary.coordinate);
}

// How far a base of 10000 is from the declared 1000000, as heard at position 64.
TEST(Reports, BAS_04_AnotherBaseIsHeard) {
  const Spectrum wrong = rope_spectrum(1e4, 128, 64), declared = rope_spectrum(1e6, 128, 64);
  double sum = 0;
  for (size_t pair = 0; pair < 64; ++pair) {
    sum += cos_sin_at(64.0, wrong.turns_per_token[pair] - declared.turns_per_token[pair]).cos;
  }
  EXPECT_NEAR(sum / 64, 0.4446, 5e-5);
}

// ---- positions of several axes

TEST(Reports, MRP01_BothPartsOfAPairTurnByTheSameAngle) {
  // A table of ours has one angle for each pair, so that unequal halves cannot be given: what
  // rotates is orthogonal whatever the axes.
  const VisionRotary rotary = qwen_vision(8);
  Spectrum spectrum;
  spectrum.turns_per_token = rotary.turns({9, 9}, {3, 7});
  const std::vector<double> head = {1, 2, 3, 4, 5, 6, 7, 8};
  const auto turned = reference_rotate(rotary.layout, spectrum, 1.0, head);
  for (int j = 0; j < 4; ++j) {
    const double angle = std::vector<double>{3, 0.03, 7, 0.07}[j];
    EXPECT_NEAR(turned[j], head[j] * std::cos(angle) - head[j + 4] * std::sin(angle), 1e-14);
    EXPECT_NEAR(turned[j + 4], head[j + 4] * std::cos(angle) + head[j] * std::sin(angle), 1e-14);
  }
}

TEST(Reports, MRP02_SectionsInBlocksOrInTurn) {
  const Sections sections = {16, 24, 24};
  EXPECT_EQ(letters(contiguous_axes(sections)).substr(0, 6), "tttttt");
  EXPECT_EQ(letters(interleaved_axes(sections)).substr(0, 6), "thwthw");
}

TEST(Reports, MRP05_AxesOfAnImageThatIsNotSquare) {
  const PatchGrid grid{2, 3}, transposed{3, 2};
  EXPECT_EQ(raster_order(grid),
            (std::vector<PatchCell>{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}}));
  for (const VisionRotary& rotary : {qwen_vision(16), pixtral_vision(16), llama4_vision(16),
                                     dinov3_vision(16), pixel_vision(16)}) {
    EXPECT_NE(rotary.turns(grid, {1, 0}), rotary.turns(transposed, {0, 1}))
        << "swapping the axes is seen";
    for (size_t pair = 0; pair < rotary.axis.size(); ++pair) {
      const bool by_row = rotary.axis[pair] == kHeightAxis;
      EXPECT_EQ(rotary.turns(grid, {1, 0})[pair] == rotary.turns(grid, {0, 0})[pair], !by_row);
      EXPECT_EQ(rotary.turns(grid, {0, 1})[pair] == rotary.turns(grid, {0, 0})[pair], by_row);
    }
  }
  EXPECT_EQ(qwen_vision(16).axis.front(), kHeightAxis);
  EXPECT_EQ(llama4_vision(16).axis.front(), kWidthAxis);
  EXPECT_EQ(dinov3_vision(16).layout.order, PairOrder::kHalf);
  EXPECT_EQ(dinov3_vision(16).coordinate, VisionRotary::Coordinate::kCentre);
}

// Positions of text cannot tell two axis maps apart; a pair of stimuli that differ in one axis can.
Spectrum of_axes(const std::vector<uint8_t>& axes) {
  const auto n_pairs = static_cast<int64_t>(axes.size());
  Spectrum spectrum = rope_spectrum(1e7, 2 * n_pairs, n_pairs);
  spectrum.axis = axes;
  return spectrum;
}

std::vector<double> sines(const Spectrum& spectrum, const std::vector<int64_t>& coordinates) {
  std::vector<double> values;
  for (const CosSin& pair : cos_sin_of_pairs(spectrum, coordinates)) values.push_back(pair.sin);
  return values;
}

TEST(Reports, MRP06_PairedStimuliThatMustDiffer) {
  const Spectrum spectrum = of_axes(interleaved_axes(Sections{11, 11, 10}));
  EXPECT_NE(sines(spectrum, {5, 5, 9}), sines(spectrum, {5, 9, 5})) << "left and above";
  EXPECT_NE(sines(spectrum, {5, 5, 4}), sines(spectrum, {5, 5, 6})) << "left and right";
  const Spectrum faulty = of_axes(contiguous_axes(Sections{32, 0, 0}));
  EXPECT_EQ(sines(faulty, {5, 5, 4}), sines(faulty, {5, 5, 6})) << "what one stimulus hides";
}

TEST(Reports, MRP07_InterleavedSectionsOfPartialRotary) {
  const Sections sections = {11, 11, 10};
  const auto axes = interleaved_axes(sections);
  std::string wanted;
  for (int k = 0; k < 10; ++k) wanted += "thw";
  EXPECT_EQ(letters(axes), wanted + "th");
  for (uint8_t axis = 0; axis < 3; ++axis) {
    EXPECT_EQ(std::ranges::count(axes, axis), sections[axis]);
  }
  const Spectrum in_turn = of_axes(axes), in_blocks = of_axes(contiguous_axes(sections));
  EXPECT_EQ(sines(in_turn, {77, 77, 77}), sines(in_blocks, {77, 77, 77})) << "text";
  EXPECT_NE(sines(in_turn, {77, 78, 79}), sines(in_blocks, {77, 78, 79}));
}

}  // namespace
}  // namespace ropewalk
