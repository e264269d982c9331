// The attention kernels, compiled once per SIMD target.
#if defined(ROPEWALK_KERNELS_ATTENTION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ROPEWALK_KERNELS_ATTENTION_INL_H_
#undef ROPEWALK_KERNELS_ATTENTION_INL_H_
#else
#define ROPEWALK_KERNELS_ATTENTION_INL_H_
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "ropewalk/kernels/attention_block.h"
#include "ropewalk/kernels/matmul-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ropewalk {
namespace HWY_NAMESPACE {

HWY_INLINE FloatVec load_floats(FloatTag tag, const float* from) { return hn::Load(tag, from); }

HWY_INLINE FloatVec load_floats(FloatTag tag, const Bf16* from) {
  const hn::Rebind<uint32_t, FloatTag> wide;
  const hn::Rebind<uint16_t, FloatTag> narrow;
  const auto bits = hn::Load(narrow, reinterpret_cast<const uint16_t*>(from));
  return hn::BitCast(tag, hn::ShiftLeft<16>(hn::PromoteTo(wide, bits)));
}

// One work item: all tiles of keys, from the farthest to the nearest, for the rows of one block.
template <typename Element>
class BlockAttention {
 public:
  explicit BlockAttention(const AttentionBlock<Element>& block)
      : block_(block),
        rotations_(*block.rotations),
        kv_(*block.kv),
        scratch_(*block.scratch),
        head_dim_(kv_.head_dim()),
        value_stride_(kv_.value_stride()),
        tokens_(block.row_end - block.row_begin),
        group_(block.n_heads / kv_.n_kv_heads()),
        rows_(tokens_ * group_),
        first_(rotations_.first_row() + block.row_begin) {}

  void run() {
    prepare();
    const int64_t last_tile = (first_ + tokens_ - 1) / kTile;
    for (int64_t tile = 0; tile <= last_tile; ++tile) attend_tile(tile);
    finish();
  }

 private:
  using Intervals =
      std::array<KeyInterval, kTile>;  // per token of the block, counted from the tile's first key

  // Row r belongs to token r % tokens_ and to query head r / tokens_ of the group.
  int64_t query_head(int64_t r) const { return block_.kv_head * group_ + r / tokens_; }

  void prepare() {
    const auto rows = static_cast<size_t>(rows_);
    scratch_.query.reserve(rows * head_dim_);
    scratch_.key.reserve(static_cast<size_t>(head_dim_ * kTile));
    scratch_.value.reserve(static_cast<size_t>(value_stride_ * kTile));
    scratch_.scores.reserve(rows * kTile);
    scratch_.part.reserve(rows * static_cast<size_t>(std::max(kTile, value_stride_)));
    scratch_.accumulated.reserve(rows * value_stride_);
    scratch_.largest.reserve(rows);
    scratch_.total.reserve(rows);
    scratch_.decay.reserve(rows);
    scratch_.rotated.resize(std::max(scratch_.rotated.size(), rotations_.plan().branches.size()));
    scratch_.width.assign(rotations_.plan().branches.size(), 0);
    std::fill_n(scratch_.accumulated.data(), rows * value_stride_, 0.0f);
    std::fill_n(scratch_.largest.data(), rows, -std::numeric_limits<float>::infinity());
    std::fill_n(scratch_.total.data(), rows, 0.0f);

    // Pairs side by side, then what passes through.
    const PairLayout& layout = rotations_.layout();
    for (int64_t r = 0; r < rows_; ++r) {
      const float* from = query_of(r);
      float* to = scratch_.query.data() + r * head_dim_;
      for (int64_t pair = 0; pair < layout.n_pairs(); ++pair) {
        to[2 * pair] = from[layout.first(pair)];
        to[2 * pair + 1] = from[layout.second(pair)];
      }
      std::copy(from + layout.rotary_dim, from + head_dim_, to + layout.rotary_dim);
    }
  }

  const float* query_of(int64_t r) const {
    const int64_t row = block_.row_begin + r % tokens_;
    return block_.queries + (row * block_.n_heads + query_head(r)) * head_dim_;
  }

  void attend_tile(int64_t tile) {
    const int64_t j0 = tile * kTile;
    bool seen = false;
    const RotationPlan& plan = rotations_.plan();
    const auto go_by_distance = [&](const auto& keys_of) {
      Intervals keys;
      if (!clip(j0, keys, keys_of)) return;
      float* scores = seen ? scratch_.part.data() : scratch_.scores.data();
      score_by_distance(tile, keys, scores);
      merge(keys, scores, seen);
      seen = true;
    };
    if (plan.by_distance) {
      go_by_distance([&](int64_t i) { return plan.keys_by_distance(i); });
    }
    if (plan.sinks_by_distance) {
      go_by_distance([&](int64_t i) { return plan.sinks_by_distance_of(i); });
    }
    for (size_t b = 0; b < plan.branches.size(); ++b) {
      const PlanBranch& branch = plan.branches[b];
      const int64_t nearest = first_ - (j0 + kTile - 1);  // may be negative: below the diagonal
      const int64_t farthest = first_ + tokens_ - 1 - j0;
      if (branch.last <= nearest || branch.first > farthest || branch.key_end <= j0) continue;
      Intervals keys;
      if (!clip(j0, keys, [&](int64_t i) { return branch.keys(i); })) continue;
      float* scores = seen ? scratch_.part.data() : scratch_.scores.data();
      score_by_branch(tile, b, scores);
      merge(keys, scores, seen);
      seen = true;
    }
    if (seen) accumulate(tile);
  }

  // Fills `keys` for the tile that starts at j0; false where no row of the block sees any.
  template <typename KeysOf>
  bool clip(int64_t j0, Intervals& keys, const KeysOf& keys_of) const {
    bool any = false;
    for (int64_t t = 0; t < tokens_; ++t) {
      const KeyInterval all = keys_of(first_ + t);
      keys[t].first = std::clamp<int64_t>(all.first - j0, 0, kTile);
      keys[t].last = std::clamp<int64_t>(all.last - j0, keys[t].first, kTile);
      any = any || !keys[t].empty();
    }
    return any;
  }

  // Leaves in scores(): the part's columns where the part holds; elsewhere what was there, or -inf
  // if nothing was.
  void merge(const Intervals& keys, float* part, bool has_scores) {
    constexpr float kUnseen = -std::numeric_limits<float>::infinity();
    for (int64_t r = 0; r < rows_; ++r) {
      const KeyInterval& own = keys[r % tokens_];
      float* row = scratch_.scores.data() + r * kTile;
      if (has_scores) {
        std::copy(part + r * kTile + own.first, part + r * kTile + own.last, row + own.first);
      } else {
        std::fill(row, row + own.first, kUnseen);
        std::fill(row + own.last, row + kTile, kUnseen);
      }
    }
  }

  void score_by_branch(int64_t tile, size_t b, float* scores) {
    const std::vector<HeardPair>& heard = rotations_.heard(b);
    const int64_t width =
        2 * static_cast<int64_t>(heard.size()) + head_dim_ - rotations_.layout().rotary_dim;
    rotate_queries(b, heard, width);
    rotate_keys(tile, heard);
    multiply(scratch_.rotated[b].data(), width, scratch_.key.data(), kTile, scores, kTile, rows_,
             kTile, width);
  }

  void rotate_queries(size_t b, const std::vector<HeardPair>& heard, int64_t width) {
    if (scratch_.width[b] == width) return;
    scratch_.width[b] = width;
    scratch_.rotated[b].reserve(static_cast<size_t>(rows_ * std::max<int64_t>(width, 1)));
    for (int64_t r = 0; r < rows_; ++r) {
      const int64_t row = block_.row_begin + r % tokens_;
      const float* from = scratch_.query.data() + r * head_dim_;
      float* to = scratch_.rotated[b].data() + r * width;
      for (const HeardPair& pair : heard) {
        const float x = from[2 * pair.pair];
        const float y = from[2 * pair.pair + 1];
        *to++ = x * pair.query_cos[row] - y * pair.query_sin[row];
        *to++ = y * pair.query_cos[row] + x * pair.query_sin[row];
      }
      std::copy(from + rotations_.layout().rotary_dim, from + head_dim_, to);
    }
  }

  void rotate_keys(int64_t tile, const std::vector<HeardPair>& heard) {
    const FloatTag tag;
    const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
    const PairLayout& layout = rotations_.layout();
    const Element* keys = kv_.keys(block_.kv_head, tile);
    float* to = scratch_.key.data();
    const int64_t j0 = tile * kTile;
    // Tables end with the last row; what lies past it is masked, so it may keep any finite value.
    const int64_t in_table = std::min(kTile, (first_ + tokens_ - j0 + lanes - 1) / lanes * lanes);
    for (const HeardPair& pair : heard) {
      const Element* x_row = keys + layout.first(pair.pair) * kTile;
      const Element* y_row = keys + layout.second(pair.pair) * kTile;
      for (int64_t k = 0; k < in_table; k += lanes) {
        const FloatVec x = load_floats(tag, x_row + k);
        const FloatVec y = load_floats(tag, y_row + k);
        const FloatVec cos = hn::LoadU(tag, pair.key_cos + j0 + k);
        const FloatVec sin = hn::LoadU(tag, pair.key_sin + j0 + k);
        hn::Store(hn::NegMulAdd(y, sin, hn::Mul(x, cos)), tag, to + k);
        hn::Store(hn::MulAdd(x, sin, hn::Mul(y, cos)), tag, to + kTile + k);
      }
      to += 2 * kTile;
    }
    copy_floats(keys + layout.rotary_dim * kTile, to, (head_dim_ - layout.rotary_dim) * kTile);
  }

  static void copy_floats(const Element* from, float* to, int64_t count) {
    const FloatTag tag;
    const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
    for (int64_t k = 0; k < count; k += lanes) hn::Store(load_floats(tag, from + k), tag, to + k);
  }

  // The general path: for each pair A cos + B sin, A = q0 k0 + q1 k1, B = q0 k1 - q1 k0, angles
  // read by distance.
  void score_by_distance(int64_t tile, const Intervals& keys, float* scores) {
    const FloatTag tag;
    const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
    const PairLayout& layout = rotations_.layout();
    const RotationTable& table = rotations_.by_distance();
    const int64_t j0 = tile * kTile;
    const int64_t n_distances = rotations_.plan().n_by_distance;
    copy_floats(kv_.keys(block_.kv_head, tile), scratch_.key.data(), head_dim_ * kTile);
    for (int64_t r = 0; r < rows_; ++r) {
      if (keys[r % tokens_].empty()) continue;
      const int64_t entry =
          Rotations::kDistanceMargin + n_distances - 1 - (first_ + r % tokens_) + j0;
      const float* query = scratch_.query.data() + r * head_dim_;
      float* out = scores + r * kTile;
      for (int64_t k = 0; k < kTile; k += lanes) {
        FloatVec sum = hn::Zero(tag);
        for (int64_t pair = 0; pair < layout.n_pairs(); ++pair) {
          const FloatVec q0 = hn::Set(tag, query[2 * pair]);
          const FloatVec q1 = hn::Set(tag, query[2 * pair + 1]);
          const FloatVec k0 = hn::Load(tag, scratch_.key.data() + layout.first(pair) * kTile + k);
          const FloatVec k1 = hn::Load(tag, scratch_.key.data() + layout.second(pair) * kTile + k);
          const FloatVec a = hn::MulAdd(q0, k0, hn::Mul(q1, k1));
          const FloatVec b = hn::NegMulAdd(q1, k0, hn::Mul(q0, k1));
          sum = hn::MulAdd(a, hn::LoadU(tag, table.cos_of(pair) + entry + k), sum);
          sum = hn::MulAdd(b, hn::LoadU(tag, table.sin_of(pair) + entry + k), sum);
        }
        for (int64_t x = layout.rotary_dim; x < head_dim_; ++x) {
          sum = hn::MulAdd(hn::Set(tag, query[x]),
                           hn::Load(tag, scratch_.key.data() + x * kTile + k), sum);
        }
        hn::Store(sum, tag, out + k);
      }
    }
  }

  // Folds the tile's scores into the running softmax of every row, and its values into the running
  // sums.
  void accumulate(int64_t tile) {
    const FloatTag tag;
    const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
    for (int64_t r = 0; r < rows_; ++r) {
      float* row = scratch_.scores.data() + r * kTile;
      const FloatVec scale = hn::Set(tag, block_.row_scale[block_.row_begin + r % tokens_]);
      FloatVec peak = hn::Set(tag, scratch_.largest[r]);
      for (int64_t k = 0; k < kTile; k += lanes) {
        const FloatVec scaled = hn::Mul(hn::Load(tag, row + k), scale);
        hn::Store(scaled, tag, row + k);
        peak = hn::Max(peak, scaled);
      }
      const float largest = hn::GetLane(hn::MaxOfLanes(tag, peak));
      if (largest == -std::numeric_limits<float>::infinity()) {
        std::fill(row, row + kTile, 0.0f);
        scratch_.decay[r] = 1.0f;
        continue;
      }
      const FloatVec shift = hn::Set(tag, largest);
      FloatVec total = hn::Zero(tag);
      for (int64_t k = 0; k < kTile; k += lanes) {
        const FloatVec score = hn::Load(tag, row + k);
        // Exp keeps to finite arguments; what is out of sight, or too small to count, is 0.
        const FloatVec x = hn::Max(hn::Sub(score, shift), hn::Set(tag, -100.0f));
        const FloatVec weight =
            hn::IfThenElseZero(hn::Gt(x, hn::Set(tag, -87.0f)), hn::Exp(tag, x));
        hn::Store(weight, tag, row + k);
        total = hn::Add(total, weight);
      }
      scratch_.decay[r] = std::exp(scratch_.largest[r] - largest);
      scratch_.largest[r] = largest;
      scratch_.total[r] =
          scratch_.total[r] * scratch_.decay[r] + hn::GetLane(hn::SumOfLanes(tag, total));
    }
    // A tile is summed on its own before it joins the rest: rounding grows with the tiles, not with
    // the keys.
    float* part = scratch_.part.data();
    copy_floats(kv_.values(block_.kv_head, tile), scratch_.value.data(), kTile * value_stride_);
    multiply(scratch_.scores.data(), kTile, scratch_.value.data(), value_stride_, part,
             value_stride_, rows_, value_stride_, kTile);
    for (int64_t r = 0; r < rows_; ++r) {
      const FloatVec decay = hn::Set(tag, scratch_.decay[r]);
      float* sums = scratch_.accumulated.data() + r * value_stride_;
      for (int64_t x = 0; x < value_stride_; x += lanes) {
        const FloatVec added = hn::Load(tag, part + r * value_stride_ + x);
        hn::Store(hn::MulAdd(hn::Load(tag, sums + x), decay, added), tag, sums + x);
      }
    }
  }

  void finish() {
    for (int64_t r = 0; r < rows_; ++r) {
      const int64_t row = block_.row_begin + r % tokens_;
      float* to = block_.out + (row * block_.n_heads + query_head(r)) * head_dim_;
      const float* sums = scratch_.accumulated.data() + r * value_stride_;
      const float share = 1.0f / scratch_.total[r];
      for (int64_t x = 0; x < head_dim_; ++x) to[x] = sums[x] * share;
    }
  }

  const AttentionBlock<Element>& block_;
  const Rotations& rotations_;
  const KvTiles<Element>& kv_;
  AttentionScratch& scratch_;
  const int64_t head_dim_;
  const int64_t value_stride_;
  const int64_t tokens_;
  const int64_t group_;
  const int64_t rows_;
  const int64_t first_;  // position of the block's first row
};

void attend_block_f32(const AttentionBlock<float>& block) { BlockAttention<float>(block).run(); }
void attend_block_bf16(const AttentionBlock<Bf16>& block) { BlockAttention<Bf16>(block).run(); }

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace ropewalk
HWY_AFTER_NAMESPACE();

#endif  // include guard
