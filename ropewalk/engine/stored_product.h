// Products with weights as the file holds them: for one row of activations, reading the weights is all
// that takes time, and stored blocks are a quarter of what they are widened to.
#ifndef ROPEWALK_ENGINE_STORED_PRODUCT_H_
#define ROPEWALK_ENGINE_STORED_PRODUCT_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "ropewalk/formats/tensor_source.h"

namespace ropewalk {

// Rows of one matrix, one behind the other, inside a file's mapping.
struct StoredRows {
  TensorType type = TensorType::kUnknown;
  const std::byte* data = nullptr;
  int64_t inputs = 0;                    // of a row, whole blocks
  const TensorSource* source = nullptr;  // or none: of the mapping

  int64_t row_bytes() const {
    return inputs / static_cast<int64_t>(block_elements(type)) *
           static_cast<int64_t>(block_bytes(type));
  }
  StoredRows from(int64_t row) const { return {type, data + row * row_bytes(), inputs, source}; }
};

// What a product needs of its activations, made once for all rows of weights.
struct StoredActivations {
  std::span<const float> values;  // (inputs)
  std::span<const float> sums;    // (inputs / 32), of each 32 values; empty where inputs are no
                                  // multiple of 32
};

// y[r] = sum of row r times x, for 0 <= r < count, on the calling thread, in float32: weights are
// widened exactly, activations not rounded.
void multiply_stored(const StoredRows& rows, int64_t count, const StoredActivations& x, float* y);

// sums[b] = the sum of values 32 b ... 32 b + 31.
void sum_by_blocks(std::span<const float> values, std::span<float> sums);

}  // namespace ropewalk

#endif  // ROPEWALK_ENGINE_STORED_PRODUCT_H_
