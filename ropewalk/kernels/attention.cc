// The kernels lie in attention-inl.h, compiled once per SIMD target; this file holds what surrounds
// them.
#include "ropewalk/kernels/attention.h"

#include <omp.h>

#include <algorithm>
#include <cassert>
#include <numbers>

#include "ropewalk/base/error.h"
#include "ropewalk/base/parallel.h"
#include "ropewalk/kernels/attention_avx512bf16.h"
#include "ropewalk/kernels/attention_block.h"
#include "ropewalk/kernels/attention_memory.h"

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

int64_t value_stride_of(int64_t head_dim) {
  return (head_dim + kVectorMultiple - 1) / kVectorMultiple * kVectorMultiple;
}

// Rows of a work item: so many that rotating and packing a tile costs little beside its products,
// and few enough for their scores and sums to stay in the second cache. Values do not depend on it.
constexpr int64_t kBlockRows = 768;

// Tokens of a work item. Few rows are split so that every thread gets some.
int64_t tokens_per_block(int64_t n_rows, int64_t group, int64_t n_kv_heads) {
  constexpr int64_t kLeastTokens = 32;
  const int64_t most = std::max<int64_t>(1, kBlockRows / group);
  const int64_t items = std::max<int64_t>(1, 4 * omp_get_max_threads() / n_kv_heads);  // of a head
  const int64_t even = (n_rows + items - 1) / items;
  return std::clamp(even, std::min(kLeastTokens, most), most);
}

// One sequence, cut into work items. Late blocks see the most keys, so they go first; each writes
// its own rows, so the order changes nothing.
template <typename Element>
class SequenceWork {
 public:
  //   sequence  kept by reference
  SequenceWork(const AttentionSequence<Element>& sequence, int64_t n_heads)
      : sequence_(sequence),
        walk_(*sequence.rotations, sequence.first_key),
        n_heads_(n_heads),
        n_kv_heads_(sequence.kv->n_kv_heads()),
        n_rows_(sequence.rotations->n_rows()),
        tokens_(tokens_per_block(n_rows_, n_heads / n_kv_heads_, n_kv_heads_)),
        n_blocks_((n_rows_ + tokens_ - 1) / tokens_) {}

  int64_t n_items() const { return n_blocks_ * n_kv_heads_; }

  size_t workspace_bytes() const {
    return ropewalk::workspace_bytes(walk_, tokens_ * n_heads_ / n_kv_heads_,
                                     sequence_.kv->head_dim(), sequence_.kv->value_stride());
  }

  AttentionBlock<Element> block(int64_t item) const {
    const int64_t begin = (n_blocks_ - 1 - item / n_kv_heads_) * tokens_;
    return {
        .walk = &walk_,
        .rotations = sequence_.rotations,
        .kv = sequence_.kv,
        .n_heads = n_heads_,
        .queries = sequence_.queries,
        .row_scale = sequence_.row_scale.data(),
        .out = sequence_.out,
        .log_sum_exp = sequence_.log_sum_exp.empty() ? nullptr : sequence_.log_sum_exp.data(),
        .kv_head = item % n_kv_heads_,
        .row_begin = begin,
        .row_end = std::min(begin + tokens_, n_rows_),
    };
  }

 private:
  const AttentionSequence<Element>& sequence_;
  AttentionWalk walk_;
  int64_t n_heads_;
  int64_t n_kv_heads_;
  int64_t n_rows_;
  int64_t tokens_;  // of a block
  int64_t n_blocks_;
};

template <typename Element>
int64_t last_row(std::span<const AttentionSequence<Element>> sequences) {
  int64_t last = 0;
  for (const AttentionSequence<Element>& sequence : sequences)
    last = std::max(last, sequence.rotations->first_row() + sequence.rotations->n_rows() - 1);
  return last;
}

// A bias as kernels read it: by falling distance, so that keys in rising order read it in rising
// order, in powers of two.
struct SharedBias {
  const float* by_head = nullptr;
  int64_t stride = 0;
};

SharedBias share_bias(std::span<const float> bias, int64_t n_heads, int64_t largest_distance) {
  if (bias.empty()) return {};
  if (std::ssize(bias) % n_heads != 0)
    throw Error("distance_bias",
                "must hold as many numbers for each of " + std::to_string(n_heads) + " heads",
                std::to_string(bias.size()));
  thread_local AlignedBuffer<float> shared;
  const int64_t n_distances = std::ssize(bias) / n_heads;
  const int64_t stride = largest_distance + 1 + kBiasMargin;
  shared.reserve(static_cast<size_t>(n_heads * stride));
  for (int64_t head = 0; head < n_heads; ++head) {
    const float* const from = bias.data() + head * n_distances;
    float* const to = shared.data() + head * stride;
    for (int64_t d = 0; d <= largest_distance; ++d)
      to[largest_distance - d] = from[std::min(d, n_distances - 1)] * std::numbers::log2e_v<float>;
    std::fill_n(to + largest_distance + 1, kBiasMargin, 0.0F);
  }
  return {shared.data(), stride};
}

AttentionWorkspace& thread_workspace() {
  thread_local AttentionWorkspace workspace;
  return workspace;
}

const Bf16Unit* forced_unit = nullptr;

const Bf16Unit* bf16_unit() {
  if (forced_unit != nullptr) return forced_unit;
  return bf16_units().empty() ? nullptr : bf16_units().data();
}

void attend_block(const AttentionBlock<float>& block) {
  HWY_DYNAMIC_DISPATCH(attend_block_f32)(block);
}
void attend_block(const AttentionBlock<Bf16>& block) {
  const Bf16Unit* const unit = block.products == Products::kBf16 ? bf16_unit() : nullptr;
  if (unit != nullptr && !block.rotations->plan().by_distance) return unit->attend_block(block);
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
      value_stride_(value_stride_of(head_dim)),
      keys_(static_cast<size_t>(n_kv_heads * n_tiles_ * head_dim * kTile)),
      values_(static_cast<size_t>(n_kv_heads * n_tiles_ * kTile * value_stride_)) {}

template <typename Element>
void KvTiles<Element>::store(int64_t first, int64_t count, const float* keys, const float* values) {
  assert(0 <= first && first + count <= capacity_);
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
void attend(std::span<const AttentionSequence<Element>> sequences, int64_t n_heads,
            const AttentionOptions& options) {
  const SharedBias bias = share_bias(options.distance_bias, n_heads, last_row(sequences));
  std::vector<SequenceWork<Element>> works;
  works.reserve(sequences.size());
  for (const AttentionSequence<Element>& sequence : sequences) {
    assert(n_heads % sequence.kv->n_kv_heads() == 0);
    assert(last_row(std::span(&sequence, 1)) < sequence.kv->capacity());
    assert(std::ssize(sequence.row_scale) == sequence.rotations->n_rows());
    works.emplace_back(sequence, n_heads);
  }
  std::vector<int64_t> ends;  // of each sequence's items
  for (const SequenceWork<Element>& work : works)
    ends.push_back((ends.empty() ? 0 : ends.back()) + work.n_items());
  const auto attend_item = [&](int64_t item, AttentionWorkspace* workspace) {
    const auto own = std::ranges::upper_bound(ends, item) - ends.begin();
    const SequenceWork<Element>& work = works[static_cast<size_t>(own)];
    AttentionBlock<Element> block = work.block(item - (own == 0 ? 0 : ends[own - 1]));
    block.softcap = options.softcap;
    block.bias = bias.by_head;
    block.bias_stride = bias.stride;
    block.products = options.products;
    block.workspace = workspace;
    workspace->reset(work.workspace_bytes());
    attend_block(block);
  };
  if (!ends.empty())
    parallel_for(
        ends.back(), [] { return &thread_workspace(); }, attend_item);
}

template <typename Element>
void attend(const Rotations& rotations, const KvTiles<Element>& kv, int64_t n_heads,
            const float* queries, std::span<const float> row_scale, float* out,
            const AttentionOptions& options) {
  const AttentionSequence<Element> sequence{.rotations = &rotations,
                                            .kv = &kv,
                                            .queries = queries,
                                            .row_scale = row_scale,
                                            .out = out,
                                            .log_sum_exp = {}};
  attend<Element>(std::span(&sequence, 1), n_heads, options);
}

size_t attention_workspace_bytes(const Rotations& rotations, int64_t n_heads, int64_t n_kv_heads,
                                 int64_t head_dim) {
  const int64_t group = n_heads / n_kv_heads;
  const int64_t rows = tokens_per_block(rotations.n_rows(), group, n_kv_heads) * group;
  return workspace_bytes(AttentionWalk(rotations, 0), rows, head_dim, value_stride_of(head_dim));
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

std::vector<std::string> bf16_product_units() {
  std::vector<std::string> names;
  for (const Bf16Unit& unit : bf16_units()) names.emplace_back(unit.name);
  return names;
}

void force_bf16_product_unit(const std::string& name) {
  forced_unit = nullptr;
  if (name.empty()) return;
  std::string known;
  for (const Bf16Unit& unit : bf16_units()) {
    if (name == unit.name) forced_unit = &unit;
    known += std::string(known.empty() ? "" : ", ") + unit.name;
  }
  if (forced_unit == nullptr) throw Error("bfloat16 unit", "must be one of " + known, name);
}

template class KvTiles<float>;
template class KvTiles<Bf16>;
template void attend(std::span<const AttentionSequence<float>>, int64_t, const AttentionOptions&);
template void attend(std::span<const AttentionSequence<Bf16>>, int64_t, const AttentionOptions&);
template void attend(const Rotations&, const KvTiles<float>&, int64_t, const float*,
                     std::span<const float>, float*, const AttentionOptions&);
template void attend(const Rotations&, const KvTiles<Bf16>&, int64_t, const float*,
                     std::span<const float>, float*, const AttentionOptions&);

}  // namespace ropewalk
#endif  // HWY_ONCE
