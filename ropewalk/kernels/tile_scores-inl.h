// The weights of one block of rows on one tile of keys, made again from the log-sum-exp; compiled
// once per SIMD target.
#if defined(ROPEWALK_KERNELS_TILE_SCORES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ROPEWALK_KERNELS_TILE_SCORES_INL_H_
#undef ROPEWALK_KERNELS_TILE_SCORES_INL_H_
#else
#define ROPEWALK_KERNELS_TILE_SCORES_INL_H_
#endif

#include <algorithm>
#include <array>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "ropewalk/kernels/attention_forward.h"
#include "ropewalk/kernels/matmul-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ropewalk {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using GradientTag = hn::CappedTag<float, 16>;

// A matrix read by two steps, so that it can be read transposed.
struct Steps {
  const float* data;
  int64_t row;
  int64_t depth;
};

// c(rows, columns) += a(rows, depth) b(depth, columns).
//   columns  a multiple of 16
HWY_INLINE void add_product(const Steps& a, const float* b, int64_t b_stride, float* c,
                            int64_t c_stride, int64_t rows, int64_t columns, int64_t depth) {
  for (int64_t r = 0; r < rows; r += kProductRows) {
    const PanelProduct panel{.a = a.data + r * a.row,
                             .a_stride = a.row,
                             .a_step = a.depth,
                             .b = b,
                             .b_stride = b_stride,
                             .begun = c + r * c_stride,
                             .begun_stride = c_stride,
                             .c = c + r * c_stride,
                             .c_stride = c_stride,
                             .depth = depth};
    multiply<Into::kContinue, Along::kApart>(panel, std::min(kProductRows, rows - r), columns);
  }
}

class TileScores {
 public:
  TileScores(const AttentionForward& forward, TileScratch& scratch)
      : forward_(forward),
        rotations_(*forward.rotations),
        plan_(rotations_.plan()),
        kv_(*forward.kv),
        tile_(scratch),
        head_dim_(kv_.head_dim()),
        wide_(kv_.value_stride()),
        group_(forward.n_heads / kv_.n_kv_heads()),
        n_rows_(rotations_.n_rows()),
        n_keys_(rotations_.first_row() + n_rows_) {
    const auto tile = static_cast<size_t>(kTile);
    tile_.query.reserve(tile * static_cast<size_t>(wide_));
    tile_.key.reserve(tile * static_cast<size_t>(wide_));
    tile_.weights.reserve(tile * tile);
  }

  // The parts of a plan: its branches, then what goes by distance, near and far.
  int64_t n_parts() const { return std::ssize(plan_.branches) + 2; }
  bool by_distance(int64_t part) const { return part >= std::ssize(plan_.branches); }

  KeyInterval keys_of(int64_t part, int64_t i) const {
    if (!by_distance(part)) return plan_.branches[part].keys(i);
    return part == std::ssize(plan_.branches) ? plan_.keys_by_distance(i)
                                              : plan_.sinks_by_distance_of(i);
  }

  int64_t rows_from(int64_t begin) const { return std::min(kTile, n_rows_ - begin); }
  int64_t rest() const { return head_dim_ - rotations_.layout().rotary_dim; }
  int64_t width(int64_t part) const {
    if (by_distance(part)) return head_dim_;
    return 2 * std::ssize(rotations_.heard(part)) + rest();
  }

  const float* query_of(int64_t row, int64_t head) const {
    return forward_.queries + (row * forward_.n_heads + head) * head_dim_;
  }

  // Fills keys_, counted from the tile's first; false where no row of the block sees any.
  bool clip(int64_t part, int64_t begin, int64_t tile) {
    bool any = false;
    for (int64_t r = 0; r < rows_from(begin); ++r) {
      const KeyInterval all = keys_of(part, rotations_.first_row() + begin + r);
      keys_[r].first = std::clamp<int64_t>(all.first - tile * kTile, 0, kTile);
      keys_[r].last = std::clamp<int64_t>(all.last - tile * kTile, keys_[r].first, kTile);
      any = any || !keys_[r].empty();
    }
    return any;
  }

  void take_keys(int64_t part, int64_t kv_head, int64_t tile) {
    const PairLayout& layout = rotations_.layout();
    const float* keys = kv_.keys(kv_head, tile);
    float* to = tile_.key.data();
    if (by_distance(part)) {
      std::copy_n(keys, head_dim_ * kTile, to);
      return;
    }
    const int64_t j0 = tile * kTile;
    const int64_t in_table = std::min(kTile, n_keys_ - j0);
    for (const HeardPair& pair : rotations_.heard(part)) {
      const float* x = keys + layout.first(pair.pair) * kTile;
      const float* y = keys + layout.second(pair.pair) * kTile;
      for (int64_t k = 0; k < in_table; ++k) {
        const float cos = pair.key_cos[j0 + k];
        const float sin = pair.key_sin[j0 + k];
        to[k] = x[k] * cos - y[k] * sin;
        to[kTile + k] = x[k] * sin + y[k] * cos;
      }
      std::fill(to + in_table, to + kTile, 0.0F);
      std::fill(to + kTile + in_table, to + 2 * kTile, 0.0F);
      to += 2 * kTile;
    }
    std::copy_n(keys + layout.rotary_dim * kTile, rest() * kTile, to);
  }

  void take_queries(int64_t part, int64_t begin, int64_t head) {
    const PairLayout& layout = rotations_.layout();
    for (int64_t r = 0; r < rows_from(begin); ++r) {
      const float* from = query_of(begin + r, head);
      float* to = tile_.query.data() + r * wide_;
      if (by_distance(part)) {
        std::copy_n(from, head_dim_, to);
        continue;
      }
      for (const HeardPair& pair : rotations_.heard(part)) {
        const float x = from[layout.first(pair.pair)];
        const float y = from[layout.second(pair.pair)];
        *to++ = x * pair.query_cos[begin + r] - y * pair.query_sin[begin + r];
        *to++ = y * pair.query_cos[begin + r] + x * pair.query_sin[begin + r];
      }
      std::copy(from + layout.rotary_dim, from + head_dim_, to);
    }
  }

  // tile_.weights = the scores, unscaled, with anything where the row does not see the key in this
  // part; keys and queries taken before.
  void score(int64_t part, int64_t begin, int64_t tile) {
    const int64_t rows = rows_from(begin);
    std::fill_n(tile_.weights.data(), rows * kTile, 0.0F);
    if (by_distance(part)) return scores_by_distance(begin, tile);
    add_product({tile_.query.data(), wide_, 1}, tile_.key.data(), kTile, tile_.weights.data(),
                kTile, rows, kTile, width(part));
  }

  // Scores to weights: exp(scaled score - log-sum-exp), 0 where the row does not see the key.
  void weigh(int64_t begin, int64_t head) {
    const GradientTag tag;
    const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
    for (int64_t r = 0; r < rows_from(begin); ++r) {
      const auto scale = hn::Set(tag, forward_.row_scale[begin + r]);
      const auto shift = hn::Set(tag, forward_.log_sum_exp[(begin + r) * forward_.n_heads + head]);
      float* weights = tile_.weights.data() + r * kTile;
      for (int64_t k = 0; k < kTile; k += lanes) {
        // Keys out of sight may have any score; they are cleared below.
        const auto x =
            hn::Min(hn::Sub(hn::Mul(hn::Load(tag, weights + k), scale), shift), hn::Set(tag, 1.0F));
        hn::Store(hn::Exp(tag, hn::Max(x, hn::Set(tag, -87.0F))), tag, weights + k);
      }
      clear_unseen(r, weights);
    }
  }

  void clear_unseen(int64_t r, float* row) const {
    std::fill(row, row + keys_[r].first, 0.0F);
    std::fill(row + keys_[r].last, row + kTile, 0.0F);
  }

  // ---- the general path: A cos + B sin, A = q0 k0 + q1 k1, B = q0 k1 - q1 k0

  // Calls visit(row, pair, cos, sin), the table's entries for the keys of the tile.
  template <typename Visit>
  void for_angles(int64_t begin, int64_t tile, const Visit& visit) const {
    const RotationTable& table = rotations_.by_distance();
    const int64_t n = plan_.n_by_distance;
    for (int64_t r = 0; r < rows_from(begin); ++r) {
      if (keys_[r].empty()) continue;
      const int64_t i = rotations_.first_row() + begin + r;
      const int64_t entry = Rotations::kDistanceMargin + n - 1 - i + tile * kTile;
      for (int64_t pair = 0; pair < rotations_.layout().n_pairs(); ++pair)
        visit(r, pair, table.cos_of(pair) + entry, table.sin_of(pair) + entry);
    }
  }

  void scores_by_distance(int64_t begin, int64_t tile) {
    const PairLayout& layout = rotations_.layout();
    for_angles(begin, tile, [&](int64_t r, int64_t pair, const float* cos, const float* sin) {
      const float q0 = tile_.query[r * wide_ + layout.first(pair)];
      const float q1 = tile_.query[r * wide_ + layout.second(pair)];
      const float* k0 = tile_.key.data() + layout.first(pair) * kTile;
      const float* k1 = tile_.key.data() + layout.second(pair) * kTile;
      float* scores = tile_.weights.data() + r * kTile;
      for (int64_t k = keys_[r].first; k < keys_[r].last; ++k)
        scores[k] += (q0 * k0[k] + q1 * k1[k]) * cos[k] + (q0 * k1[k] - q1 * k0[k]) * sin[k];
    });
    for (int64_t r = 0; r < rows_from(begin); ++r) {
      for (int64_t x = layout.rotary_dim; x < head_dim_; ++x) {
        for (int64_t k = keys_[r].first; k < keys_[r].last; ++k)
          tile_.weights[r * kTile + k] += tile_.query[r * wide_ + x] * tile_.key[x * kTile + k];
      }
    }
  }

 protected:
  const AttentionForward& forward_;
  const Rotations& rotations_;
  const RotationPlan& plan_;
  const KvTiles<float>& kv_;
  TileScratch& tile_;
  const int64_t head_dim_;
  const int64_t wide_;  // head_dim, to whole vectors
  const int64_t group_;
  const int64_t n_rows_;
  const int64_t n_keys_;
  std::array<KeyInterval, kTile> keys_;  // per row of the block, in the part in hand
};

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace ropewalk
HWY_AFTER_NAMESPACE();

#endif  // include guard
