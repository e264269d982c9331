// The kernels of attention's gradients, compiled once per SIMD target.
#if defined(ROPEWALK_KERNELS_ATTENTION_BACKWARD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ROPEWALK_KERNELS_ATTENTION_BACKWARD_INL_H_
#undef ROPEWALK_KERNELS_ATTENTION_BACKWARD_INL_H_
#else
#define ROPEWALK_KERNELS_ATTENTION_BACKWARD_INL_H_
#endif

#include <algorithm>

#include "hwy/highway.h"
#include "ropewalk/kernels/attention_backward_block.h"
#include "ropewalk/kernels/tile_scores-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ropewalk {
namespace HWY_NAMESPACE {

class BackwardBlock : private TileScores {
 public:
  explicit BackwardBlock(const BackwardItem& item)
      : TileScores(*item.forward, item.scratch->tile), item_(item), scratch_(*item.scratch) {
    reserve();
  }

  // Gradients of the keys and values of one tile.
  void keys_and_values() {
    const int64_t tile = item_.index;
    const int64_t kv_head = item_.head;
    clear(scratch_.d_keys);
    clear(scratch_.d_values);
    take_values(kv_head, tile);
    for (int64_t part = 0; part < n_parts(); ++part) {
      bool rotated = false;
      for (int64_t head = kv_head * group_; head < (kv_head + 1) * group_; ++head) {
        for (int64_t begin = 0; begin < n_rows_; begin += kTile) {
          if (!clip(part, begin, tile)) continue;
          if (!rotated) {
            take_keys(part, kv_head, tile);
            clear(scratch_.d_key);
          }
          rotated = true;
          take_queries(part, begin, head);
          score_gradients(part, begin, head, tile);
          const int64_t rows = rows_from(begin);
          add_product({d_out_of(begin, head), 1, forward_.n_heads * head_dim_},
                      tile_.weights.data(), kTile, scratch_.d_values.data(), kTile, head_dim_,
                      kTile, rows);
          if (by_distance(part)) {
            key_gradients_by_distance(begin, tile);
          } else {
            add_product({tile_.query.data(), 1, wide_}, scratch_.d_scores.data(), kTile,
                        scratch_.d_key.data(), kTile, width(part), kTile, rows);
          }
        }
      }
      if (rotated) turn_keys_back(part, tile);
    }
    write_keys_and_values(kv_head, tile);
  }

  // Gradients of one head's queries of one block of rows.
  void queries() {
    const int64_t begin = item_.index * kTile;
    const int64_t head = item_.head;
    const int64_t last_tile = (rotations_.first_row() + begin + rows_from(begin) - 1) / kTile;
    for (int64_t r = 0; r < rows_from(begin); ++r)
      std::fill_n(d_query_of(begin + r, head), head_dim_, 0.0F);
    for (int64_t part = 0; part < n_parts(); ++part) {
      clear(scratch_.d_query);
      bool any = false;
      for (int64_t tile = 0; tile <= last_tile; ++tile) {
        if (!clip(part, begin, tile)) continue;
        if (!any) take_queries(part, begin, head);
        any = true;
        take_values(head / group_, tile);
        take_keys(part, head / group_, tile);
        score_gradients(part, begin, head, tile);
        if (by_distance(part)) {
          query_gradients_by_distance(begin, tile);
          continue;
        }
        for (int64_t w = 0; w < width(part); ++w) {
          for (int64_t k = 0; k < kTile; ++k)
            scratch_.by_key[k * wide_ + w] = tile_.key[w * kTile + k];
        }
        add_product({scratch_.d_scores.data(), kTile, 1}, scratch_.by_key.data(), wide_,
                    scratch_.d_query.data(), wide_, rows_from(begin), wide_, kTile);
      }
      if (any) turn_queries_back(part, begin, head);
    }
  }

 private:
  const float* d_out_of(int64_t row, int64_t head) const {
    return item_.d_out + (row * forward_.n_heads + head) * head_dim_;
  }
  float* d_query_of(int64_t row, int64_t head) const {
    return item_.d_queries + (row * forward_.n_heads + head) * head_dim_;
  }

  void reserve() {
    const auto tile = static_cast<size_t>(kTile);
    const auto wide = static_cast<size_t>(wide_);
    for (AlignedBuffer<float>* buffer : {&scratch_.d_query, &scratch_.by_key, &scratch_.d_key,
                                         &scratch_.value, &scratch_.d_keys, &scratch_.d_values}) {
      buffer->reserve(tile * wide);
    }
    scratch_.d_scores.reserve(tile * tile);
  }

  void clear(AlignedBuffer<float>& buffer) const {
    std::fill_n(buffer.data(), kTile * wide_, 0.0F);
  }

  void take_values(int64_t kv_head, int64_t tile) {
    const float* values = kv_.values(kv_head, tile);
    for (int64_t k = 0; k < kTile; ++k) {
      for (int64_t x = 0; x < head_dim_; ++x)
        scratch_.value[x * kTile + k] = values[k * kv_.value_stride() + x];
    }
  }

  // tile_.weights, and scratch_.d_scores: the gradient of the unscaled scores.
  void score_gradients(int64_t part, int64_t begin, int64_t head, int64_t tile) {
    const GradientTag tag;
    const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
    const int64_t rows = rows_from(begin);
    score(part, begin, tile);
    weigh(begin, head);
    std::fill_n(scratch_.d_scores.data(), rows * kTile, 0.0F);
    add_product({d_out_of(begin, head), forward_.n_heads * head_dim_, 1}, scratch_.value.data(),
                kTile, scratch_.d_scores.data(), kTile, rows, kTile, head_dim_);
    for (int64_t r = 0; r < rows; ++r) {
      const auto scale = hn::Set(tag, forward_.row_scale[begin + r]);
      const auto dot = hn::Set(tag, item_.row_dots[(begin + r) * forward_.n_heads + head]);
      const float* weights = tile_.weights.data() + r * kTile;
      float* gradients = scratch_.d_scores.data() + r * kTile;
      for (int64_t k = 0; k < kTile; k += lanes) {
        const auto gradient = hn::Mul(hn::Sub(hn::Load(tag, gradients + k), dot), scale);
        hn::Store(hn::Mul(gradient, hn::Load(tag, weights + k)), tag, gradients + k);
      }
    }
  }

  void key_gradients_by_distance(int64_t begin, int64_t tile) {
    const PairLayout& layout = rotations_.layout();
    for_angles(begin, tile, [&](int64_t r, int64_t pair, const float* cos, const float* sin) {
      const float q0 = tile_.query[r * wide_ + layout.first(pair)];
      const float q1 = tile_.query[r * wide_ + layout.second(pair)];
      float* k0 = scratch_.d_key.data() + layout.first(pair) * kTile;
      float* k1 = scratch_.d_key.data() + layout.second(pair) * kTile;
      const float* gradients = scratch_.d_scores.data() + r * kTile;
      for (int64_t k = keys_[r].first; k < keys_[r].last; ++k) {
        k0[k] += gradients[k] * (q0 * cos[k] - q1 * sin[k]);
        k1[k] += gradients[k] * (q1 * cos[k] + q0 * sin[k]);
      }
    });
    for (int64_t r = 0; r < rows_from(begin); ++r) {
      for (int64_t x = layout.rotary_dim; x < head_dim_; ++x) {
        for (int64_t k = keys_[r].first; k < keys_[r].last; ++k)
          scratch_.d_key[x * kTile + k] +=
              scratch_.d_scores[r * kTile + k] * tile_.query[r * wide_ + x];
      }
    }
  }

  void query_gradients_by_distance(int64_t begin, int64_t tile) {
    const PairLayout& layout = rotations_.layout();
    for_angles(begin, tile, [&](int64_t r, int64_t pair, const float* cos, const float* sin) {
      const float* k0 = tile_.key.data() + layout.first(pair) * kTile;
      const float* k1 = tile_.key.data() + layout.second(pair) * kTile;
      const float* gradients = scratch_.d_scores.data() + r * kTile;
      float d0 = 0;
      float d1 = 0;
      for (int64_t k = keys_[r].first; k < keys_[r].last; ++k) {
        d0 += gradients[k] * (k0[k] * cos[k] + k1[k] * sin[k]);
        d1 += gradients[k] * (k1[k] * cos[k] - k0[k] * sin[k]);
      }
      scratch_.d_query[r * wide_ + layout.first(pair)] += d0;
      scratch_.d_query[r * wide_ + layout.second(pair)] += d1;
    });
    for (int64_t r = 0; r < rows_from(begin); ++r) {
      for (int64_t x = layout.rotary_dim; x < head_dim_; ++x) {
        for (int64_t k = keys_[r].first; k < keys_[r].last; ++k)
          scratch_.d_query[r * wide_ + x] +=
              scratch_.d_scores[r * kTile + k] * tile_.key[x * kTile + k];
      }
    }
  }

  // ---- back through the rotation: a gradient turns the other way

  void turn_keys_back(int64_t part, int64_t tile) {
    const PairLayout& layout = rotations_.layout();
    const float* from = scratch_.d_key.data();
    float* to = scratch_.d_keys.data();
    if (by_distance(part)) {
      for (int64_t k = 0; k < head_dim_ * kTile; ++k) to[k] += from[k];
      return;
    }
    const int64_t j0 = tile * kTile;
    const int64_t in_table = std::min(kTile, n_keys_ - j0);
    for (const HeardPair& pair : rotations_.heard(part)) {
      float* x = to + layout.first(pair.pair) * kTile;
      float* y = to + layout.second(pair.pair) * kTile;
      for (int64_t k = 0; k < in_table; ++k) {
        const float cos = pair.key_cos[j0 + k];
        const float sin = pair.key_sin[j0 + k];
        x[k] += from[k] * cos + from[kTile + k] * sin;
        y[k] += from[kTile + k] * cos - from[k] * sin;
      }
      from += 2 * kTile;
    }
    float* passed = to + layout.rotary_dim * kTile;
    for (int64_t k = 0; k < rest() * kTile; ++k) passed[k] += from[k];
  }

  void turn_queries_back(int64_t part, int64_t begin, int64_t head) {
    const PairLayout& layout = rotations_.layout();
    for (int64_t r = 0; r < rows_from(begin); ++r) {
      const float* from = scratch_.d_query.data() + r * wide_;
      float* to = d_query_of(begin + r, head);
      if (by_distance(part)) {
        for (int64_t x = 0; x < head_dim_; ++x) to[x] += from[x];
        continue;
      }
      for (const HeardPair& pair : rotations_.heard(part)) {
        const float cos = pair.query_cos[begin + r];
        const float sin = pair.query_sin[begin + r];
        to[layout.first(pair.pair)] += from[0] * cos + from[1] * sin;
        to[layout.second(pair.pair)] += from[1] * cos - from[0] * sin;
        from += 2;
      }
      for (int64_t x = 0; x < rest(); ++x) to[layout.rotary_dim + x] += from[x];
    }
  }

  void write_keys_and_values(int64_t kv_head, int64_t tile) const {
    for (int64_t k = 0; k < std::min(kTile, n_keys_ - tile * kTile); ++k) {
      const int64_t at = ((tile * kTile + k) * kv_.n_kv_heads() + kv_head) * head_dim_;
      for (int64_t x = 0; x < head_dim_; ++x) {
        item_.d_keys[at + x] = scratch_.d_keys[x * kTile + k];
        item_.d_values[at + x] = scratch_.d_values[x * kTile + k];
      }
    }
  }

  const BackwardItem& item_;
  BackwardScratch& scratch_;
};

void backward_keys_and_values(const BackwardItem& item) { BackwardBlock(item).keys_and_values(); }
void backward_queries(const BackwardItem& item) { BackwardBlock(item).queries(); }

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace ropewalk
HWY_AFTER_NAMESPACE();

#endif  // include guard
