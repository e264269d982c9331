// How many floats a pass of a decoder holds, for those who make its buffers and those who foretell them.
#ifndef ROPEWALK_ENGINE_PASS_SIZES_H_
#define ROPEWALK_ENGINE_PASS_SIZES_H_

#include <cstdint>

#include "ropewalk/engine/blueprint.h"
#include "ropewalk/engine/row_blocks.h"

namespace ropewalk {

// What is carried from layer to layer, rows padded.
struct PassSizes {
  int64_t residual = 0;     // (rows, hidden)
  int64_t q = 0;            // (rows, n_heads, head_dim); as many are attended
  int64_t k = 0;            // (rows, n_kv_heads, head_dim); as many values
  int64_t log_sum_exp = 0;  // (rows, n_heads), where some layer has sinks

  PassSizes(const Blueprint& blueprint, int64_t rows) {
    const ModelShape& shape = blueprint.shape;
    const int64_t n = rows <= Dense::kFewRows ? Dense::kFewRows : whole_blocks(rows);
    residual = n * shape.hidden;
    q = n * shape.n_heads * shape.head_dim;
    k = n * shape.n_kv_heads * shape.head_dim;
    if (blueprint.sinks) log_sum_exp = n * shape.n_heads;
  }
};

}  // namespace ropewalk

#endif  // ROPEWALK_ENGINE_PASS_SIZES_H_
