// The kernels of attention's gradients, compiled once per SIMD target.
#if defined(ROPEWALK_KERNELS_ATTENTION_BACKWARD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ROPEWALK_KERNELS_ATTENTION_BACKWARD_INL_H_
#undef ROPEWALK_KERNELS_ATTENTION_BACKWARD_INL_H_
#else
#define ROPEWALK_KERNELS_ATTENTION_BACKWARD_INL_H_
#endif

#include <algorithm>
#include <array>
#include <vector>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "ropewalk/kernels/attention_backward_block.h"

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

template <int R>
HWY_INLINE void add_product_rows(const Steps& a, const float* HWY_RESTRICT b, int64_t b_stride,
                                 float* HWY_RESTRICT c, int64_t c_stride, int64_t columns,
                                 int64_t depth) {
  const GradientTag tag;
  const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
  for (int64_t x = 0; x < columns; x += lanes) {
    hn::Vec<GradientTag> sum[R];
    for (int r = 0; r < R; ++r) sum[r] = hn::Load(tag, c + r * c_stride + x);
    for (int64_t k = 0; k < depth; ++k) {
      const auto row = hn::Load(tag, b + k * b_stride + x);
      for (int r = 0; r < R; ++r)
        sum[r] = hn::MulAdd(hn::Set(tag, a.data[r * a.row + k * a.depth]), row, sum[r]);
    }
    for (int r = 0; r < R; ++r) hn::Store(sum[r], tag, c + r * c_stride + x);
  }
}

// c(rows, columns) += a(rows, depth) b(depth, columns).
//   columns  a multiple of 16
HWY_INLINE void add_product(Steps a, const float* b, int64_t b_stride, float* c, int64_t c_stride,
                            int64_t rows, int64_t columns, int64_t depth) {
  constexpr int kRowsAtOnce = 8;
  int64_t r = 0;
  for (; r + kRowsAtOnce <= rows; r += kRowsAtOnce, a.data += kRowsAtOnce * a.row)
    add_product_rows<kRowsAtOnce>(a, b, b_stride, c + r * c_stride, c_stride, columns, depth);
  for (; r < rows; ++r, a.data += a.row)
    add_product_rows<1>(a, b, b_stride, c + r * c_stride, c_stride, columns, depth);
}

class BackwardBlock {
 public:
  explicit BackwardBlock(const BackwardItem& item)
      : item_(item),
        forward_(*item.forward),
        rotations_(*forward_.rotations),
        plan_(rotations_.plan()),
        kv_(*forward_.kv),
        scratch_(*item.scratch),
        head_dim_(kv_.head_dim()),
        wide_(kv_.value_stride()),
        group_(forward_.n_heads / kv_.n_kv_heads()),
        n_rows_(rotations_.n_rows()),
        n_keys_(rotations_.first_row() + n_rows_) {
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
          if (!rotated) take_keys(part, kv_head, tile);
          rotated = true;
          take_queries(part, begin, head);
          score_gradients(part, begin, head, tile);
          const int64_t rows = rows_from(begin);
          add_product({d_out_of(begin, head), 1, forward_.n_heads * head_dim_},
                      scratch_.weights.data(), kTile, scratch_.d_values.data(), kTile, head_dim_,
                      kTile, rows);
          if (by_distance(part)) {
            key_gradients_by_distance(begin, tile);
          } else {
            add_product({scratch_.query.data(), 1, wide_}, scratch_.d_scores.data(), kTile,
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
            scratch_.by_key[k * wide_ + w] = scratch_.key[w * kTile + k];
        }
        add_product({scratch_.d_scores.data(), kTile, 1}, scratch_.by_key.data(), wide_,
                    scratch_.d_query.data(), wide_, rows_from(begin), wide_, kTile);
      }
      if (any) turn_queries_back(part, begin, head);
    }
  }

 private:
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

  const float* d_out_of(int64_t row, int64_t head) const {
    return item_.d_out + (row * forward_.n_heads + head) * head_dim_;
  }
  const float* query_of(int64_t row, int64_t head) const {
    return forward_.queries + (row * forward_.n_heads + head) * head_dim_;
  }
  float* d_query_of(int64_t row, int64_t head) const {
    return item_.d_queries + (row * forward_.n_heads + head) * head_dim_;
  }

  void reserve() {
    const auto tile = static_cast<size_t>(kTile);
    const auto wide = static_cast<size_t>(wide_);
    for (AlignedBuffer<float>* buffer :
         {&scratch_.query, &scratch_.d_query, &scratch_.key, &scratch_.by_key, &scratch_.d_key,
          &scratch_.value, &scratch_.d_keys, &scratch_.d_values}) {
      buffer->reserve(tile * wide);
    }
    scratch_.weights.reserve(tile * tile);
    scratch_.d_scores.reserve(tile * tile);
  }

  void clear(AlignedBuffer<float>& buffer) const {
    std::fill_n(buffer.data(), kTile * wide_, 0.0F);
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

  void take_values(int64_t kv_head, int64_t tile) {
    const float* values = kv_.values(kv_head, tile);
    for (int64_t k = 0; k < kTile; ++k) {
      for (int64_t x = 0; x < head_dim_; ++x)
        scratch_.value[x * kTile + k] = values[k * kv_.value_stride() + x];
    }
  }

  void take_keys(int64_t part, int64_t kv_head, int64_t tile) {
    const PairLayout& layout = rotations_.layout();
    const float* keys = kv_.keys(kv_head, tile);
    clear(scratch_.d_key);
    float* to = scratch_.key.data();
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
      float* to = scratch_.query.data() + r * wide_;
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

  // weights = exp(scaled score - log-sum-exp), d_scores = gradient of the unscaled score; both 0
  // where the row does not see the key in this part.
  void score_gradients(int64_t part, int64_t begin, int64_t head, int64_t tile) {
    const GradientTag tag;
    const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
    const int64_t rows = rows_from(begin);
    std::fill_n(scratch_.weights.data(), rows * kTile, 0.0F);
    std::fill_n(scratch_.d_scores.data(), rows * kTile, 0.0F);
    if (by_distance(part)) {
      scores_by_distance(begin, tile);
    } else {
      add_product({scratch_.query.data(), wide_, 1}, scratch_.key.data(), kTile,
                  scratch_.weights.data(), kTile, rows, kTile, width(part));
    }
    add_product({d_out_of(begin, head), forward_.n_heads * head_dim_, 1}, scratch_.value.data(),
                kTile, scratch_.d_scores.data(), kTile, rows, kTile, head_dim_);
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t at = (begin + r) * forward_.n_heads + head;
      const auto scale = hn::Set(tag, forward_.row_scale[begin + r]);
      const auto shift = hn::Set(tag, forward_.log_sum_exp[at]);
      const auto dot = hn::Set(tag, item_.row_dots[at]);
      float* weights = scratch_.weights.data() + r * kTile;
      float* gradients = scratch_.d_scores.data() + r * kTile;
      for (int64_t k = 0; k < kTile; k += lanes) {
        // Keys out of sight may have any score; they are cleared below.
        const auto x =
            hn::Min(hn::Sub(hn::Mul(hn::Load(tag, weights + k), scale), shift), hn::Set(tag, 1.0F));
        const auto weight = hn::Exp(tag, hn::Max(x, hn::Set(tag, -87.0F)));
        hn::Store(weight, tag, weights + k);
        const auto gradient = hn::Mul(hn::Sub(hn::Load(tag, gradients + k), dot), scale);
        hn::Store(hn::Mul(gradient, weight), tag, gradients + k);
      }
      for (float* row : {weights, gradients}) {
        std::fill(row, row + keys_[r].first, 0.0F);
        std::fill(row + keys_[r].last, row + kTile, 0.0F);
      }
    }
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
      const float q0 = scratch_.query[r * wide_ + layout.first(pair)];
      const float q1 = scratch_.query[r * wide_ + layout.second(pair)];
      const float* k0 = scratch_.key.data() + layout.first(pair) * kTile;
      const float* k1 = scratch_.key.data() + layout.second(pair) * kTile;
      float* scores = scratch_.weights.data() + r * kTile;
      for (int64_t k = keys_[r].first; k < keys_[r].last; ++k)
        scores[k] += (q0 * k0[k] + q1 * k1[k]) * cos[k] + (q0 * k1[k] - q1 * k0[k]) * sin[k];
    });
    for (int64_t r = 0; r < rows_from(begin); ++r) {
      for (int64_t x = layout.rotary_dim; x < head_dim_; ++x) {
        for (int64_t k = keys_[r].first; k < keys_[r].last; ++k)
          scratch_.weights[r * kTile + k] +=
              scratch_.query[r * wide_ + x] * scratch_.key[x * kTile + k];
      }
    }
  }

  void key_gradients_by_distance(int64_t begin, int64_t tile) {
    const PairLayout& layout = rotations_.layout();
    for_angles(begin, tile, [&](int64_t r, int64_t pair, const float* cos, const float* sin) {
      const float q0 = scratch_.query[r * wide_ + layout.first(pair)];
      const float q1 = scratch_.query[r * wide_ + layout.second(pair)];
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
              scratch_.d_scores[r * kTile + k] * scratch_.query[r * wide_ + x];
      }
    }
  }

  void query_gradients_by_distance(int64_t begin, int64_t tile) {
    const PairLayout& layout = rotations_.layout();
    for_angles(begin, tile, [&](int64_t r, int64_t pair, const float* cos, const float* sin) {
      const float* k0 = scratch_.key.data() + layout.first(pair) * kTile;
      const float* k1 = scratch_.key.data() + layout.second(pair) * kTile;
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
              scratch_.d_scores[r * kTile + k] * scratch_.key[x * kTile + k];
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
  const AttentionForward& forward_;
  const Rotations& rotations_;
  const RotationPlan& plan_;
  const KvTiles<float>& kv_;
  BackwardScratch& scratch_;
  const int64_t head_dim_;
  const int64_t wide_;  // head_dim, to whole vectors
  const int64_t group_;
  const int64_t n_rows_;
  const int64_t n_keys_;
  std::array<KeyInterval, kTile> keys_;  // per row of the block, in the part in hand
};

void backward_keys_and_values(const BackwardItem& item) { BackwardBlock(item).keys_and_values(); }
void backward_queries(const BackwardItem& item) { BackwardBlock(item).queries(); }

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace ropewalk
HWY_AFTER_NAMESPACE();

#endif  // include guard
