#include "ropewalk/math/vision.h"

#include <algorithm>
#include <cassert>
#include <string>

#include "ropewalk/base/error.h"
#include "ropewalk/math/axes.h"
#include "ropewalk/math/spectrum.h"

namespace ropewalk {
namespace {

using Coordinate = VisionRotary::Coordinate;

DoubleDouble coordinate_of(Coordinate coordinate, int64_t index, int64_t n) {
  switch (coordinate) {
    case Coordinate::kIndex:
      break;
    case Coordinate::kFromOne:
      return index + 1;
    case Coordinate::kCentre:
      return DoubleDouble(2 * index + 1 - n) / DoubleDouble(n);
    case Coordinate::kEnds:
      return n == 1 ? DoubleDouble(-1) : DoubleDouble(2 * index - (n - 1)) / DoubleDouble(n - 1);
  }
  return index;
}

void require_quarters(int64_t head_dim) {
  if (head_dim >= 4 && head_dim % 4 == 0) return;
  throw Error("head_dim", "must be a multiple of 4", std::to_string(head_dim))
      .of(head_dim < 4 ? FaultKind::kOutOfRange : FaultKind::kNotDivisible);
}

void require_positive(const char* name, double value) {
  if (value > 0 && is_finite(value)) return;
  throw Error(name, "must be positive", std::to_string(value)).of(FaultKind::kOutOfRange);
}

// Two blocks of pairs, one for each axis, by the same turns a unit.
VisionRotary two_blocks(PairOrder order, Coordinate coordinate, uint8_t first, uint8_t second,
                        const std::vector<DoubleDouble>& turns_per_unit) {
  VisionRotary rotary;
  const auto quarter = static_cast<int64_t>(turns_per_unit.size());
  rotary.layout = {order, 4 * quarter, 4 * quarter};
  rotary.coordinate = coordinate;
  for (const uint8_t axis : {first, second}) {
    rotary.turns_per_unit.insert(rotary.turns_per_unit.end(), turns_per_unit.begin(),
                                 turns_per_unit.end());
    rotary.axis.insert(rotary.axis.end(), turns_per_unit.size(), axis);
  }
  return rotary;
}

// base^(-4k / head_dim), k < head_dim / 4: plain RoPE of half the head.
std::vector<DoubleDouble> half_head_frequencies(int64_t head_dim, double base) {
  require_quarters(head_dim);
  require_positive("base", base);
  return rope_inv_freq(base, head_dim / 2, head_dim / 4);
}

std::vector<DoubleDouble> turns_of(std::vector<DoubleDouble> radians) {
  for (DoubleDouble& value : radians) value /= kTwoPi;
  return radians;
}

}  // namespace

std::vector<PatchCell> raster_order(PatchGrid grid) { return merge_order(grid, 1); }

std::vector<PatchCell> merge_order(PatchGrid grid, int64_t merge) {
  if (merge < 1 || grid.rows % merge != 0 || grid.columns % merge != 0) {
    throw Error("merge",
                "must divide the grid of " + std::to_string(grid.rows) + " x " +
                    std::to_string(grid.columns) + " patches",
                std::to_string(merge))
        .of(merge < 1 ? FaultKind::kOutOfRange : FaultKind::kNotDivisible);
  }
  std::vector<PatchCell> cells;
  for (int64_t top = 0; top < grid.rows; top += merge) {
    for (int64_t left = 0; left < grid.columns; left += merge) {
      for (int64_t row = top; row < top + merge; ++row) {
        for (int64_t column = left; column < left + merge; ++column) cells.push_back({row, column});
      }
    }
  }
  return cells;
}

std::vector<DoubleDouble> VisionRotary::turns(PatchGrid grid, PatchCell cell) const {
  std::vector<DoubleDouble> turns(turns_per_unit.size());
  if (cell == kNoPatch) return turns;
  assert(0 <= cell.row && cell.row < grid.rows && 0 <= cell.column && cell.column < grid.columns);
  const DoubleDouble y = coordinate_of(coordinate, cell.row, grid.rows);
  const DoubleDouble x = coordinate_of(coordinate, cell.column, grid.columns);
  for (size_t pair = 0; pair < turns.size(); ++pair) {
    turns[pair] = (axis[pair] == kHeightAxis ? y : x) * turns_per_unit[pair];
  }
  return turns;
}

std::vector<CosSin> VisionRotary::cos_sin(PatchGrid grid, PatchCell cell) const {
  std::vector<CosSin> table;
  for (const DoubleDouble turn : turns(grid, cell)) table.push_back(cos_sin_of_turns(turn));
  return table;
}

VisionRotary qwen_vision(int64_t head_dim, double base) {
  return two_blocks(PairOrder::kHalf, Coordinate::kIndex, kHeightAxis, kWidthAxis,
                    turns_of(half_head_frequencies(head_dim, base)));
}

VisionRotary pixtral_vision(int64_t head_dim, double base) {
  require_quarters(head_dim);
  require_positive("base", base);
  const std::vector<DoubleDouble> turns = turns_of(rope_inv_freq(base, head_dim, head_dim / 2));
  VisionRotary rotary;
  rotary.layout = {PairOrder::kHalf, head_dim, head_dim};
  for (const uint8_t axis : {kHeightAxis, kWidthAxis}) {
    for (size_t i = axis == kHeightAxis ? 0 : 1; i < turns.size(); i += 2) {
      rotary.turns_per_unit.push_back(turns[i]);
      rotary.axis.push_back(axis);
    }
  }
  return rotary;
}

VisionRotary llama4_vision(int64_t head_dim, double base) {
  return two_blocks(PairOrder::kInterleaved, Coordinate::kFromOne, kWidthAxis, kHeightAxis,
                    turns_of(half_head_frequencies(head_dim, base)));
}

VisionRotary dinov3_vision(int64_t head_dim, double base) {
  return two_blocks(PairOrder::kHalf, Coordinate::kCentre, kHeightAxis, kWidthAxis,
                    half_head_frequencies(head_dim, base));
}

VisionRotary pixel_vision(int64_t head_dim, double max_freq) {
  require_quarters(head_dim);
  require_positive("max_freq", max_freq);
  const int64_t n = head_dim / 4;
  std::vector<DoubleDouble> turns;
  for (int64_t k = 0; k < n; ++k) {
    const DoubleDouble share = DoubleDouble(k) / DoubleDouble(std::max<int64_t>(1, n - 1));
    turns.push_back((1 + (DoubleDouble(max_freq) / 2 - 1) * share) / 2);
  }
  return two_blocks(PairOrder::kInterleaved, Coordinate::kEnds, kHeightAxis, kWidthAxis, turns);
}

}  // namespace ropewalk
