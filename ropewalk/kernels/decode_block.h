// What decode.cc and its kernels share: one work item, as plain pointers.
#ifndef ROPEWALK_KERNELS_DECODE_BLOCK_H_
#define ROPEWALK_KERNELS_DECODE_BLOCK_H_

#include <array>
#include <cstdint>
#include <vector>

#include "ropewalk/base/aligned_buffer.h"
#include "ropewalk/kernels/decode.h"

namespace ropewalk {

// Memory of one thread.
struct DecodeScratch {
  AlignedBuffer<float> query;                     // (queries, 2 n_heard + rest), turned by the row
  AlignedBuffer<float> turned;                    // the same, turned on to a tile's first key
  AlignedBuffer<float> scores;                    // (queries, kDecodeBlock)
  AlignedBuffer<float> cut;                       // (queries, kTile)
  std::array<bool, kDecodeBlock / kTile> seen{};  // tiles with a key that the row sees
};

// Keys [first_key, first_key + kDecodeBlock) for all query heads that share `kv_head`.
template <typename Element>
struct DecodeBlock {
  const DecodeRotations* rotations;
  const KvTiles<Element>* kv;
  int64_t n_heads;
  const float* queries;
  float scale;
  int64_t kv_head;
  int64_t first_key;
  float* sums;     // (n_heads, value_stride) of this block of keys
  float* largest;  // (n_heads)
  float* totals;   // (n_heads)
  DecodeScratch* scratch;
};

}  // namespace ropewalk

#endif  // ROPEWALK_KERNELS_DECODE_BLOCK_H_
