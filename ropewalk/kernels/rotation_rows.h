// RotationRows: cos and sin tables row by row, a row holding every pair at one position. What
// rotate() reads, and what engines that keep tables of their own take.
#ifndef ROPEWALK_KERNELS_ROTATION_ROWS_H_
#define ROPEWALK_KERNELS_ROTATION_ROWS_H_

#include <cstdint>
#include <optional>
#include <span>

#include "ropewalk/base/aligned_buffer.h"
#include "ropewalk/base/half.h"
#include "ropewalk/math/spectrum.h"

namespace ropewalk {

// What of the spectrum's amplitude is in the entries.
enum class TableAmplitude {
  kApplied,  // entries are amplitude * cos and amplitude * sin
  kLeftOut,  // cos and sin alone
  kUndone,   // cos / amplitude and sin / amplitude: turned backwards, they undo kApplied
};

// Row r: the cosines of pairs 0, 1, ... at cos_of(r), their sines at sin_of(r). Rows are aligned to 32
// bytes; entries [n_pairs, pair_stride) are those of a pair that stands still.
//   Element  float, Bf16, F16 or double
template <typename Element>
struct RotationRows {
  int64_t n_pairs = 0;
  int64_t n_rows = 0;
  int64_t pair_stride = 0;         // >= n_pairs, a multiple of 16
  AlignedBuffer<Element> entries;  // (n_rows, 2, pair_stride)

  RotationRows() = default;
  // Throws Error where a number is negative or the table cannot be addressed.
  RotationRows(int64_t pairs, int64_t rows);

  const Element* cos_of(int64_t row) const { return entries.data() + row * 2 * pair_stride; }
  const Element* sin_of(int64_t row) const { return cos_of(row) + pair_stride; }
};

// Where the rows of a table stand: count rows, by one of
//   range  first, first + 1, ...
//   list   (count), rotation positions, fractions included
//   axes   (count, n_axes): a pair goes by the coordinate that spectrum.axis names
class RowPositions {
 public:
  static RowPositions range(int64_t first, int64_t count);
  static RowPositions list(std::span<const DoubleDouble> positions);
  static RowPositions axes(std::span<const DoubleDouble> positions, int64_t n_axes);

  int64_t count() const { return count_; }
  int64_t n_axes() const { return n_axes_; }
  DoubleDouble at(int64_t row, int64_t axis) const;

  // The integer at which a range's first row stands; none for a list.
  std::optional<int64_t> whole_first() const;

 private:
  int64_t first_ = 0;
  int64_t count_ = 0;
  int64_t n_axes_ = 1;
  std::span<const DoubleDouble> given_;  // empty for a range
};

// Fills rows first_row ... of a table that has the spectrum's pairs.
//   positions  |position| <= 2^40; one axis is every pair's, whatever the spectrum says
//   spectrum   |turns per token| <= 1/6, a radian a token, for the bounds below
// Error, of float, bf16 and f16: at most 1 ulp of the type wherever the entry is above 2^-38 in size.
// Of double: at most 2 ulps while cos or sin is above 2^-10 in size, and 2^-62 below; half an ulp more
// where an amplitude is in it. Equal positions give equal entries, however the call was cut.
// Throws Error where a position is out of range, an axis is missing, the amplitude is not finite (or 0
// and to be undone), the spectrum decays, or the rows are not the table's.
template <typename Element>
void fill_rotation_rows(const Spectrum& spectrum, const RowPositions& positions,
                        TableAmplitude amplitude, int64_t first_row, RotationRows<Element>& table);

// A table of just these rows.
template <typename Element>
RotationRows<Element> rotation_rows(const Spectrum& spectrum, const RowPositions& positions,
                                    TableAmplitude amplitude);

// The spectrum whose rotation takes what was turned by `from` to what `to` would have turned, at equal
// positions: turns per token and amplitudes go by difference and quotient. For a mere shift of
// positions no other spectrum is wanted: turn on by the shift.
// Throws Error where the pairs or axes differ, one of them decays, or from.amplitude is 0.
Spectrum re_rotation_spectrum(const Spectrum& from, const Spectrum& to);

// The same where the positions differ too: row r turns from from_positions at r under `from` to
// to_positions at r under `to`. Entries are as right as those of fill_rotation_rows() while both spectra
// stay within its bounds, but doubles below 2^-10 to 2^-61. Throws as above, and where the numbers of
// positions differ.
template <typename Element>
RotationRows<Element> re_rotation_rows(const Spectrum& from, const RowPositions& from_positions,
                                       const Spectrum& to, const RowPositions& to_positions,
                                       TableAmplitude amplitude);

}  // namespace ropewalk

#endif  // ROPEWALK_KERNELS_ROTATION_ROWS_H_
