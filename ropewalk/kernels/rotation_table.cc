#include "ropewalk/kernels/rotation_table.h"

#include <cassert>
#include <cmath>
#include <numeric>
#include <vector>

#include "ropewalk/kernels/rotation_fill.h"
#include "ropewalk/math/turns.h"

namespace ropewalk {
namespace {

constexpr int64_t kRowMultiple = 16;           // of floats, a cache line
constexpr int64_t kEntriesForThreads = 65536;  // smaller tables are made sooner than threads wake

// ggml_rope_cache_init in its own roundings: the angle of pair 0 is the position in float32, that
// of each next pair the one before times powf(base, -2 / frequency_dim). The divisors of a file
// divide it. A scheme mixes the angle so made, scaled as the slowest pair is, with the unscaled one:
// ggml's rope_yarn. Rounding errors so pile up as they do there. A spectrum that came as a list has
// no chain: position times inv_freq, as transformers does.
void fill_float32(const Spectrum& spectrum, std::span<const int64_t> pairs,
                  std::span<const DoubleDouble> positions, int64_t first_row,
                  RotationTable& table) {
  const auto amplitude = static_cast<float>(spectrum.amplitude);
  const bool chained = spectrum.base > 0;
  const double exponent = chained ? -2.0 / static_cast<double>(spectrum.frequency_dim) : 0;
  const float link =
      chained ? std::pow(static_cast<float>(spectrum.base), static_cast<float>(exponent)) : 1.0F;
  const std::vector<double> inv_freq = spectrum.inv_freq();
  // How much slower than plain RoPE of the same base the scheme makes a pair.
  const auto slowing = [&](int64_t pair) {
    const double plain =
        chained ? std::pow(spectrum.base, exponent * static_cast<double>(pair)) : 1.0;
    const double divisor = spectrum.divisors.empty() ? 1.0 : spectrum.divisors[pair];
    return inv_freq[pair] * divisor / plain;
  };
  const double slowest = chained ? slowing(spectrum.n_pairs() - 1) : 1;
  std::vector<float> theta;  // (count), of plain RoPE at the pair in hand
  theta.reserve(positions.size());
  for (const DoubleDouble position : positions) theta.push_back(static_cast<float>(position));
  int64_t link_at = 0;  // the pair that theta is of
  for (int64_t c = 0; c < std::ssize(pairs); ++c) {
    const int64_t pair = pairs[c];
    for (; link_at < pair; ++link_at) {
      for (float& angle : theta) angle *= link;
    }
    const float divisor = spectrum.divisors.empty() ? 1.0F : spectrum.divisors[pair];
    // slowing = slowest * (1 - mix) + mix; all of it scales where nothing is mixed.
    const double change = slowing(pair);
    const bool mixes = slowest != 1;
    const auto scale = static_cast<float>(mixes ? slowest : change);
    const auto mix = static_cast<float>(mixes ? (change - slowest) / (1 - slowest) : 0);
    for (size_t r = 0; r < positions.size(); ++r) {
      const float unscaled = theta[r] / divisor;
      const float angle = unscaled * scale * (1 - mix) + unscaled * mix;
      table.cos[c * table.stride + first_row + r] = std::cos(angle) * amplitude;
      table.sin[c * table.stride + first_row + r] = std::sin(angle) * amplitude;
    }
  }
}

// Large tables take an odd number of lines, so that the pairs' entries of one row spread over the
// caches' sets.
int64_t stride_of(int64_t rows) {
  constexpr int64_t kLarge = 64;
  const int64_t lines = (rows + kRowMultiple - 1) / kRowMultiple;
  return (lines < kLarge ? lines : lines | 1) * kRowMultiple;
}

}  // namespace

RotationTable::RotationTable(int64_t pairs, int64_t rows)
    : n_pairs(pairs),
      n_rows(rows),
      stride(stride_of(rows)),
      cos(static_cast<size_t>(pairs * stride + kRowMultiple)),
      sin(static_cast<size_t>(pairs * stride + kRowMultiple)) {}

void fill_rotation_entry(DoubleDouble turns, double amplitude, int64_t pair, int64_t row,
                         RotationTable& table) {
  const CosSin value = cos_sin_of_turns(turns);
  table.cos[pair * table.stride + row] = static_cast<float>(value.cos * amplitude);
  table.sin[pair * table.stride + row] = static_cast<float>(value.sin * amplitude);
}

void fill_rotation_table(const Spectrum& spectrum, AngleMode mode,
                         std::span<const DoubleDouble> positions, int64_t first_row,
                         RotationTable& table) {
  std::vector<int64_t> pairs(static_cast<size_t>(spectrum.n_pairs()));
  std::iota(pairs.begin(), pairs.end(), int64_t{0});
  fill_rotation_table(spectrum, pairs, mode, positions, first_row, table);
}

void fill_rotation_table(const Spectrum& spectrum, std::span<const int64_t> pairs, AngleMode mode,
                         std::span<const DoubleDouble> positions, int64_t first_row,
                         RotationTable& table) {
  assert(table.n_pairs == std::ssize(pairs));
  assert(first_row + static_cast<int64_t>(positions.size()) <= table.n_rows);
  if (mode == AngleMode::kFloat32)
    return fill_float32(spectrum, pairs, positions, first_row, table);
  const ColumnPlan plan(positions);
  const auto n_entries = static_cast<int64_t>(pairs.size() * positions.size());
#pragma omp parallel for schedule(static) if (n_entries >= kEntriesForThreads)
  for (int64_t c = 0; c < std::ssize(pairs); ++c) {
    const int64_t row = c * table.stride + first_row;
    fill_column(plan, spectrum.turns_per_token[pairs[c]], spectrum.amplitude,
                table.cos.data() + row, table.sin.data() + row);
  }
}

}  // namespace ropewalk
