// The kernels lie in attention-inl.h, compiled once per SIMD target; this file holds what surrounds
// them.
#include "ropewalk/kernels/attention.h"

#include <omp.h>

#include <algorithm>

#include "ropewalk/base/error.h"
#include "ropewalk/base/parallel.h"
#include "ropewalk/kernels/attention_block.h"

// Arrays of vectors are used: targets whose vectors have no size at compile time are left to NEON's
// code.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ropewalk/kernels/attention.cc"
// foreach_target.h must come first.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ropewalk/kernels/attention-inl.h"
// clang-format on

#if HWY_ONCE
namespace ropewalk {

HWY_EXPORT(attend_block_f32);
HWY_EXPORT(attend_block_bf16);

namespace {

constexpr int64_t kVectorMultiple = 16;

// Rows of a work item: so many that rotating and packing a tile costs little beside its products,
// and few enough for their scores and sums to stay in the second cache. Values do not depend on it.
constexpr int64_t kBlockRows = 192;

// Tokens of a work item. Few rows are split so that every thread gets some.
int64_t tokens_per_block(int64_t n_rows, int64_t group, int64_t n_kv_heads) {
  constexpr int64_t kLeastTokens = 32;
  const int64_t most = std::max<int64_t>(1, kBlockRows / group);
  const int64_t items = std::max<int64_t>(1, 4 * omp_get_max_threads() / n_kv_heads);  // of a head
  const int64_t even = (n_rows + items - 1) / items;
  return std::clamp(even, std::min(kLeastTokens, most), most);
}

AttentionWorkspace& thread_workspace() {
  thread_local AttentionWorkspace workspace;
  return workspace;
}

void attend_block(const AttentionBlock<float>& block) {
  HWY_DYNAMIC_DISPATCH(attend_block_f32)(block);
}
void attend_block(const AttentionBlock<Bf16>& block) {
  HWY_DYNAMIC_DISPATCH(attend_block_bf16)(block);
}

void convert(float value, float& out) { out = value; }
void convert(float value, Bf16& out) { out = to_bf16(value); }

}  // namespace

template <typename Element>
KvTiles<Element>::KvTiles(int64_t n_kv_heads, int64_t head_dim, int64_t capacity)
    : n_kv_heads_(n_kv_heads),
      head_dim_(head_dim),
      capacity_(capacity),
      n_tiles_((capacity + kTile - 1) / kTile),
      value_stride_((head_dim + kVectorMultiple - 1) / kVectorMultiple * kVectorMultiple),
      keys_(static_cast<size_t>(n_kv_heads * n_tiles_ * head_dim * kTile)),
      values_(static_cast<size_t>(n_kv_heads * n_tiles_ * kTile * value_stride_)) {}

template <typename Element>
void KvTiles<Element>::store(int64_t first, int64_t count, const float* keys, const float* values) {
  for (int64_t t = 0; t < count; ++t) {
    const int64_t tile = (first + t) / kTile;
    const int64_t column = (first + t) % kTile;
    for (int64_t h = 0; h < n_kv_heads_; ++h) {
      const int64_t source = (t * n_kv_heads_ + h) * head_dim_;
      Element* key = keys_.data() + (h * n_tiles_ + tile) * head_dim_ * kTile + column;
      Element* value = values_.data() + ((h * n_tiles_ + tile) * kTile + column) * value_stride_;
      for (int64_t x = 0; x < head_dim_; ++x) convert(keys[source + x], key[x * kTile]);
      for (int64_t x = 0; x < head_dim_; ++x) convert(values[source + x], value[x]);
    }
  }
}

template <typename Element>
void attend(const Rotations& rotations, const KvTiles<Element>& kv, int64_t n_heads,
            const float* queries, std::span<const float> row_scale, float* out) {
  const AttentionWalk walk(rotations, 0);
  const int64_t group = n_heads / kv.n_kv_heads();
  const int64_t tokens = tokens_per_block(rotations.n_rows(), group, kv.n_kv_heads());
  const int64_t n_blocks = (rotations.n_rows() + tokens - 1) / tokens;
  const size_t bytes = workspace_bytes(walk, tokens * group, kv.head_dim(), kv.value_stride());
  // Late blocks see the most keys, so they go first; each writes its own rows, so the order changes
  // nothing.
  const auto attend_item = [&](int64_t item, AttentionWorkspace& workspace) {
    const int64_t begin = (n_blocks - 1 - item / kv.n_kv_heads()) * tokens;
    workspace.reset(bytes);
    attend_block(AttentionBlock<Element>{
        .walk = &walk,
        .rotations = &rotations,
        .kv = &kv,
        .n_heads = n_heads,
        .queries = queries,
        .row_scale = row_scale.data(),
        .out = out,
        .kv_head = item % kv.n_kv_heads(),
        .row_begin = begin,
        .row_end = std::min(begin + tokens, rotations.n_rows()),
        .workspace = &workspace,
    });
  };
  parallel_for(
      n_blocks * kv.n_kv_heads(), [] { return &thread_workspace(); },
      [&](int64_t item, AttentionWorkspace* workspace) { attend_item(item, *workspace); });
}

std::vector<std::string> attention_targets() {
  std::vector<std::string> names;
  for (const int64_t target : hwy::SupportedAndGeneratedTargets())
    names.emplace_back(hwy::TargetName(target));
  return names;
}

void force_attention_target(const std::string& name) {
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().DeInit();
  if (name.empty()) return;
  std::string known;
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    if (name == hwy::TargetName(target))
      return hwy::SetSupportedTargetsForTest(target), hwy::GetChosenTarget().DeInit();
    known += std::string(known.empty() ? "" : ", ") + hwy::TargetName(target);
  }
  throw Error("SIMD target", "must be one of " + known, name);
}

template class KvTiles<float>;
template class KvTiles<Bf16>;
template void attend(const Rotations&, const KvTiles<float>&, int64_t, const float*,
                     std::span<const float>, float*);
template void attend(const Rotations&, const KvTiles<Bf16>&, int64_t, const float*,
                     std::span<const float>, float*);

}  // namespace ropewalk
#endif  // HWY_ONCE
