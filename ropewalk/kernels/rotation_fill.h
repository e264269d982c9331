// The work items of rotation_fill.cc: tables filled by vectors. Everything trusts its input.
#ifndef ROPEWALK_KERNELS_ROTATION_FILL_H_
#define ROPEWALK_KERNELS_ROTATION_FILL_H_

#include <cstdint>
#include <span>
#include <vector>

#include "ropewalk/base/half.h"
#include "ropewalk/math/double_double.h"

namespace ropewalk {

// A whole position is a multiple of kPhasorTile and a step of 0 to kPhasorTile - 1: its phasor is
// that of the start, exact, times that of the step, exact. Neighbours share the first and all tiles
// the second, so an entry costs one complex product. Entries that come out small, where the
// product's rounding would tell, are made straight from their position, and so are those of positions
// that are no integers. Whichever way positions come, ranges or lists, one position has one entry.
inline constexpr int64_t kPhasorTile = 32;  // a power of two

// Entries of tables of pairs come in multiples of this.
inline constexpr int64_t kPairMultiple = 16;

// position = start + start_lo + step.
struct SplitPosition {
  double start = 0;
  double start_lo = 0;
  double step = 0;

  explicit SplitPosition(DoubleDouble position);
  explicit SplitPosition(int64_t position)
      : start(static_cast<double>(position & -kPhasorTile)),
        step(static_cast<double>(position & (kPhasorTile - 1))) {}
};

// Rows of one column, by position.
struct ColumnPlan {
  struct Run {  // of consecutive integers
    int64_t row = 0;
    int64_t first = 0;
    int64_t count = 0;
  };
  std::vector<Run> runs;

  // Rows of no run; positions are filled up with zeros to a multiple of 8.
  std::vector<int64_t> rows;
  std::vector<double> start;
  std::vector<double> start_lo;
  std::vector<double> step;

  explicit ColumnPlan(std::span<const DoubleDouble> positions);
};

// cos[r] and sin[r], times amplitude, of every row of the plan at one pair's turns per token.
void fill_column(const ColumnPlan& plan, DoubleDouble turns, double amplitude, float* cos,
                 float* sin) noexcept;

// Rows of a row-major table.
struct RowBlock {
  const double* turns = nullptr;     // (n_pairs), a multiple of kPairMultiple, aligned to 64 bytes
  const double* turns_lo = nullptr;  // the same
  const uint8_t* axis = nullptr;     // (n_pairs), or null: one axis
  int64_t n_pairs = 0;
  double amplitude = 1;
  const SplitPosition* positions = nullptr;  // (n_rows, n_axes)
  int64_t n_axes = 1;
  int64_t n_rows = 0;
};

// Row r: n_pairs cosines at entries + r * 2 * n_pairs, then as many sines.
//   Element  float, Bf16, F16 or double
template <typename Element>
void fill_rows(const RowBlock& block, Element* entries) noexcept;

// The same of the turns of `to` less those of `from`, of as many pairs and rows; the amplitude is that
// of `to`.
template <typename Element>
void fill_rows_between(const RowBlock& from, const RowBlock& to, Element* entries) noexcept;

}  // namespace ropewalk

#endif  // ROPEWALK_KERNELS_ROTATION_FILL_H_
