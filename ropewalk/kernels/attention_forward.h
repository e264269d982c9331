// What a forward pass of attend() had and gave: enough to make its weights again, tile by tile.
#ifndef ROPEWALK_KERNELS_ATTENTION_FORWARD_H_
#define ROPEWALK_KERNELS_ATTENTION_FORWARD_H_

#include <cstdint>
#include <span>

#include "ropewalk/base/aligned_buffer.h"
#include "ropewalk/kernels/attention.h"
#include "ropewalk/kernels/rotations.h"

namespace ropewalk {

// One without cap, bias or padding: they are not made again here.
struct AttentionForward {
  const Rotations* rotations = nullptr;
  const KvTiles<float>* kv = nullptr;
  int64_t n_heads = 0;
  const float* queries = nullptr;      // (n_rows, n_heads, head_dim), unrotated
  std::span<const float> row_scale;    // (n_rows)
  std::span<const float> log_sum_exp;  // (n_rows, n_heads), of the scaled logits
};

// Memory of one thread for kTile rows on kTile keys; wide = head_dim to whole vectors.
struct TileScratch {
  AlignedBuffer<float> query;    // (kTile, wide) rotated, pairs side by side
  AlignedBuffer<float> key;      // (wide, kTile) rotated
  AlignedBuffer<float> weights;  // (kTile, kTile)
};

}  // namespace ropewalk

#endif  // ROPEWALK_KERNELS_ATTENTION_FORWARD_H_
