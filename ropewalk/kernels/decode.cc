// The kernels lie in decode-inl.h, compiled once per SIMD target; this file holds what surrounds
// them.
#include "ropewalk/kernels/decode.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "ropewalk/base/parallel.h"
#include "ropewalk/kernels/decode_block.h"

// Arrays of vectors are used: targets whose vectors have no size at compile time are left to NEON's
// code.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ropewalk/kernels/decode.cc"
// foreach_target.h must come first.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ropewalk/kernels/decode-inl.h"
// clang-format on

#if HWY_ONCE
namespace ropewalk {

HWY_EXPORT(decode_block_f32);
HWY_EXPORT(decode_block_bf16);

namespace {

// Below so many bytes of keys and values a second thread costs more than it saves.
constexpr int64_t kFewBytes = 1 << 18;

DecodeScratch& thread_scratch() {
  thread_local DecodeScratch scratch;
  return scratch;
}

void decode_block(const DecodeBlock<float>& block) {
  HWY_DYNAMIC_DISPATCH(decode_block_f32)(block);
}
void decode_block(const DecodeBlock<Bf16>& block) {
  HWY_DYNAMIC_DISPATCH(decode_block_bf16)(block);
}

// One head: blocks in the order of keys.
//   returns the log-sum-exp
float merge(int64_t head, int64_t n_heads, int64_t n_blocks, int64_t width, int64_t head_dim,
            const DecodeWorkspace& workspace, float* out) {
  float largest = -std::numeric_limits<float>::infinity();
  for (int64_t b = 0; b < n_blocks; ++b)
    largest = std::max(largest, workspace.largest[b * n_heads + head]);
  std::fill_n(out, head_dim, 0.0F);
  double total = 0;
  for (int64_t b = 0; b < n_blocks; ++b) {
    const int64_t at = b * n_heads + head;
    const float share = std::exp(workspace.largest[at] - largest);
    if (share == 0) continue;
    total += static_cast<double>(workspace.totals[at]) * static_cast<double>(share);
    const float* sums = workspace.sums.data() + at * width;
    for (int64_t x = 0; x < head_dim; ++x) out[x] += share * sums[x];
  }
  const auto inverse = static_cast<float>(1 / total);
  for (int64_t x = 0; x < head_dim; ++x) out[x] *= inverse;
  return largest + static_cast<float>(std::log(total));
}

}  // namespace

template <typename Element>
void decode(const DecodeRotations& rotations, const KvTiles<Element>& kv, int64_t n_heads,
            const float* queries, float scale, float* out, DecodeWorkspace& workspace,
            std::span<float> log_sum_exp) {
  assert(0 <= rotations.row() && rotations.row() < kv.capacity());
  assert(n_heads % kv.n_kv_heads() == 0);
  const int64_t n_keys = rotations.row() + 1;
  const int64_t n_blocks = (n_keys + kDecodeBlock - 1) / kDecodeBlock;
  const int64_t width = kv.value_stride();
  workspace.sums.reserve(static_cast<size_t>(n_blocks * n_heads * width));
  workspace.largest.reserve(static_cast<size_t>(n_blocks * n_heads));
  workspace.totals.reserve(static_cast<size_t>(n_blocks * n_heads));
  const auto decode_item = [&](int64_t item, DecodeScratch* scratch) {
    const int64_t b = item % n_blocks;
    decode_block(DecodeBlock<Element>{
        .rotations = &rotations,
        .kv = &kv,
        .n_heads = n_heads,
        .queries = queries,
        .scale = scale,
        .kv_head = item / n_blocks,
        .first_key = b * kDecodeBlock,
        .sums = workspace.sums.data() + b * n_heads * width,
        .largest = workspace.largest.data() + b * n_heads,
        .totals = workspace.totals.data() + b * n_heads,
        .scratch = scratch,
    });
  };
  const int64_t n_items = n_blocks * kv.n_kv_heads();
  const int64_t bytes =
      n_keys * kv.n_kv_heads() * 2 * kv.head_dim() * static_cast<int64_t>(sizeof(Element));
  if (bytes <= kFewBytes) {
    for (int64_t item = 0; item < n_items; ++item) decode_item(item, &thread_scratch());
  } else {
    parallel_for(
        n_items, [] { return &thread_scratch(); }, decode_item);
  }
  for (int64_t head = 0; head < n_heads; ++head) {
    const float sum =
        merge(head, n_heads, n_blocks, width, kv.head_dim(), workspace, out + head * kv.head_dim());
    if (!log_sum_exp.empty()) log_sum_exp[head] = sum;
  }
}

template void decode(const DecodeRotations&, const KvTiles<float>&, int64_t, const float*, float,
                     float*, DecodeWorkspace&, std::span<float>);
template void decode(const DecodeRotations&, const KvTiles<Bf16>&, int64_t, const float*, float,
                     float*, DecodeWorkspace&, std::span<float>);

}  // namespace ropewalk
#endif  // HWY_ONCE
