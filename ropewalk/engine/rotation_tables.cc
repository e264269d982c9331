#include "ropewalk/engine/rotation_tables.h"

#include <algorithm>

#include "ropewalk/kernels/attention_memory.h"

namespace ropewalk {
namespace {

constexpr double kMostKeptBytes = 1e9;

// A guess from above of what one scheme's tables take: queries and keys, cos and sin, for every
// span.
double table_bytes(const Rotary& rotary, const std::vector<int64_t>& starts, int64_t last_row) {
  double rows = 0;
  for (size_t k = 0; k < starts.size(); ++k) {
    const int64_t end = k + 1 < starts.size() ? starts[k + 1] : last_row;
    rows += static_cast<double>(2 * end - starts[k]);
  }
  return rows * static_cast<double>(rotary.layout.n_pairs()) * 2 * sizeof(float);
}

// Adds the multiples of `chunk` between the first start and last_row.
void cut_at_multiples(int64_t chunk, int64_t last_row, std::vector<int64_t>& starts) {
  for (int64_t row = (starts[0] / chunk + 1) * chunk; row < last_row; row += chunk)
    starts.push_back(row);
  std::ranges::sort(starts);
  starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
}

}  // namespace

RotationTables::RotationTables(const Positions& positions, int64_t length, int64_t first_row,
                               int64_t n_rows, int64_t chunk)
    : positions_(positions), length_(length), first_row_(first_row), n_rows_(n_rows) {
  for (const Rotary& rotary : positions.schemes) {
    Kept kept;
    kept.starts = rotation_spans(rotary.spectrum, first_row, first_row + n_rows);
    if (chunk != 0) cut_at_multiples(chunk, first_row + n_rows, kept.starts);
    kept.tables.resize(kept.starts.size());
    kept.fits = kept.starts.size() == 1 ||
                table_bytes(rotary, kept.starts, first_row + n_rows) < kMostKeptBytes;
    kept_.push_back(std::move(kept));
  }
}

std::unique_ptr<Rotations> RotationTables::make(size_t scheme, size_t index) const {
  const std::vector<int64_t>& starts = kept_[scheme].starts;
  const int64_t end = index + 1 < starts.size() ? starts[index + 1] : first_row_ + n_rows_;
  return std::make_unique<Rotations>(positions_.schemes[scheme], length_, starts[index],
                                     end - starts[index], positions_.angles);
}

const Rotations& RotationTables::span(size_t scheme, size_t index) {
  Kept& kept = kept_[scheme];
  if (!kept.fits) return *(current_ = make(scheme, index));
  if (kept.tables[index] == nullptr) kept.tables[index] = make(scheme, index);
  return *kept.tables[index];
}

RotationTables::Bytes RotationTables::bytes(int64_t n_heads, int64_t n_kv_heads,
                                            int64_t head_dim) const {
  constexpr int64_t kShortText = 4096;
  const int64_t last_row = first_row_ + n_rows_;
  Bytes bytes;
  for (size_t scheme = 0; scheme < kept_.size(); ++scheme) {
    const Rotary& rotary = positions_.schemes[scheme];
    const auto first_span = rotation_spans(rotary.spectrum, 0, std::min(n_rows_, kShortText));
    const int64_t end = first_span.size() > 1 ? first_span[1] : std::min(n_rows_, kShortText);
    const Rotations sample(rotary, length_, 0, end, positions_.angles);
    const double share = static_cast<double>(sample.table_bytes()) / table_bytes(rotary, {0}, end);
    const Kept& kept = kept_[scheme];
    const auto held = kept.fits ? kept.starts : std::vector<int64_t>{kept.starts.back()};
    bytes.tables += static_cast<int64_t>(share * table_bytes(rotary, held, last_row));
    const size_t workspace = attention_workspace_bytes(sample, n_heads, n_kv_heads, head_dim);
    bytes.workspace = std::max(bytes.workspace, static_cast<int64_t>(workspace));
  }
  return bytes;
}

std::vector<float> RotationTables::row_scale(size_t scheme) const {
  const Rotary& rotary = positions_.schemes[scheme];
  std::vector<float> scale;
  scale.reserve(static_cast<size_t>(n_rows_));
  int64_t seen = -1;
  double multiplier = 1;
  for (int64_t i = first_row_; i < first_row_ + n_rows_; ++i) {
    const int64_t n = rotary.spectrum.length_for_row(i, length_);
    if (n != seen) multiplier = rotary.spectrum.at(n).logit_multiplier;
    seen = n;
    scale.push_back(static_cast<float>(multiplier * rotary.temperature.at(i)));
  }
  return scale;
}

}  // namespace ropewalk
