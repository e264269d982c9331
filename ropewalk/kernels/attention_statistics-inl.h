// The kernel of attention's statistics, compiled once per SIMD target.
#if defined(ROPEWALK_KERNELS_ATTENTION_STATISTICS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ROPEWALK_KERNELS_ATTENTION_STATISTICS_INL_H_
#undef ROPEWALK_KERNELS_ATTENTION_STATISTICS_INL_H_
#else
#define ROPEWALK_KERNELS_ATTENTION_STATISTICS_INL_H_
#endif

#include <cmath>

#include "hwy/highway.h"
#include "ropewalk/kernels/attention_statistics_block.h"
#include "ropewalk/kernels/tile_scores-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ropewalk {
namespace HWY_NAMESPACE {

class StatisticsBlock : private TileScores {
 public:
  explicit StatisticsBlock(const StatisticsItem& item)
      : TileScores(*item.forward, *item.scratch), item_(item) {}

  void run() {
    const int64_t last_tile =
        (rotations_.first_row() + item_.begin + rows_from(item_.begin) - 1) / kTile;
    for (int64_t part = 0; part < n_parts(); ++part) {
      bool taken = false;
      for (int64_t tile = 0; tile <= last_tile; ++tile) {
        if (!clip(part, item_.begin, tile)) continue;
        if (!taken) take_queries(part, item_.begin, item_.head);
        taken = true;
        take_keys(part, item_.head / group_, tile);
        score(part, item_.begin, tile);
        for_seen(tile, [&](int64_t r, size_t bucket, float score) {
          item_.logit[bucket] += static_cast<double>(score * forward_.row_scale[item_.begin + r]);
          ++item_.seen[bucket];
        });
        weigh(item_.begin, item_.head);
        for_seen(tile, [&](int64_t, size_t bucket, float weight) {
          item_.weight[bucket] += static_cast<double>(weight);
        });
      }
    }
  }

 private:
  // Calls visit(row, bucket, entry of tile_.weights) for every key that a row sees.
  template <typename Visit>
  void for_seen(int64_t tile, const Visit& visit) const {
    for (int64_t r = 0; r < rows_from(item_.begin); ++r) {
      const int64_t i = rotations_.first_row() + item_.begin + r;
      size_t bucket = item_.edges.size() - 1;
      for (int64_t k = keys_[r].first; k < keys_[r].last; ++k) {
        while (i - tile * kTile - k < item_.edges[bucket]) --bucket;  // distances fall
        visit(r, bucket, tile_.weights[r * kTile + k]);
      }
    }
  }

  const StatisticsItem& item_;
};

void statistics_block(const StatisticsItem& item) { StatisticsBlock(item).run(); }

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace ropewalk
HWY_AFTER_NAMESPACE();

#endif  // include guard
