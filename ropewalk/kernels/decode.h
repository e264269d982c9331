// Decoding: the attention of one or a few new tokens against a long cache of unrotated keys, under
// any Rotary.
//
// Goal: the time it takes to read the cache, whatever the distance map; the same bits whatever the
// thread count: keys are taken in fixed blocks, whose results are merged in the order of keys.
// Non-goal: many rows at once, which attend() does better. Source of the split: Dao et al. 2023,
// "Flash-Decoding for long-context inference".
//
// The cache is attend()'s: KvTiles hold keys unrotated, so a prompt is stored and prefilled, then each
// token stored and decoded, in the same tiles, and a scheme may change between the two.
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
  AlignedBuffer<float> sums;     // (n_blocks, n_rows, n_heads, value_stride)
  AlignedBuffer<float> largest;  // (n_blocks, n_rows, n_heads)
  AlignedBuffer<float> totals;   // (n_blocks, n_rows, n_heads)
};

// The newest tokens of a sequence: rows rotations.row() + r, 0 <= r < n_rows = rotations.n_rows(); the
// rest as for attend(). All keys up to the last of them are stored already; a row sees those up to
// itself, so its result is the one it has alone, to the bit.
template <typename Element>
using DecodeStep = AttentionSequence<Element, DecodeRotations>;

// Within 2e-5 of the double reference for inputs of unit size, of what the cache holds. What is not a
// number stays so in the rows that see it.
// Throws Error where the bias has no whole number of distances for each head, std::bad_alloc.
//   options  cap and bias as for attend(); products are summed in float32 whatever they say
template <typename Element>
void decode(const DecodeStep<Element>& step, int64_t n_heads, const AttentionOptions& options,
            DecodeWorkspace& workspace);

// One row without padding.
template <typename Element>
void decode(const DecodeRotations& rotations, const KvTiles<Element>& kv, int64_t n_heads,
            const float* queries, float scale, float* out, DecodeWorkspace& workspace,
            std::span<float> log_sum_exp = {});

}  // namespace ropewalk

#endif  // ROPEWALK_KERNELS_DECODE_H_
