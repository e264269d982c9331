// Stored weights of sixteen rows side by side: what a CPU's dot products of bytes read at the speed of
// memory.
#ifndef ROPEWALK_ENGINE_INTERLEAVED_ROWS_H_
#define ROPEWALK_ENGINE_INTERLEAVED_ROWS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ropewalk/base/aligned_buffer.h"
#include "ropewalk/engine/stored_product.h"

namespace ropewalk {

// One row of activations in whole numbers of 16 bits, each block of 32 with a scale of its own: within
// 1 / 65000 of the block's largest.
class ByteActivations {
 public:
  //   values  whole blocks of 32; the scale of a block where one is not finite is NaN, and so are all
  //           products
  explicit ByteActivations(std::span<const float> values);

  static constexpr int64_t kBlock = 32;

  // A value is scale * (256 high + low).
  std::vector<int8_t> high;   // (inputs)
  std::vector<int8_t> low;    // (inputs)
  std::vector<float> scales;  // (inputs / 32)
  std::vector<int32_t> sums;  // (inputs / 16), of 16 whole numbers each
};

class InterleavedRows {
 public:
  static constexpr int64_t kRows = 16;  // of a group

  // Whether this CPU has such products (AVX512-VNNI) and rows of this type can lie so: Q4_0, Q4_1,
  // Q8_0, Q4_K and Q6_K.
  static bool can_hold(TensorType type);

  // Copies `count` rows; rows that the last group lacks are zero.
  //   rows  of a type that can_hold()
  InterleavedRows(const StoredRows& rows, int64_t count);

  int64_t groups() const { return (count_ + kRows - 1) / kRows; }

  // y[r] = sum of row r times x, for the rows of groups [first, first + n), on the calling thread:
  // weights are met exactly, sums are of whole numbers within a block and in float32 across blocks.
  //   y  (count), of all rows
  void multiply(int64_t first, int64_t n, const ByteActivations& x, float* y) const;

  // The same sums of rows that are copied for this one product, a group at a time.
  //   group  memory of the calling thread, reused
  //   y      (count)
  static void multiply(const StoredRows& rows, int64_t count, const ByteActivations& x,
                       AlignedBuffer<uint8_t>& group, float* y);

 private:
  TensorType type_;
  int64_t count_;
  int64_t blocks_;       // of a row
  int64_t group_bytes_;  // of all blocks of a group
  std::shared_ptr<uint8_t> data_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_ENGINE_INTERLEAVED_ROWS_H_
