// Decoding: the attention of one new token against a long cache of unrotated keys, under any Rotary.
//
// Goal: the time it takes to read the cache, whatever the distance map; the same bits whatever the
// thread count: keys are taken in fixed blocks, whose results are merged in the order of keys.
// Non-goal: many rows at once, which attend() does better. Source of the split: Dao et al. 2023,
// "Flash-Decoding for long-context inference".
#ifndef ROPEWALK_KERNELS_DECODE_H_
#define ROPEWALK_KERNELS_DECODE_H_

#include <cstdint>
#include <span>

#include "ropewalk/base/aligned_buffer.h"
#include "ropewalk/kernels/attention.h"
#include "ropewalk/kernels/decode_rotations.h"

namespace ropewalk {

inline constexpr int64_t kDecodeBlock = 16 * kTile;  // keys of one work item

// Memory of a decoding sequence, grown once and reused.
struct DecodeWorkspace {
  AlignedBuffer<float> sums;     // (n_blocks, n_heads, value_stride)
  AlignedBuffer<float> largest;  // (n_blocks, n_heads)
  AlignedBuffer<float> totals;   // (n_blocks, n_heads)
};

// Attention of token rotations.row(), all keys up to it being stored already: row() < kv.capacity().
//   queries  (n_heads, head_dim), unrotated; n_heads a multiple of kv.n_kv_heads()
//   scale    multiplies the logits: 1 / sqrt(head_dim), multiplier and temperature together; > 0
//   out      (n_heads, head_dim)
//   log_sum_exp  (n_heads) of the scaled logits, or empty
// Within 2e-5 of the double reference for inputs of unit size, of what the cache holds. Throws
// std::bad_alloc. Cap, bias and padding are attend()'s alone.
template <typename Element>
void decode(const DecodeRotations& rotations, const KvTiles<Element>& kv, int64_t n_heads,
            const float* queries, float scale, float* out, DecodeWorkspace& workspace,
            std::span<float> log_sum_exp = {});

}  // namespace ropewalk

#endif  // ROPEWALK_KERNELS_DECODE_H_
