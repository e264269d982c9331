// The kernels lie in decode-inl.h, compiled once per SIMD target; this file holds what surrounds
// them.
#include "ropewalk/kernels/decode.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>

#include "ropewalk/base/error.h"
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

// One head of one row: blocks in the order of keys.
//   at       of the row and head in each block
//   returns  the log-sum-exp
float merge(int64_t at, int64_t per_block, int64_t n_blocks, int64_t width, int64_t head_dim,
            const DecodeWorkspace& workspace, float* out) {
  constexpr float kUnseen = -std::numeric_limits<float>::infinity();
  float largest = kUnseen;
  for (int64_t b = 0; b < n_blocks; ++b)
    largest = std::max(largest, workspace.largest[b * per_block + at]);
  std::fill_n(out, head_dim, 0.0F);
  double total = 0;
  for (int64_t b = 0; b < n_blocks; ++b) {
    const int64_t of_block = b * per_block + at;
    if (workspace.largest[of_block] == kUnseen) continue;
    const float share = std::exp2(workspace.largest[of_block] - largest);
    if (share == 0) continue;
    total += static_cast<double>(workspace.totals[of_block]) * static_cast<double>(share);
    const float* sums = workspace.sums.data() + of_block * width;
    for (int64_t x = 0; x < head_dim; ++x) out[x] += share * sums[x];
  }
  if (total == 0) return kUnseen;
  const auto inverse = static_cast<float>(1 / total);
  for (int64_t x = 0; x < head_dim; ++x) out[x] *= inverse;
  return static_cast<float>((static_cast<double>(largest) + std::log2(total)) *
                            std::numbers::ln2_v<double>);
}

void validate_bias(std::span<const float> bias, int64_t n_heads) {
  if (std::ssize(bias) % n_heads != 0)
    throw Error("distance_bias",
                "must hold as many numbers for each of " + std::to_string(n_heads) + " heads",
                std::to_string(bias.size()));
}

}  // namespace

template <typename Element>
void decode(const DecodeStep<Element>& step, int64_t n_heads, const AttentionOptions& options,
            DecodeWorkspace& workspace) {
  const DecodeRotations& rotations = *step.rotations;
  const KvTiles<Element>& kv = *step.kv;
  const int64_t n_rows = rotations.n_rows();
  const int64_t n_keys = rotations.row() + n_rows;
  assert(0 <= rotations.row() && n_keys <= kv.capacity());
  assert(n_heads % kv.n_kv_heads() == 0);
  assert(std::ssize(step.row_scale) == n_rows);
  assert(step.first_key >= 0);
  validate_bias(options.distance_bias, n_heads);
  // Blocks are counted from key 0, so that padding moves no bits.
  const int64_t first_block = std::min(step.first_key, n_keys) / kDecodeBlock;
  const int64_t n_blocks = (n_keys + kDecodeBlock - 1) / kDecodeBlock - first_block;
  const int64_t per_block = n_rows * n_heads;
  const int64_t width = kv.value_stride();
  workspace.sums.reserve(static_cast<size_t>(n_blocks * per_block * width));
  workspace.largest.reserve(static_cast<size_t>(n_blocks * per_block));
  workspace.totals.reserve(static_cast<size_t>(n_blocks * per_block));
  const auto decode_item = [&](int64_t item, DecodeScratch* scratch) {
    const int64_t b = item % n_blocks;
    decode_block(DecodeBlock<Element>{
        .step = &step,
        .n_heads = n_heads,
        .softcap = options.softcap,
        .distance_bias = options.distance_bias,
        .kv_head = item / n_blocks,
        .first_key = (first_block + b) * kDecodeBlock,
        .sums = workspace.sums.data() + b * per_block * width,
        .largest = workspace.largest.data() + b * per_block,
        .totals = workspace.totals.data() + b * per_block,
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
  for (int64_t at = 0; at < per_block; ++at) {
    const float sum = merge(at, per_block, n_blocks, width, kv.head_dim(), workspace,
                            step.out + at * kv.head_dim());
    if (!step.log_sum_exp.empty()) step.log_sum_exp[static_cast<size_t>(at)] = sum;
  }
}

template <typename Element>
void decode(const DecodeRotations& rotations, const KvTiles<Element>& kv, int64_t n_heads,
            const float* queries, float scale, float* out, DecodeWorkspace& workspace,
            std::span<float> log_sum_exp) {
  assert(rotations.n_rows() == 1);
  const DecodeStep<Element> step{.rotations = &rotations,
                                 .kv = &kv,
                                 .queries = queries,
                                 .row_scale = {&scale, 1},
                                 .out = out,
                                 .log_sum_exp = log_sum_exp};
  decode<Element>(step, n_heads, {}, workspace);
}

template void decode(const DecodeStep<float>&, int64_t, const AttentionOptions&, DecodeWorkspace&);
template void decode(const DecodeStep<Bf16>&, int64_t, const AttentionOptions&, DecodeWorkspace&);
template void decode(const DecodeRotations&, const KvTiles<float>&, int64_t, const float*, float,
                     float*, DecodeWorkspace&, std::span<float>);
template void decode(const DecodeRotations&, const KvTiles<Bf16>&, int64_t, const float*, float,
                     float*, DecodeWorkspace&, std::span<float>);

}  // namespace ropewalk
#endif  // HWY_ONCE
