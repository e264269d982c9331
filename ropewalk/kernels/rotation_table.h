// RotationTable: cos and sin of every pair at a list of rotation positions.
#ifndef ROPEWALK_KERNELS_ROTATION_TABLE_H_
#define ROPEWALK_KERNELS_ROTATION_TABLE_H_

#include <cstdint>
#include <span>

#include "ropewalk/base/aligned_buffer.h"
#include "ropewalk/math/spectrum.h"

namespace ropewalk {

enum class AngleMode {
  kExact,    // every entry right to one float ulp, at any position up to 2^40
  kFloat32,  // the angle is a chain of float32 products from the base, rounded where ggml rounds
             // (transformers multiplies once): for comparing with such engines only
};

// Pair-major: row `r` of the table's pair `c` lies at c * stride + r. Entries are amplitude * cos
// and amplitude * sin.
struct RotationTable {
  int64_t n_pairs = 0;
  int64_t n_rows = 0;
  int64_t stride =
      0;  // >= n_rows, a multiple of 16; the rows between are zero, 16 more can be read
  AlignedBuffer<float> cos;
  AlignedBuffer<float> sin;

  RotationTable() = default;
  RotationTable(int64_t pairs, int64_t rows);

  const float* cos_of(int64_t pair) const { return cos.data() + pair * stride; }
  const float* sin_of(int64_t pair) const { return sin.data() + pair * stride; }
};

// Fills rows first_row ... of every pair. A decay is not in them: see Rotations.
//   positions  rotation positions, (count); |position| <= 2^40
//   table      has the spectrum's pairs and rows up to first_row + count
// kExact: |entry - exact| <= 1 float ulp wherever the entry is above 2^-38 in size.
void fill_rotation_table(const Spectrum& spectrum, AngleMode mode,
                         std::span<const DoubleDouble> positions, int64_t first_row,
                         RotationTable& table);

// The same for some pairs only.
//   pairs  of the spectrum, rising: pair c of the table is pairs[c]
void fill_rotation_table(const Spectrum& spectrum, std::span<const int64_t> pairs, AngleMode mode,
                         std::span<const DoubleDouble> positions, int64_t first_row,
                         RotationTable& table);

// cos and sin, times amplitude, of an angle given in turns, in the same manner: one entry.
void fill_rotation_entry(DoubleDouble turns, double amplitude, int64_t pair, int64_t row,
                         RotationTable& table);

}  // namespace ropewalk

#endif  // ROPEWALK_KERNELS_ROTATION_TABLE_H_
