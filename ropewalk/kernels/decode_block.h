// What decode.cc and its kernels share: one work item, as plain pointers.
#ifndef ROPEWALK_KERNELS_DECODE_BLOCK_H_
#define ROPEWALK_KERNELS_DECODE_BLOCK_H_

#include <array>
#include <cstdint>
#include <span>

#include "ropewalk/base/aligned_buffer.h"
#include "ropewalk/kernels/decode.h"

namespace ropewalk {

// Memory of one thread.
struct DecodeScratch {
  AlignedBuffer<float> query;   // (queries, 2 pairs + rest), turned by the row
  AlignedBuffer<float> turned;  // (groups of kPairMultiple pairs, queries, kParts,
                                // 2, kPairMultiple), turned on to a tile's parts
  AlignedBuffer<float> scores;  // (queries, kDecodeBlock)
  AlignedBuffer<float> cut;     // (queries, kTile)
  AlignedBuffer<float> bias;    // (kDecodeBlock) of one query, natural units
  std::array<bool, kDecodeBlock / kTile> seen{};  // tiles with a key that some query sees
};

// Keys [first_key, first_key + kDecodeBlock) for the rows' query heads that share `kv_head`.
template <typename Element>
struct DecodeBlock {
  const DecodeStep<Element>* step;
  int64_t n_heads;
  float softcap;                         // 0: none
  std::span<const float> distance_bias;  // (n_heads, n_distances), the last for what lies beyond
  int64_t kv_head;
  int64_t first_key;
  float* sums;  // (n_rows, n_heads, value_stride) of this block of keys
  float*
      largest;    // (n_rows, n_heads), as a power of two; minus infinity where nothing is seen, and
                  // then sums and totals are left as they are
  float* totals;  // (n_rows, n_heads)
  DecodeScratch* scratch;
};

}  // namespace ropewalk

#endif  // ROPEWALK_KERNELS_DECODE_BLOCK_H_
