// rotate(): turns the pairs of queries and keys by the rows of a table.
#ifndef ROPEWALK_KERNELS_ROTATE_H_
#define ROPEWALK_KERNELS_ROTATE_H_

#include <cstdint>
#include <initializer_list>
#include <span>

#include "ropewalk/base/half.h"
#include "ropewalk/kernels/rotation_rows.h"
#include "ropewalk/math/pair_layout.h"

namespace ropewalk {

// Heads of tokens, wherever they lie: coordinate c of head h of token t of batch b is
//   data[b * batch_stride + t * token_stride + h * head_stride + c],
// strides in elements. Usual ones, of D coordinates, H heads, T tokens:
//   [batch, seq, heads, dim]   T * H * D, H * D, D
//   [batch, heads, seq, dim]   H * T * D, D, T * D
//   packed QKV, H + 2 G heads  T * (H + 2 G) * D, (H + 2 G) * D, D; keys from data + H * D on
//   ragged batches, packed     one batch of all their tokens; Rotation::rows says where each stands
template <typename Element>
struct HeadsView {
  Element* data = nullptr;
  int64_t n_batches = 1;
  int64_t n_tokens = 0;
  int64_t n_heads = 0;
  int64_t batch_stride = 0;
  int64_t token_stride = 0;
  int64_t head_stride = 0;
};

// How to turn. The table decides what is turned by: positions and spectrum, or their differences
// (re_rotation_spectrum(), re_rotation_rows(), or the spectrum at a shift) for what is turned already;
// and whether amplitude is in it (TableAmplitude).
struct Rotation {
  PairLayout layout;
  const RotationRows<float>& table;  // of layout.n_pairs() pairs
  // The table's row of each token: (n_batches, n_tokens); or (n_tokens), the same for every batch; or
  // (1), the same for every token; or none: token t goes by row t.
  std::span<const int64_t> rows = {};
  // Turns the other way, by the transpose: the backward pass of the same rotation, and its inverse
  // where the table's amplitude is 1 or left out.
  bool backwards = false;
};

// One tensor to be turned.
template <typename Element>
struct RotatedHeads {
  HeadsView<const Element> from;
  HeadsView<Element> to;  // the same memory at the same strides, or apart from all of `from`
};

template <typename Element>
RotatedHeads<Element> in_place(const HeadsView<Element>& heads) {
  return {{heads.data, heads.n_batches, heads.n_tokens, heads.n_heads, heads.batch_stride,
           heads.token_stride, heads.head_stride},
          heads};
}

// Of each pair (x, y): x' = x cos - y sin, y' = x sin + y cos; coordinates from rotary_dim on are
// copied. In float, whatever the element; bf16 and f16 are rounded once, to nearest even.
// Error: at most 2^-22 (|x| + |y|) times the table's amplitude before that rounding.
//   tensors  queries and keys, say: of one table, of the same batches and tokens
// The same bits whatever the number of threads.
// Throws Error where shapes, table and rows do not fit each other.
template <typename Element>
void rotate(const Rotation& rotation, std::span<const RotatedHeads<Element>> tensors);

template <typename Element>
void rotate(const Rotation& rotation, std::initializer_list<RotatedHeads<Element>> tensors) {
  rotate(rotation, std::span<const RotatedHeads<Element>>(tensors.begin(), tensors.size()));
}

}  // namespace ropewalk

#endif  // ROPEWALK_KERNELS_ROTATE_H_
