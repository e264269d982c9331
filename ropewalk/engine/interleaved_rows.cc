#include "ropewalk/engine/interleaved_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ropewalk/base/page_pool.h"
#include "ropewalk/base/parallel.h"
#include "ropewalk/engine/byte_products.h"

namespace ropewalk {
namespace {

// A run of equal pieces of a stored block. Sixteen rows' first pieces lie side by side, then their
// second ones, and so on.
struct Field {
  int64_t offset;  // in the block
  int64_t bytes;   // of a piece
  int64_t pieces;
};

// Whole numbers go by words of four, scales one by one: formats as in ggml's ggml-common.h. Empty
// for the other types.
std::span<const Field> fields_of(TensorType type) {
  static constexpr Field kQ4_0[] = {{0, 2, 1}, {2, 4, 4}};
  static constexpr Field kQ4_1[] = {{0, 2, 2}, {4, 4, 4}};
  static constexpr Field kQ8_0[] = {{0, 2, 1}, {2, 4, 8}};
  static constexpr Field kQ4_K[] = {{0, 2, 2}, {4, 1, 12}, {16, 4, 32}};
  static constexpr Field kQ6_K[] = {{0, 4, 32}, {128, 4, 16}, {192, 1, 16}, {208, 2, 1}};
  switch (type) {
    case TensorType::kQ4_0:
      return kQ4_0;
    case TensorType::kQ4_1:
      return kQ4_1;
    case TensorType::kQ8_0:
      return kQ8_0;
    case TensorType::kQ4_K:
      return kQ4_K;
    case TensorType::kQ6_K:
      return kQ6_K;
    default:
      return {};
  }
}

// Pieces are so small that a copy of a length not known before would cost more than they do.
template <int64_t kBytes>
uint8_t* interleave_field(const std::byte* from, int64_t row_bytes, int64_t rows, int64_t pieces,
                          uint8_t* to) {
  for (int64_t piece = 0; piece < pieces; ++piece) {
    for (int64_t r = 0; r < rows; ++r)
      std::memcpy(to + r * kBytes, from + piece * kBytes + r * row_bytes, size_t{kBytes});
    to += InterleavedRows::kRows * kBytes;
  }
  return to;
}

// One group: its first `rows` rows.
void interleave(const StoredRows& stored, int64_t blocks, int64_t rows, uint8_t* to) {
  const auto block = static_cast<int64_t>(block_bytes(stored.type));
  const int64_t row_bytes = stored.row_bytes();
  const std::span<const Field> fields = fields_of(stored.type);
  for (int64_t b = 0; b < blocks; ++b) {
    for (const Field& field : fields) {
      const std::byte* const from = stored.data + b * block + field.offset;
      if (field.bytes == 4) {
        to = interleave_field<4>(from, row_bytes, rows, field.pieces, to);
      } else if (field.bytes == 2) {
        to = interleave_field<2>(from, row_bytes, rows, field.pieces, to);
      } else {
        to = interleave_field<1>(from, row_bytes, rows, field.pieces, to);
      }
    }
  }
}

}  // namespace

ByteActivations::ByteActivations(std::span<const float> values)
    : high(values.size()),
      low(values.size()),
      scales(values.size() / kBlock),
      sums(values.size() / 16) {
  // The largest becomes 127 * 256 + 127.
  constexpr float kLargest = 32639;
  for (size_t b = 0; b < scales.size(); ++b) {
    const float* const block = values.data() + b * kBlock;
    float largest = 0, zero = 0;
    for (int64_t k = 0; k < kBlock; ++k) {
      largest = std::max(largest, std::abs(block[k]));
      zero += 0 * block[k];  // NaN where one is no finite number
    }
    scales[b] = largest / kLargest + zero;
    if (std::isnan(zero)) continue;
    // A scale that is no normal number is worth nothing.
    const float inverse = largest < 1e-30f ? 0 : kLargest / largest;
    for (int64_t k = 0; k < kBlock; ++k) {
      const float scaled = block[k] * inverse;
      const auto whole = static_cast<int32_t>(scaled + std::copysign(0.5f, scaled));
      const size_t at = b * kBlock + static_cast<size_t>(k);
      high[at] = static_cast<int8_t>((whole + 128) >> 8);
      low[at] = static_cast<int8_t>(whole - 256 * high[at]);
      sums[at / 16] += whole;
    }
  }
}

bool InterleavedRows::can_hold(TensorType type) {
  return !fields_of(type).empty() && has_byte_products();
}

InterleavedRows::InterleavedRows(const StoredRows& rows, int64_t count)
    : type_(rows.type),
      count_(count),
      blocks_(rows.inputs / static_cast<int64_t>(block_elements(rows.type))),
      group_bytes_(kRows * rows.row_bytes()),
      data_(allocate_pooled(static_cast<size_t>(groups() * group_bytes_))) {
  parallel_for(
      groups(), [] { return char(); },
      [&](int64_t group, const char&) {
        const int64_t first = group * kRows;
        interleave(rows.from(first), blocks_, std::min(kRows, count_ - first),
                   data_.get() + group * group_bytes_);
      });
}

void InterleavedRows::multiply(int64_t first, int64_t n, const ByteActivations& x, float* y) const {
  for (int64_t group = first; group < first + n; ++group) {
    float sums[kRows];
    multiply_group(type_, data_.get() + group * group_bytes_, blocks_, x, sums);
    const int64_t row = group * kRows;
    std::copy_n(sums, std::min(kRows, count_ - row), y + row);
  }
}

void InterleavedRows::multiply(const StoredRows& rows, int64_t count, const ByteActivations& x,
                               AlignedBuffer<uint8_t>& group, float* y) {
  const int64_t blocks = rows.inputs / static_cast<int64_t>(block_elements(rows.type));
  group.reserve(static_cast<size_t>(kRows * rows.row_bytes()));
  for (int64_t first = 0; first < count; first += kRows) {
    const int64_t own = std::min(kRows, count - first);
    interleave(rows.from(first), blocks, own, group.data());
    float sums[kRows];
    multiply_group(rows.type, group.data(), blocks, x, sums);
    std::copy_n(sums, own, y + first);
  }
}

}  // namespace ropewalk
