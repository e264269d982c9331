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

// How results are written, and what is asked for ahead: in place and past the caches what is read soon,
// apart what is written soon, whose lines are read too.
enum class Writing {
  kInPlace,     // 0.9 of scaling past the second cache; 0.6 where nothing is asked for
  kApart,       // 0.9 of memcpy in the second cache; 0.8 where nothing is asked for
  kPastCaches,  // whole lines that no cache would keep: 1.0 of memcpy or more instead of 0.9
};

constexpr int64_t bytes_ahead(Writing writing) {
  switch (writing) {
    case Writing::kInPlace:
      return 1536;
    case Writing::kApart:
      return 512;
    case Writing::kPastCaches:
      return 2048;
  }
  return 0;
}

// Heads of one token, from one coordinate on, and its row of the table, from one pair on.
template <typename Element>
struct TokenHeads {
  const Element* in;
  Element* out;
  int64_t in_stride;
  int64_t out_stride;
  int64_t count;
  const float* cos;
  const float* sin;
  bool backwards;
  const Element* ahead = nullptr;  // what is asked for while the first head is turned
  int64_t ahead_stride = 0;
};

// What the CPU's own instructions do of it, where it has them and heads have whole vectors of pairs.
// Halves: pairs [0, n) of n_pairs; side by side: the same. Rounds to nearest even.
//   returns  n, 0 where the CPU has none
int64_t turn_halves_by_cpu(const TokenHeads<Bf16>& heads, int64_t n_pairs,
                           Writing writing) noexcept;
int64_t turn_beside_by_cpu(const TokenHeads<Bf16>& heads, int64_t n_pairs,
                           Writing writing) noexcept;

}  // namespace ropewalk

#endif  // ROPEWALK_KERNELS_ROTATE_BLOCK_H_
