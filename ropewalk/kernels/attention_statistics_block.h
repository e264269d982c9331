// What attention_statistics.cc and its kernel share: one work item, as plain pointers.
#ifndef ROPEWALK_KERNELS_ATTENTION_STATISTICS_BLOCK_H_
#define ROPEWALK_KERNELS_ATTENTION_STATISTICS_BLOCK_H_

#include <cstdint>
#include <span>

#include "ropewalk/kernels/attention_forward.h"

namespace ropewalk {

// Rows [begin, begin + kTile) of one query head.
struct StatisticsItem {
  const AttentionForward* forward;
  std::span<const int64_t> edges;
  int64_t head;
  int64_t begin;
  double* weight;  // (n_buckets), added to
  double* logit;
  int64_t* seen;
  TileScratch* scratch;
};

}  // namespace ropewalk

#endif  // ROPEWALK_KERNELS_ATTENTION_STATISTICS_BLOCK_H_
