// The kernels lie in rotate-inl.h, compiled once per SIMD target; this file holds what surrounds them.
#include "ropewalk/kernels/rotate.h"

#include <omp.h>

#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/kernels/rotate_block.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ropewalk/kernels/rotate.cc"
// foreach_target.h must come first.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ropewalk/kernels/rotate-inl.h"
// clang-format on

#if HWY_ONCE
namespace ropewalk {

HWY_EXPORT(rotate_f32);
HWY_EXPORT(rotate_bf16);
HWY_EXPORT(rotate_f16);

namespace {

constexpr int64_t kTokensPerItem = 32;         // of one thread
constexpr int64_t kBytesPastCaches = 8 << 20;  // measured: at 16 MiB 1.0 of memcpy instead of 0.9
constexpr int64_t kBytesForThreads = 1 << 20;  // fewer are turned sooner than threads wake

void rotate_block(const RotateBlock<float>& block) noexcept {
  HWY_DYNAMIC_DISPATCH(rotate_f32)(block);
}
void rotate_block(const RotateBlock<Bf16>& block) noexcept {
  HWY_DYNAMIC_DISPATCH(rotate_bf16)(block);
}
void rotate_block(const RotateBlock<F16>& block) noexcept {
  HWY_DYNAMIC_DISPATCH(rotate_f16)(block);
}

std::string shape(int64_t batches, int64_t tokens, int64_t heads) {
  return std::to_string(batches) + " x " + std::to_string(tokens) + " x " + std::to_string(heads);
}

// Whether rows are given one by one for each batch, for all alike, for all tokens alike, or not.
enum class RowsBy { kBatch, kToken, kAll, kNumber };

RowsBy rows_by(const Rotation& rotation, int64_t n_batches, int64_t n_tokens) {
  const int64_t given = std::ssize(rotation.rows);
  if (given == 0) return RowsBy::kNumber;
  if (given == n_batches * n_tokens) return RowsBy::kBatch;
  if (given == n_tokens) return RowsBy::kToken;
  if (given == 1) return RowsBy::kAll;
  throw Error("rows", "must be one for each token", std::to_string(given))
      .of(FaultKind::kWrongLength);
}

void check_rows(const Rotation& rotation, int64_t n_tokens) {
  const int64_t n_rows = rotation.table.n_rows;
  if (rotation.rows.empty() && n_tokens > n_rows) {
    throw Error("table", "must have a row for each token", std::to_string(n_rows))
        .of(FaultKind::kOutOfRange);
  }
  for (const int64_t row : rotation.rows) {
    if (row >= 0 && row < n_rows) continue;
    throw Error("rows", "must be rows of the table, which has " + std::to_string(n_rows),
                std::to_string(row))
        .of(FaultKind::kOutOfRange);
  }
}

template <typename Element>
void check_heads(const RotatedHeads<Element>& tensor, const HeadsView<const Element>& first) {
  const auto& [from, to] = tensor;
  if (from.n_batches < 0 || from.n_tokens < 0 || from.n_heads < 0) {
    throw Error("heads", "must be of no negative size",
                shape(from.n_batches, from.n_tokens, from.n_heads))
        .of(FaultKind::kOutOfRange);
  }
  if (from.n_batches != to.n_batches || from.n_tokens != to.n_tokens ||
      from.n_heads != to.n_heads) {
    throw Error("heads", "must go to as many as they come from",
                shape(from.n_batches, from.n_tokens, from.n_heads) + " to " +
                    shape(to.n_batches, to.n_tokens, to.n_heads))
        .of(FaultKind::kWrongLength);
  }
  if (from.n_batches != first.n_batches || from.n_tokens != first.n_tokens) {
    throw Error("heads", "must be of the tokens of the first tensor",
                shape(from.n_batches, from.n_tokens, from.n_heads))
        .of(FaultKind::kWrongLength);
  }
  const bool same_place = from.data == to.data;
  if (same_place && (from.batch_stride != to.batch_stride || from.token_stride != to.token_stride ||
                     from.head_stride != to.head_stride)) {
    throw Error("heads", "must keep their strides where they are turned in place")
        .of(FaultKind::kConflict);
  }
  if (from.n_batches * from.n_tokens * from.n_heads > 0 && (!from.data || !to.data)) {
    throw Error("heads", "must have data").of(FaultKind::kMissingKey);
  }
}

// Whether results should go straight to memory: a cache would not keep them, and each vector of them
// starts at a line.
template <typename Element>
bool goes_past_caches(const PairLayout& layout, const HeadsView<Element>& to, int64_t bytes) {
  constexpr size_t kLine = 64;
  const auto is_whole = [](int64_t elements) {
    return static_cast<size_t>(elements) * sizeof(Element) % kLine == 0;
  };
  return !std::is_same_v<Element, F16> && bytes >= kBytesPastCaches &&
         reinterpret_cast<uintptr_t>(to.data) % kLine == 0 && is_whole(to.batch_stride) &&
         is_whole(to.token_stride) && is_whole(to.head_stride) && is_whole(layout.n_pairs());
}

// Some tokens of one batch of one tensor.
struct Item {
  size_t tensor = 0;
  int64_t batch = 0;
  int64_t token = 0;
  int64_t count = 0;
};

template <typename Element>
RotateBlock<Element> block_of(const Rotation& rotation, RowsBy by,
                              const RotatedHeads<Element>& tensor, const Item& item,
                              bool past_caches) {
  const auto& [from, to] = tensor;
  RotateBlock<Element> block{
      .in = from.data + item.batch * from.batch_stride + item.token * from.token_stride,
      .out = to.data + item.batch * to.batch_stride + item.token * to.token_stride,
      .in_token_stride = from.token_stride,
      .in_head_stride = from.head_stride,
      .out_token_stride = to.token_stride,
      .out_head_stride = to.head_stride,
      .n_tokens = item.count,
      .n_heads = from.n_heads,
      .table = rotation.table.entries.data(),
      .pair_stride = rotation.table.pair_stride,
      .layout = rotation.layout,
      .backwards = rotation.backwards,
      .past_caches = past_caches};
  switch (by) {
    case RowsBy::kBatch:
      block.rows = rotation.rows.data() + item.batch * from.n_tokens + item.token;
      break;
    case RowsBy::kToken:
      block.rows = rotation.rows.data() + item.token;
      break;
    case RowsBy::kAll:
      block.first_row = rotation.rows[0];
      block.row_step = 0;
      break;
    case RowsBy::kNumber:
      block.first_row = item.token;
      break;
  }
  return block;
}

}  // namespace

template <typename Element>
void rotate(const Rotation& rotation, std::span<const RotatedHeads<Element>> tensors) {
  if (tensors.empty()) return;
  const auto& first = tensors.front().from;
  validate(rotation.layout);
  if (rotation.table.n_pairs != rotation.layout.n_pairs()) {
    throw Error("table",
                "must have the layout's " + std::to_string(rotation.layout.n_pairs()) + " pairs",
                std::to_string(rotation.table.n_pairs))
        .of(FaultKind::kWrongLength);
  }
  int64_t heads = 0;
  for (const RotatedHeads<Element>& tensor : tensors) {
    check_heads(tensor, first);
    heads += tensor.from.n_heads;
  }
  if (first.n_batches == 0 || first.n_tokens == 0) return;
  const RowsBy by = rows_by(rotation, first.n_batches, first.n_tokens);
  check_rows(rotation, first.n_tokens);

  const int64_t bytes = first.n_batches * first.n_tokens * heads * rotation.layout.head_dim *
                        static_cast<int64_t>(sizeof(Element));
  const auto turn = [&](const Item& item) {
    const RotatedHeads<Element>& tensor = tensors[item.tensor];
    rotate_block(
        block_of(rotation, by, tensor, item, goes_past_caches(rotation.layout, tensor.to, bytes)));
  };
  if (bytes < kBytesForThreads || omp_get_max_threads() == 1) {
    for (size_t tensor = 0; tensor < tensors.size(); ++tensor) {
      for (int64_t batch = 0; batch < first.n_batches; ++batch) {
        turn({tensor, batch, 0, first.n_tokens});
      }
    }
    return;
  }
  const int64_t parts = (first.n_tokens + kTokensPerItem - 1) / kTokensPerItem;
  const int64_t per_tensor = parts * first.n_batches;
#pragma omp parallel for schedule(static)
  for (int64_t index = 0; index < per_tensor * std::ssize(tensors); ++index) {
    const int64_t token = index % parts * kTokensPerItem;
    turn({static_cast<size_t>(index / per_tensor), index % per_tensor / parts, token,
          std::min(kTokensPerItem, first.n_tokens - token)});
  }
}

template void rotate(const Rotation&, std::span<const RotatedHeads<float>>);
template void rotate(const Rotation&, std::span<const RotatedHeads<Bf16>>);
template void rotate(const Rotation&, std::span<const RotatedHeads<F16>>);

}  // namespace ropewalk
#endif  // HWY_ONCE
