// What attention_backward.cc and its kernels share: one work item, as plain pointers.
#ifndef ROPEWALK_KERNELS_ATTENTION_BACKWARD_BLOCK_H_
#define ROPEWALK_KERNELS_ATTENTION_BACKWARD_BLOCK_H_

#include <cstdint>

#include "ropewalk/base/aligned_buffer.h"
#include "ropewalk/kernels/attention_backward.h"

namespace ropewalk {

// Memory of one thread for kTile rows on kTile keys; wide = head_dim to whole vectors.
struct BackwardScratch {
  TileScratch tile;
  AlignedBuffer<float> d_query;   // (kTile, wide) gradient of the rotated queries
  AlignedBuffer<float> by_key;    // (kTile, wide): the rotated keys, transposed
  AlignedBuffer<float> d_key;     // (head_dim, kTile) gradient of the rotated keys
  AlignedBuffer<float> value;     // (head_dim, kTile)
  AlignedBuffer<float> d_scores;  // (kTile, kTile)
  AlignedBuffer<float> d_keys;    // (head_dim, kTile) by coordinate
  AlignedBuffer<float> d_values;  // (head_dim, kTile)
};

struct BackwardItem {
  const AttentionForward* forward;
  const float* d_out;
  const float* row_dots;  // (n_rows, n_heads): d_out . out
  int64_t index;          // of the key tile, or of the block of rows
  int64_t head;           // kv head of a key tile, query head of a block of rows
  float* d_queries;
  float* d_keys;
  float* d_values;
  BackwardScratch* scratch;
};

}  // namespace ropewalk

#endif  // ROPEWALK_KERNELS_ATTENTION_BACKWARD_BLOCK_H_
