// Two-dimensional RoPE of vision towers: the angles of an image patch.
#ifndef ROPEWALK_MATH_VISION_H_
#define ROPEWALK_MATH_VISION_H_

#include <cstdint>
#include <vector>

#include "ropewalk/math/double_double.h"
#include "ropewalk/math/pair_layout.h"
#include "ropewalk/math/turns.h"

namespace ropewalk {

// Patches of an image, height by width.
struct PatchGrid {
  int64_t rows = 0;
  int64_t columns = 0;
};

struct PatchCell {
  int64_t row = 0;
  int64_t column = 0;

  bool operator==(const PatchCell&) const = default;
};

// A token that is no patch (class, register): it is not turned.
inline constexpr PatchCell kNoPatch{-1, -1};

// The cells in the order of tokens, row by row: (0,0) (0,1) (0,2) (1,0) ...
std::vector<PatchCell> raster_order(PatchGrid grid);

// The same by windows of merge x merge patches, which become one token later: rows of windows, in
// them windows, in them rows. 2 x 4 by 2: (0,0) (0,1) (1,0) (1,1) (0,2) (0,3) (1,2) (1,3)
// Source: Qwen2-VL, transformers modeling_qwen2_vl.py, rot_pos_emb.
//   merge  >= 1, divides both sides of the grid. Throws Error.
std::vector<PatchCell> merge_order(PatchGrid grid, int64_t merge);

// The turns of each pair, by a patch's cell: coordinate(axis[pair]) * turns_per_unit[pair].
struct VisionRotary {
  // What is made of row y of the grid's n (and of a column likewise).
  enum class Coordinate {
    kIndex,    // y
    kFromOne,  // y + 1
    kCentre,   // 2 (y + 1/2) / n - 1: the patch's centre, the image reaching from -1 to 1
    kEnds,     // 2 y / (n - 1) - 1: the first row at -1, the last at 1; -1 where n = 1
  };

  PairLayout layout;  // all of the head turns
  Coordinate coordinate = Coordinate::kIndex;
  std::vector<DoubleDouble> turns_per_unit;  // (n_pairs)
  std::vector<uint8_t> axis;                 // (n_pairs), kHeightAxis or kWidthAxis

  // Right to 2^-100 relative; 0 for kNoPatch.
  //   returns  (n_pairs), not reduced
  std::vector<DoubleDouble> turns(PatchGrid grid, PatchCell cell) const;

  // Each within 1 ulp while no pair makes more than 2^20 turns.
  std::vector<CosSin> cos_sin(PatchGrid grid, PatchCell cell) const;  // (n_pairs)
};

// All of them throw Error where head_dim is no multiple of 4 or a number is not positive.

// Qwen2-VL, 2.5-VL, 3-VL: half-split; rows turn the first head_dim / 4 pairs, columns the others,
// both by base^(-4k / head_dim).
VisionRotary qwen_vision(int64_t head_dim, double base = 10000);

// Pixtral and Mistral 3: half-split; with base^(-2i / head_dim) rows turn the first head_dim / 4
// pairs by i = 0, 2, 4, ..., columns the others by i = 1, 3, 5, ...
VisionRotary pixtral_vision(int64_t head_dim, double base = 10000);

// Llama 4: interleaved; columns first, then rows, both by base^(-4k / head_dim), counted from 1.
VisionRotary llama4_vision(int64_t head_dim, double base = 10000);

// DINOv3: half-split; rows, then columns, of patch centres, by base^(-4k / head_dim) turns (not
// radians).
VisionRotary dinov3_vision(int64_t head_dim, double base = 100);

// lucidrains' rotary-embedding-torch, freqs_for "pixel": interleaved; rows, then columns, from -1 to
// 1, by pi (1 + (max_freq / 2 - 1) k / (P - 1)), P = head_dim / 4 pairs for each.
VisionRotary pixel_vision(int64_t head_dim, double max_freq = 10);

}  // namespace ropewalk

#endif  // ROPEWALK_MATH_VISION_H_
