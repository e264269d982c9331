#include "ropewalk/math/vision.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/math/axes.h"

namespace ropewalk {
namespace {

constexpr PatchGrid kGrid{8, 12};

std::vector<double> radians(const VisionRotary& rotary, PatchCell cell, PatchGrid grid = kGrid) {
  std::vector<double> angles;
  for (const DoubleDouble turns : rotary.turns(grid, cell)) {
    angles.push_back(static_cast<double>(turns * kTwoPi));
  }
  return angles;
}

void expect_angles(const std::vector<double>& got, const std::vector<double>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t pair = 0; pair < got.size(); ++pair) {
    EXPECT_NEAR(got[pair], wanted[pair], 1e-15 * (1 + std::abs(wanted[pair]))) << pair;
  }
}

TEST(PatchOrderTest, RowByRow) {
  EXPECT_EQ(raster_order({2, 3}),
            (std::vector<PatchCell>{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}}));
}

TEST(PatchOrderTest, WindowByWindow) {
  EXPECT_EQ(
      merge_order({2, 4}, 2),
      (std::vector<PatchCell>{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}}));
  EXPECT_THROW(merge_order({3, 4}, 2), Error);
  EXPECT_THROW(merge_order({4, 4}, 0), Error);
}

TEST(VisionTest, QwenTurnsRowsThenColumns) {
  const VisionRotary rotary = qwen_vision(8);
  EXPECT_EQ(rotary.layout.order, PairOrder::kHalf);
  expect_angles(radians(rotary, {3, 7}), {3, 0.03, 7, 0.07});
}

TEST(VisionTest, PixtralTakesFrequenciesInTurn) {
  const VisionRotary rotary = pixtral_vision(8);
  expect_angles(radians(rotary, {3, 7}), {3, 0.03, 0.7, 0.007});
}

TEST(VisionTest, Llama4TurnsColumnsFirstAndCountsFromOne) {
  const VisionRotary rotary = llama4_vision(8);
  EXPECT_EQ(rotary.layout.order, PairOrder::kInterleaved);
  expect_angles(radians(rotary, {3, 7}), {8, 0.08, 4, 0.04});
  expect_angles(radians(rotary, kNoPatch), {0, 0, 0, 0});
}

TEST(VisionTest, DinoTurnsCentresBetweenTheEdges) {
  const VisionRotary rotary = dinov3_vision(8);
  const double pi = std::numbers::pi;
  expect_angles(radians(rotary, {0, 11}),
                {-2 * pi * 7 / 8, -0.2 * pi * 7 / 8, 2 * pi * 11 / 12, 0.2 * pi * 11 / 12});
  for (const double angle : radians(rotary, {1, 1}, {3, 3})) EXPECT_EQ(angle, 0);
}

TEST(VisionTest, PixelRunsFromEdgeToEdge) {
  const VisionRotary rotary = pixel_vision(8, 10);
  const double pi = std::numbers::pi;
  expect_angles(radians(rotary, {0, 11}), {-pi, -5 * pi, pi, 5 * pi});
  expect_angles(radians(rotary, {0, 0}, {1, 1}), {-pi, -5 * pi, -pi, -5 * pi});
  expect_angles(radians(pixel_vision(4, 10), {7, 0}), {pi, -pi});
}

TEST(VisionTest, CosinesAreOfTheAngles) {
  for (const VisionRotary& rotary :
       {qwen_vision(8), pixtral_vision(8), llama4_vision(8), dinov3_vision(8), pixel_vision(8)}) {
    const auto angles = radians(rotary, {5, 2});
    const auto table = rotary.cos_sin(kGrid, {5, 2});
    for (size_t pair = 0; pair < angles.size(); ++pair) {
      EXPECT_NEAR(table[pair].cos, std::cos(angles[pair]), 4e-15);
      EXPECT_NEAR(table[pair].sin, std::sin(angles[pair]), 4e-15);
    }
  }
}

TEST(VisionTest, Validation) {
  EXPECT_THROW(qwen_vision(10), Error);
  EXPECT_THROW(pixtral_vision(0), Error);
  EXPECT_THROW(llama4_vision(8, 0), Error);
  EXPECT_THROW(dinov3_vision(6), Error);
  EXPECT_THROW(pixel_vision(8, -1), Error);
}

}  // namespace
}  // namespace ropewalk
