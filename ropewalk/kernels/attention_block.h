// What attention.cc and its kernels share: one work item, as plain pointers.
#ifndef ROPEWALK_KERNELS_ATTENTION_BLOCK_H_
#define ROPEWALK_KERNELS_ATTENTION_BLOCK_H_

#include <cstdint>
#include <vector>

#include "ropewalk/base/aligned_buffer.h"
#include "ropewalk/kernels/attention.h"

namespace ropewalk {

// Memory of one thread, grown once and reused.
struct AttentionScratch {
  AlignedBuffer<float> query;                 // (rows, head_dim) unrotated, pairs side by side
  std::vector<AlignedBuffer<float>> rotated;  // per branch of the plan: (rows, width)
  std::vector<int64_t> width;                 // per branch, 0 while not yet rotated
  AlignedBuffer<float> key;                   // (head_dim, kTile)
  AlignedBuffer<float> value;                 // (kTile, value_stride)
  AlignedBuffer<float> scores;                // (rows, kTile)
  AlignedBuffer<float>
      part;  // (rows, kTile) scores of a branch, then (rows, value_stride) of the tile
  AlignedBuffer<float> accumulated;  // (rows, value_stride)
  AlignedBuffer<float> largest;      // (rows)
  AlignedBuffer<float> total;        // (rows)
  AlignedBuffer<float> decay;  // (rows) what the sums so far are worth under the new largest score
};

// Rows [row_begin, row_end) (counted from rotations.first_row()) of the query heads that share
// `kv_head`.
template <typename Element>
struct AttentionBlock {
  const Rotations* rotations;
  const KvTiles<Element>* kv;
  int64_t n_heads;
  const float* queries;
  const float* row_scale;
  float* out;
  int64_t kv_head;
  int64_t row_begin;
  int64_t row_end;
  AttentionScratch* scratch;
};

}  // namespace ropewalk

#endif  // ROPEWALK_KERNELS_ATTENTION_BLOCK_H_
