// The kernels lie in attention_backward-inl.h, compiled once per SIMD target; this file holds what
// surrounds them.
#include "ropewalk/kernels/attention_backward.h"

#include "ropewalk/base/parallel.h"
#include "ropewalk/kernels/attention_backward_block.h"

// Arrays of vectors are used: targets whose vectors have no size at compile time are left to NEON's
// code.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ropewalk/kernels/attention_backward.cc"
// foreach_target.h must come first.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ropewalk/kernels/attention_backward-inl.h"
// clang-format on

#if HWY_ONCE
namespace ropewalk {

HWY_EXPORT(backward_keys_and_values);
HWY_EXPORT(backward_queries);

void attend_backward(const AttentionForward& forward, const float* out, const float* d_out,
                     float* d_queries, float* d_keys, float* d_values) {
  const Rotations& rotations = *forward.rotations;
  const int64_t n_rows = rotations.n_rows();
  const int64_t head_dim = forward.kv->head_dim();
  AlignedBuffer<float> row_dots(static_cast<size_t>(n_rows * forward.n_heads));
  for (int64_t r = 0; r < n_rows * forward.n_heads; ++r) {
    double dot = 0;
    for (int64_t x = r * head_dim; x < (r + 1) * head_dim; ++x)
      dot += static_cast<double>(d_out[x]) * static_cast<double>(out[x]);
    row_dots[r] = static_cast<float>(dot);
  }
  const auto make_scratch = [] { return BackwardScratch(); };
  const auto item_of = [&](int64_t index, int64_t head, BackwardScratch& scratch) {
    return BackwardItem{.forward = &forward,
                        .d_out = d_out,
                        .row_dots = row_dots.data(),
                        .index = index,
                        .head = head,
                        .d_queries = d_queries,
                        .d_keys = d_keys,
                        .d_values = d_values,
                        .scratch = &scratch};
  };
  const int64_t n_kv_heads = forward.kv->n_kv_heads();
  const int64_t n_tiles = (rotations.first_row() + n_rows + kTile - 1) / kTile;
  parallel_for(n_tiles * n_kv_heads, make_scratch, [&](int64_t item, BackwardScratch& scratch) {
    HWY_DYNAMIC_DISPATCH(backward_keys_and_values)
    (item_of(item / n_kv_heads, item % n_kv_heads, scratch));
  });
  const int64_t n_blocks = (n_rows + kTile - 1) / kTile;
  parallel_for(n_blocks * forward.n_heads, make_scratch,
               [&](int64_t item, BackwardScratch& scratch) {
                 const int64_t block = n_blocks - 1 - item / forward.n_heads;
                 HWY_DYNAMIC_DISPATCH(backward_queries)
                 (item_of(block, item % forward.n_heads, scratch));
               });
}

}  // namespace ropewalk
#endif  // HWY_ONCE
