#include "ropewalk/kernels/rotation_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/base/parallel.h"
#include "ropewalk/kernels/rotation_fill.h"

namespace ropewalk {
namespace {

constexpr double kFarthest = 0x1p40;
constexpr int64_t kRowsAtOnce = 512;           // of one thread
constexpr int64_t kEntriesForThreads = 65536;  // smaller tables are made sooner than threads wake

int64_t padded(int64_t pairs) {
  return (pairs + kPairMultiple - 1) / kPairMultiple * kPairMultiple;
}

double factor_of(double amplitude, TableAmplitude how) {
  if (how == TableAmplitude::kLeftOut) return 1;
  const double factor = how == TableAmplitude::kUndone ? 1 / amplitude : amplitude;
  if (!std::isfinite(factor)) {
    throw Error("amplitude",
                how == TableAmplitude::kUndone ? "must be finite, and not 0" : "must be finite",
                std::to_string(amplitude))
        .of(FaultKind::kOutOfRange);
  }
  return factor;
}

void check_positions(const RowPositions& positions) {
  for (int64_t r = 0; r < positions.count(); ++r) {
    for (int64_t axis = 0; axis < positions.n_axes(); ++axis) {
      const DoubleDouble position = positions.at(r, axis);
      if (std::fabs(position.hi) <= kFarthest) continue;  // false for NaN
      throw Error("positions[" + std::to_string(r) + "]", "must be -2^40 to 2^40",
                  std::to_string(position.hi))
          .of(FaultKind::kOutOfRange);
    }
  }
}

// A decay is a matter of two sides and a centre, which rows do not know.
void check_no_decay(const Spectrum& spectrum) {
  if (spectrum.decay.empty()) return;
  throw Error("decay", "must be none: rows hold turns, which queries and keys share", "some",
              "Rotations has tables of either side")
      .of(FaultKind::kConflict);
}

void check_axes(const Spectrum& spectrum, int64_t n_axes) {
  if (n_axes == 1) return;
  if (spectrum.axis.empty()) {
    throw Error("positions", "must have one axis, as the spectrum has", std::to_string(n_axes))
        .of(FaultKind::kConflict);
  }
  for (const uint8_t axis : spectrum.axis) {
    if (axis < n_axes) continue;
    throw Error("positions", "must have an axis for every one that the spectrum names",
                std::to_string(n_axes))
        .of(FaultKind::kOutOfRange);
  }
}

void check_rows(int64_t n_pairs, int64_t first_row, int64_t count, int64_t table_pairs,
                int64_t table_rows) {
  if (n_pairs != table_pairs) {
    throw Error("table", "must have the spectrum's " + std::to_string(n_pairs) + " pairs",
                std::to_string(table_pairs))
        .of(FaultKind::kWrongLength);
  }
  if (first_row < 0 || first_row > table_rows || count > table_rows - first_row) {
    throw Error("table", "must have the rows to be filled", std::to_string(table_rows))
        .of(FaultKind::kOutOfRange);
  }
}

// Turns per token as the kernels take them.
struct TurnsPerToken {
  AlignedBuffer<double> hi;
  AlignedBuffer<double> lo;
  std::vector<uint8_t> axis;

  TurnsPerToken(const Spectrum& spectrum, bool by_axis)
      : hi(static_cast<size_t>(padded(spectrum.n_pairs()))), lo(hi.size()) {
    for (int64_t pair = 0; pair < spectrum.n_pairs(); ++pair) {
      hi[pair] = spectrum.turns_per_token[pair].hi;
      lo[pair] = spectrum.turns_per_token[pair].lo;
    }
    if (!by_axis) return;
    axis = spectrum.axis;
    axis.resize(hi.size());
  }
};

RowBlock block_of(const TurnsPerToken& turns, const RowPositions& positions, double amplitude) {
  return {.turns = turns.hi.data(),
          .turns_lo = turns.lo.data(),
          .axis = turns.axis.empty() ? nullptr : turns.axis.data(),
          .n_pairs = static_cast<int64_t>(turns.hi.size()),
          .amplitude = amplitude,
          .n_axes = positions.n_axes()};
}

// Rows [first, first + count) of a block, whose positions are put into `split`.
RowBlock some_rows(RowBlock block, const RowPositions& positions, int64_t first, int64_t count,
                   std::vector<SplitPosition>& split) {
  split.clear();
  const std::optional<int64_t> whole = positions.whole_first();
  for (int64_t r = first; r < first + count; ++r) {
    if (whole.has_value()) {
      split.emplace_back(*whole + r);
      continue;
    }
    for (int64_t axis = 0; axis < block.n_axes; ++axis) split.emplace_back(positions.at(r, axis));
  }
  block.positions = split.data();
  block.n_rows = count;
  return block;
}

// Runs fill(first, count, scratch) over all rows, with one Scratch a thread.
template <typename Scratch, typename Fill>
void for_rows(int64_t n_rows, int64_t pair_stride, const Fill& fill) {
  const auto fill_part = [&](int64_t part, Scratch& scratch) {
    const int64_t first = part * kRowsAtOnce;
    fill(first, std::min(kRowsAtOnce, n_rows - first), scratch);
  };
  const int64_t n_parts = (n_rows + kRowsAtOnce - 1) / kRowsAtOnce;
  if (n_rows * pair_stride >= kEntriesForThreads) {
    parallel_for(
        n_parts, [] { return Scratch(); }, fill_part);
    return;
  }
  Scratch scratch;
  for (int64_t part = 0; part < n_parts; ++part) fill_part(part, scratch);
}

}  // namespace

template <typename Element>
RotationRows<Element>::RotationRows(int64_t pairs, int64_t rows) : n_pairs(pairs), n_rows(rows) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 64;
  if (pairs < 0 || rows < 0 || pairs > kMost ||
      rows > kMost / std::max<int64_t>(padded(pairs), 1)) {
    throw Error("table", "must be of a size that memory has",
                std::to_string(rows) + " rows of " + std::to_string(pairs) + " pairs")
        .of(FaultKind::kOutOfRange);
  }
  pair_stride = padded(pairs);
  entries = AlignedBuffer<Element>(static_cast<size_t>(rows * 2 * pair_stride));
}

RowPositions RowPositions::range(int64_t first, int64_t count) {
  constexpr auto kMost = static_cast<int64_t>(kFarthest);
  if (count < 0 || first < -kMost || first > kMost || count > kMost - first + 1) {
    throw Error("positions", "must be -2^40 to 2^40",
                std::to_string(count) + " from " + std::to_string(first) + " on")
        .of(FaultKind::kOutOfRange);
  }
  RowPositions made;
  made.first_ = first;
  made.count_ = count;
  return made;
}

RowPositions RowPositions::list(std::span<const DoubleDouble> positions) {
  return axes(positions, 1);
}

RowPositions RowPositions::axes(std::span<const DoubleDouble> positions, int64_t n_axes) {
  if (n_axes < 1 || std::ssize(positions) % n_axes != 0) {
    throw Error("positions", "must be a multiple of the number of axes",
                std::to_string(positions.size()) + " of " + std::to_string(n_axes) + " axes")
        .of(FaultKind::kWrongLength);
  }
  RowPositions made;
  made.count_ = std::ssize(positions) / n_axes;
  made.n_axes_ = n_axes;
  made.given_ = positions;
  check_positions(made);
  return made;
}

DoubleDouble RowPositions::at(int64_t row, int64_t axis) const {
  return given_.empty() ? DoubleDouble(first_ + row) : given_[row * n_axes_ + axis];
}

std::optional<int64_t> RowPositions::whole_first() const {
  return given_.empty() ? std::optional(first_) : std::nullopt;
}

template <typename Element>
void fill_rotation_rows(const Spectrum& spectrum, const RowPositions& positions,
                        TableAmplitude amplitude, int64_t first_row, RotationRows<Element>& table) {
  const int64_t count = positions.count();
  const int64_t n_axes = positions.n_axes();
  check_no_decay(spectrum);
  check_axes(spectrum, n_axes);
  check_rows(spectrum.n_pairs(), first_row, count, table.n_pairs, table.n_rows);
  const TurnsPerToken turns(spectrum, n_axes > 1);
  const RowBlock all = block_of(turns, positions, factor_of(spectrum.amplitude, amplitude));
  for_rows<std::vector<SplitPosition>>(
      count, table.pair_stride, [&](int64_t first, int64_t n_rows, auto& split) {
        fill_rows(some_rows(all, positions, first, n_rows, split),
                  table.entries.data() + (first_row + first) * 2 * table.pair_stride);
      });
}

template <typename Element>
RotationRows<Element> rotation_rows(const Spectrum& spectrum, const RowPositions& positions,
                                    TableAmplitude amplitude) {
  RotationRows<Element> table(spectrum.n_pairs(), positions.count());
  fill_rotation_rows(spectrum, positions, amplitude, 0, table);
  return table;
}

Spectrum re_rotation_spectrum(const Spectrum& from, const Spectrum& to) {
  if (from.n_pairs() != to.n_pairs() || from.axis != to.axis) {
    throw Error(
        "spectrum", "must have the pairs and axes of the one before",
        std::to_string(to.n_pairs()) + " pairs instead of " + std::to_string(from.n_pairs()))
        .of(FaultKind::kConflict);
  }
  check_no_decay(from);
  check_no_decay(to);
  Spectrum step;
  step.axis = to.axis;
  step.amplitude = to.amplitude / from.amplitude;
  if (!std::isfinite(step.amplitude)) {
    throw Error("amplitude", "must not be 0", std::to_string(from.amplitude))
        .of(FaultKind::kOutOfRange);
  }
  for (int64_t pair = 0; pair < to.n_pairs(); ++pair) {
    step.turns_per_token.push_back(to.turns_per_token[pair] - from.turns_per_token[pair]);
  }
  return step;
}

template <typename Element>
RotationRows<Element> re_rotation_rows(const Spectrum& from, const RowPositions& from_positions,
                                       const Spectrum& to, const RowPositions& to_positions,
                                       TableAmplitude amplitude) {
  const Spectrum step = re_rotation_spectrum(from, to);
  check_axes(from, from_positions.n_axes());
  check_axes(to, to_positions.n_axes());
  const int64_t count = to_positions.count();
  if (from_positions.count() != count) {
    throw Error("positions", "must be as many as before", std::to_string(count))
        .of(FaultKind::kWrongLength);
  }
  const double factor = factor_of(step.amplitude, amplitude);
  RotationRows<Element> table(to.n_pairs(), count);
  const TurnsPerToken from_turns(from, from_positions.n_axes() > 1);
  const TurnsPerToken to_turns(to, to_positions.n_axes() > 1);
  const RowBlock from_all = block_of(from_turns, from_positions, 1);
  const RowBlock to_all = block_of(to_turns, to_positions, factor);
  struct Scratch {
    std::vector<SplitPosition> from;
    std::vector<SplitPosition> to;
  };
  for_rows<Scratch>(count, table.pair_stride, [&](int64_t first, int64_t n_rows, Scratch& split) {
    fill_rows_between(some_rows(from_all, from_positions, first, n_rows, split.from),
                      some_rows(to_all, to_positions, first, n_rows, split.to),
                      table.entries.data() + first * 2 * table.pair_stride);
  });
  return table;
}

#define ROPEWALK_INSTANTIATE(Element)                                                             \
  template struct RotationRows<Element>;                                                          \
  template void fill_rotation_rows(const Spectrum&, const RowPositions&, TableAmplitude, int64_t, \
                                   RotationRows<Element>&);                                       \
  template RotationRows<Element> rotation_rows(const Spectrum&, const RowPositions&,              \
                                               TableAmplitude);                                   \
  template RotationRows<Element> re_rotation_rows(                                                \
      const Spectrum&, const RowPositions&, const Spectrum&, const RowPositions&, TableAmplitude)
ROPEWALK_INSTANTIATE(float);
ROPEWALK_INSTANTIATE(Bf16);
ROPEWALK_INSTANTIATE(F16);
ROPEWALK_INSTANTIATE(double);
#undef ROPEWALK_INSTANTIATE

}  // namespace ropewalk
