// The kernel lies in attention_statistics-inl.h, compiled once per SIMD target; this file holds what
// surrounds it.
#include "ropewalk/kernels/attention_statistics.h"

#include <algorithm>
#include <string>

#include "ropewalk/base/error.h"
#include "ropewalk/base/parallel.h"
#include "ropewalk/kernels/attention_statistics_block.h"

// Arrays of vectors are used: targets whose vectors have no size at compile time are left to NEON's
// code.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ropewalk/kernels/attention_statistics.cc"
// foreach_target.h must come first.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ropewalk/kernels/attention_statistics-inl.h"
// clang-format on

#if HWY_ONCE
namespace ropewalk {

HWY_EXPORT(statistics_block);

DistanceStatistics attention_by_distance(const AttentionForward& forward,
                                         std::span<const int64_t> edges) {
  for (size_t b = 0; b < edges.size(); ++b) {
    if (b == 0 ? edges[0] != 0 : edges[b] <= edges[b - 1])
      throw Error("edges", "must rise from 0", std::to_string(edges[b]));
  }
  if (edges.empty()) throw Error("edges", "must rise from 0", "none");
  const auto n_buckets = static_cast<int64_t>(edges.size());
  const int64_t n_heads = forward.n_heads;
  // Rows in a few groups, whatever their number, so that sums take little memory.
  constexpr int64_t kGroups = 16;
  const int64_t n_rows = forward.rotations->n_rows();
  const int64_t n_blocks = std::min(kGroups, (n_rows + kTile - 1) / kTile);
  const int64_t group_rows =
      n_blocks == 0 ? 0 : ((n_rows + kTile - 1) / kTile + n_blocks - 1) / n_blocks * kTile;
  const auto size = static_cast<size_t>(n_blocks * n_heads * n_buckets);
  std::vector<double> weight(size);
  std::vector<double> logit(size);
  std::vector<int64_t> seen(size);
  parallel_for(
      n_blocks * n_heads, [] { return TileScratch(); },
      [&](int64_t item, TileScratch& scratch) {
        const int64_t at = item * n_buckets;
        const int64_t first = item / n_heads * group_rows;
        for (int64_t begin = first; begin < std::min(first + group_rows, n_rows); begin += kTile) {
          HWY_DYNAMIC_DISPATCH(statistics_block)
          (StatisticsItem{.forward = &forward,
                          .edges = edges,
                          .head = item % n_heads,
                          .begin = begin,
                          .weight = weight.data() + at,
                          .logit = logit.data() + at,
                          .seen = seen.data() + at,
                          .scratch = &scratch});
        }
      });
  // In the order of rows, so that the sums have the same bits whatever thread made them.
  DistanceStatistics sums{.n_heads = n_heads, .n_buckets = n_buckets};
  sums.weight.resize(static_cast<size_t>(n_heads * n_buckets));
  sums.logit.resize(sums.weight.size());
  sums.seen.resize(static_cast<size_t>(n_buckets));
  for (int64_t item = 0; item < n_blocks * n_heads; ++item) {
    for (int64_t b = 0; b < n_buckets; ++b) {
      const int64_t from = item * n_buckets + b;
      sums.weight[item % n_heads * n_buckets + b] += weight[from];
      sums.logit[item % n_heads * n_buckets + b] += logit[from];
      if (item % n_heads == 0) sums.seen[b] += seen[from];
    }
  }
  return sums;
}

}  // namespace ropewalk
#endif  // HWY_ONCE
