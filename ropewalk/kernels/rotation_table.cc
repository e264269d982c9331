#include "ropewalk/kernels/rotation_table.h"

#include <cassert>
#include <cmath>

#include "ropewalk/math/turns.h"

namespace ropewalk {
namespace {

constexpr int64_t kRowMultiple = 16;

// What ggml and transformers do: position and frequency rounded to float32, their product too.
void fill_float32(const Spectrum& spectrum, std::span<const DoubleDouble> positions,
                  int64_t first_row, RotationTable& table) {
  const auto amplitude = static_cast<float>(spectrum.amplitude);
  const std::vector<double> inv_freq = spectrum.inv_freq();
  for (int64_t c = 0; c < spectrum.n_pairs(); ++c) {
    const auto speed = static_cast<float>(inv_freq[c]);
    for (size_t r = 0; r < positions.size(); ++r) {
      const float angle = static_cast<float>(positions[r]) * speed;
      table.cos[c * table.stride + first_row + r] = std::cos(angle) * amplitude;
      table.sin[c * table.stride + first_row + r] = std::sin(angle) * amplitude;
    }
  }
}

}  // namespace

RotationTable::RotationTable(int64_t pairs, int64_t rows)
    : n_pairs(pairs),
      n_rows(rows),
      stride((rows + kRowMultiple - 1) / kRowMultiple * kRowMultiple),
      cos(static_cast<size_t>(pairs * stride)),
      sin(static_cast<size_t>(pairs * stride)) {}

void fill_rotation_entry(DoubleDouble turns, double amplitude, int64_t pair, int64_t row,
                         RotationTable& table) {
  const CosSin value = cos_sin_of_turns(turns);
  table.cos[pair * table.stride + row] = static_cast<float>(value.cos * amplitude);
  table.sin[pair * table.stride + row] = static_cast<float>(value.sin * amplitude);
}

void fill_rotation_rows(const Spectrum& spectrum, AngleMode mode,
                        std::span<const DoubleDouble> positions, int64_t first_row,
                        RotationTable& table) {
  assert(table.n_pairs == spectrum.n_pairs());
  assert(first_row + static_cast<int64_t>(positions.size()) <= table.n_rows);
  if (mode == AngleMode::kFloat32) return fill_float32(spectrum, positions, first_row, table);
#pragma omp parallel for schedule(static)
  for (int64_t c = 0; c < spectrum.n_pairs(); ++c) {
    for (size_t r = 0; r < positions.size(); ++r) {
      const DoubleDouble turns = fraction_of_turn(positions[r], spectrum.turns_per_token[c]);
      fill_rotation_entry(turns, spectrum.amplitude, c, first_row + static_cast<int64_t>(r), table);
    }
  }
}

}  // namespace ropewalk
