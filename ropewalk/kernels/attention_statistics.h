// What attention does by distance: how much weight falls, and how high scores are, how far back.
#ifndef ROPEWALK_KERNELS_ATTENTION_STATISTICS_H_
#define ROPEWALK_KERNELS_ATTENTION_STATISTICS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "ropewalk/kernels/attention_forward.h"

namespace ropewalk {

// Sums over the rows of a pass, by head and bucket of the distance d = i - j.
struct DistanceStatistics {
  int64_t n_heads = 0;
  int64_t n_buckets = 0;
  std::vector<double> weight;  // (n_heads, n_buckets) attention weights; a head's sum to n_rows
  std::vector<double> logit;   // (n_heads, n_buckets) scaled logits
  std::vector<int64_t> seen;   // (n_buckets) pairs of tokens that are seen
};

// A second pass over the scores.
//   edges  rising, the first 0: bucket b holds edges[b] <= d < edges[b + 1], the last all beyond
// The same bits whatever the thread count. Throws Error where edges do not rise from 0.
DistanceStatistics attention_by_distance(const AttentionForward& forward,
                                         std::span<const int64_t> edges);

}  // namespace ropewalk

#endif  // ROPEWALK_KERNELS_ATTENTION_STATISTICS_H_
