// The work item of rotate(): some tokens of one batch. Everything trusts its input.
#ifndef ROPEWALK_KERNELS_ROTATE_BLOCK_H_
#define ROPEWALK_KERNELS_ROTATE_BLOCK_H_

#include <cstdint>

#include "ropewalk/base/half.h"
#include "ropewalk/math/pair_layout.h"

namespace ropewalk {

template <typename Element>
struct RotateBlock {
  const Element* in = nullptr;  // head 0 of token 0
  Element* out = nullptr;
  int64_t in_token_stride = 0;
  int64_t in_head_stride = 0;
  int64_t out_token_stride = 0;
  int64_t out_head_stride = 0;
  int64_t n_tokens = 0;
  int64_t n_heads = 0;

  const float* table = nullptr;   // row r: cosines at r * row_stride, sines pair_stride further
  int64_t pair_stride = 0;        // row_stride is twice that
  const int64_t* rows = nullptr;  // (n_tokens); null: row first_row + t * row_step
  int64_t first_row = 0;
  int64_t row_step = 1;

  PairLayout layout;
  bool backwards = false;
  bool past_caches =
      false;  // out is too large for caches; every line of its rotated part is aligned and
              // written whole

  int64_t row_of(int64_t token) const {
    return rows == nullptr ? first_row + token * row_step : rows[token];
  }
};

}  // namespace ropewalk

#endif  // ROPEWALK_KERNELS_ROTATE_BLOCK_H_
