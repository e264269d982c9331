// The float32 kernel of attention, compiled once per SIMD target.
#if defined(ROPEWALK_KERNELS_ATTENTION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ROPEWALK_KERNELS_ATTENTION_INL_H_
#undef ROPEWALK_KERNELS_ATTENTION_INL_H_
#else
#define ROPEWALK_KERNELS_ATTENTION_INL_H_
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numbers>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "ropewalk/kernels/attention_block.h"
#include "ropewalk/kernels/attention_pass.h"
#include "ropewalk/kernels/elements-inl.h"
#include "ropewalk/kernels/exp2-inl.h"
#include "ropewalk/kernels/matmul-inl.h"
#include "ropewalk/kernels/score_by_distance-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ropewalk {
namespace HWY_NAMESPACE {

// Products and sums in float32, whatever the cache holds. Weights are powers of two.
template <typename Element>
class FloatKernel {
 public:
  static constexpr int64_t kPanelRows = kProductRows;
  static constexpr int64_t kKeysAtOnce = kTile;
  static constexpr int64_t kSharers = 1;

  explicit FloatKernel(const AttentionBlock<Element>& block)
      : block_(block),
        rotations_(*block.rotations),
        kv_(*block.kv),
        layout_(rotations_.layout()),
        head_dim_(kv_.head_dim()),
        passing_(head_dim_ - layout_.rotary_dim),
        value_stride_(kv_.value_stride()),
        group_(block.group()),
        rows_(block.rows()),
        first_(block.first_position()),
        running_(*block.workspace, rows_, rows_, value_stride_) {
    AttentionWorkspace& memory = *block.workspace;
    query_ = memory.take<float>(rows_ * head_dim_);
    turned_ =
        memory.take<float>(rows_ * head_dim_ * static_cast<int64_t>(block.walk->families().size()));
    key_ = memory.take<float>(head_dim_ * kTile);
    value_ = memory.take<float>(kKeysTogether * (value_stride_ + kTile));
    scores_ = memory.take<float>(rows_ * kScoreStride);
  }

  float* scores(int64_t row) const { return scores_ + row * kScoreStride; }

  void begin() {
    running_.begin();
    // What passes through, then the pairs, the two of each side by side.
    for (int64_t r = 0; r < rows_; ++r) {
      const float* from = block_.queries + block_.head_row_of(r) * head_dim_;
      float* to = query_ + r * head_dim_;
      for (int64_t x = layout_.rotary_dim; x < head_dim_; ++x) *to++ = from[x];
      for (int64_t pair = 0; pair < layout_.n_pairs(); ++pair) {
        *to++ = from[layout_.first(pair)];
        *to++ = from[layout_.second(pair)];
      }
    }
  }

  void turn_queries(size_t family) {
    const std::vector<HeardPair>& pairs = block_.walk->families()[family].pairs;
    float* const turned = turned_of(family);
    for (int64_t r = 0; r < rows_; ++r)
      std::copy_n(query_ + r * head_dim_, passing_, turned + r * head_dim_);
    // Some tokens at a time, so that their rows stay near, and pair by pair, because the tables hold
    // the rows of one pair side by side.
    constexpr int64_t kChunk = 16;
    for (int64_t begin = 0; begin < block_.tokens(); begin += kChunk) {
      const int64_t end = std::min(begin + kChunk, block_.tokens());
      float* to = turned + passing_;
      for (const HeardPair& pair : pairs) {
        turn_pair(pair, begin, end, to);
        to += 2;
      }
    }
  }

  static bool reads_rows(const WalkFamily& family, int64_t pair) {
    return !family.key_stands[pair];
  }

  void pack_keys(size_t family, int64_t n_pairs, int64_t tile) {
    const FloatTag tag;
    const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
    const Element* keys = kv_.keys(block_.kv_head, tile);
    const int64_t j0 = tile * kTile;
    copy_floats(keys + layout_.rotary_dim * kTile, key_, passing_ * kTile);
    float* to = key_ + passing_ * kTile;
    // Tables end with the last row; what lies past it is hidden, so it may keep any finite value.
    const int64_t end = rotations_.first_row() + rotations_.n_rows();
    const int64_t in_table = std::min(kTile, (end - j0 + lanes - 1) / lanes * lanes);
    const WalkFamily& own = block_.walk->families()[family];
    for (int64_t p = 0; p < n_pairs; ++p, to += 2 * kTile) {
      const HeardPair& pair = own.pairs[p];
      const Element* x_row = keys + layout_.first(pair.pair) * kTile;
      const Element* y_row = keys + layout_.second(pair.pair) * kTile;
      if (own.key_stands[p]) {
        copy_floats(x_row, to, kTile);
        copy_floats(y_row, to + kTile, kTile);
        continue;
      }
      for (int64_t k = 0; k < in_table; k += lanes) {
        const FloatVec x = load_elements(tag, x_row + k);
        const FloatVec y = load_elements(tag, y_row + k);
        const FloatVec cos = hn::LoadU(tag, pair.key_cos + j0 + k);
        const FloatVec sin = hn::LoadU(tag, pair.key_sin + j0 + k);
        hn::Store(hn::NegMulAdd(y, sin, hn::Mul(x, cos)), tag, to + k);
        hn::Store(hn::MulAdd(x, sin, hn::Mul(y, cos)), tag, to + kTile + k);
      }
    }
  }

  static int64_t whole_sums(int64_t n_pairs) { return n_pairs; }

  void score(size_t family, int64_t row, int64_t rows, const KeyInterval& /*whole*/,
             int64_t from_pair, int64_t to_pair, const float* begun, float* out,
             int64_t stride) const {
    const int64_t from = begun == nullptr ? 0 : passing_ + 2 * from_pair;
    const PanelProduct product{.a = turned_of(family) + row * head_dim_ + from,
                               .a_stride = head_dim_,
                               .b = key_ + from * kTile,
                               .b_stride = kTile,
                               .begun = begun,
                               .begun_stride = kTile,
                               .c = out,
                               .c_stride = stride,
                               .depth = passing_ + 2 * to_pair - from};
    if (begun == nullptr) {
      multiply<Into::kFresh>(product, rows, kTile);
    } else {
      multiply<Into::kContinue>(product, rows, kTile);
    }
  }

  void pack_keys_by_distance(int64_t tile) {
    copy_floats(kv_.keys(block_.kv_head, tile), key_, head_dim_ * kTile);
  }

  void score_by_distance(int64_t row, int64_t rows, int64_t tile, float* out,
                         int64_t stride) const {
    const RotationTable& table = rotations_.by_distance();
    const int64_t nearest = Rotations::kDistanceMargin + rotations_.plan().n_by_distance - 1;
    std::array<int64_t, kProductRows> entries;  // of the tile's first key, by row
    for (int64_t r = 0; r < kProductRows; ++r) {
      // Where a row sees nothing of the tile, its place may lie outside of the table.
      const int64_t place =
          nearest - (first_ + (row + std::min(r, rows - 1)) / group_) + tile * kTile;
      entries[r] = std::clamp<int64_t>(place, 0, table.n_rows - kTile);
    }
    score_pairs_by_distance({.layout = &layout_,
                             .table = &table,
                             .queries = query_ + row * head_dim_,
                             .keys = key_,
                             .out = out,
                             .stride = stride},
                            entries, rows);
  }

  void choose(int64_t row, int64_t rows, int64_t t, const float* cut,
              const ChosenKeys& chosen) const {
    static_assert(kKeysAtOnce == kTile, "or bits outside of chosen.within would count");
    const FloatTag tag;
    const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
    for (int64_t r = 0; r < rows; ++r, cut += kTile) {
      float* const to = scores(row + r) + t * kTile;
      if (chosen.is_first) std::fill_n(to, kTile, -std::numeric_limits<float>::infinity());
      const int64_t first = std::countr_zero(chosen.bits[r]);  // keys of a row are one run
      const int64_t last = kTile - std::countl_zero(chosen.bits[r]);
      for (int64_t k = first / lanes * lanes; k < last; k += lanes) {
        const auto before = hn::FirstN(tag, static_cast<size_t>(std::max<int64_t>(first - k, 0)));
        const auto until = hn::FirstN(tag, static_cast<size_t>(last - k));
        hn::BlendedStore(hn::Load(tag, cut + k), hn::AndNot(before, until), tag, to + k);
      }
    }
  }

  // Values of 64 coordinates side by side: (columns of 64, kKeysTogether, 64).
  void pack_values(int64_t tile) {
    const FloatTag tag;
    const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
    const Element* from = kv_.values(block_.kv_head, tile);
    float* to = value_ + tile % kTilesTogether * kTile * kTile;
    for (int64_t x = 0; x < value_stride_; x += kTile, to += kKeysTogether * kTile) {
      const int64_t columns = std::min(kTile, value_stride_ - x);
      for (int64_t key = 0; key < kTile; ++key) {
        for (int64_t c = 0; c < columns; c += lanes)
          hn::Store(load_elements(tag, from + key * value_stride_ + x + c), tag,
                    to + key * kTile + c);
      }
    }
  }

  void weigh(int64_t row, int64_t rows, uint8_t tiles, int64_t first_key) {
    for (int64_t r = row; r < row + rows; ++r) {
      if (adjusts()) adjust_row(r, tiles, first_key);
      weigh_row(r, tiles);
    }
  }

  // Adds weights times values: each tile's product is summed on its own before it joins the rest, so
  // that rounding grows with their number, not with the keys.
  void add_values(const uint8_t* seen) {
    for (int64_t t = 0; t < kTilesTogether; ++t) {
      for (int64_t x = 0; x < value_stride_; x += kTile) {
        for (int64_t row = 0; row < rows_; row += kProductRows) {
          if ((seen[row / kProductRows] >> t & 1) != 0) add_product(row, t, x);
        }
      }
    }
  }

  void finish() {
    for (int64_t r = 0; r < rows_; ++r)
      block_.write_row(r, running_.of(r), running_.total(r), running_.largest(r) * weight_scale(r));
  }

 private:
  float* turned_of(size_t family) const {
    return turned_ + static_cast<int64_t>(family) * rows_ * head_dim_;
  }

  static void copy_floats(const Element* from, float* to, int64_t count) {
    const FloatTag tag;
    const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
    for (int64_t k = 0; k < count; k += lanes) hn::Store(load_elements(tag, from + k), tag, to + k);
  }

  // Tokens [begin, end) of the block. What is fused is told, as for keys: left to the compiler,
  // bits would depend on how many rows there are, for GCC 12 makes vfmaddsub of such sums where it
  // takes several at once, whatever -ffp-contract says.
  void turn_pair(const HeardPair& pair, int64_t begin, int64_t end, float* to) const {
    const hn::FixedTag<float, 1> tag;
    const float* from = query_ + passing_ + 2 * pair.pair;
    for (int64_t t = begin; t < end; ++t) {
      const auto cos = hn::Set(tag, pair.query_cos[block_.row_begin + t]);
      const auto sin = hn::Set(tag, pair.query_sin[block_.row_begin + t]);
      for (int64_t r = t * group_; r < (t + 1) * group_; ++r) {
        const auto x = hn::LoadU(tag, from + r * head_dim_);
        const auto y = hn::LoadU(tag, from + r * head_dim_ + 1);
        hn::StoreU(hn::NegMulAdd(y, sin, hn::Mul(x, cos)), tag, to + r * head_dim_);
        hn::StoreU(hn::MulAdd(x, sin, hn::Mul(y, cos)), tag, to + r * head_dim_ + 1);
      }
    }
  }

  void add_product(int64_t row, int64_t tile, int64_t x) {
    const PanelProduct product{.a = scores(row) + tile * kTile,
                               .a_stride = kScoreStride,
                               .b = value_ + x * kKeysTogether + tile * kTile * kTile,
                               .b_stride = kTile,
                               .begun = nullptr,
                               .begun_stride = 0,
                               .c = running_.of(row) + x,
                               .c_stride = running_.stride(),
                               .depth = kTile};
    multiply<Into::kAdd>(product, std::min(kProductRows, rows_ - row),
                         std::min(kTile, value_stride_ - x));
  }

  // Runs body(offset) for every vector of the tiles in the mask.
  template <typename Body>
  static HWY_INLINE void for_vectors(uint8_t tiles, const Body& body) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(FloatTag()));
    for (int64_t t = 0; t < kTilesTogether; ++t) {
      if ((tiles >> t & 1) == 0) continue;
      for (int64_t k = t * kTile; k < (t + 1) * kTile; k += lanes) body(k);
    }
  }

  // Whether scores need more than a scale before they become weights.
  bool adjusts() const { return block_.softcap != 0 || block_.bias != nullptr; }

  // A weight is 2 to the power of this times what its score lacks of the largest one. Scores are
  // scaled there, and not queries before: what is rounded then is that difference alone.
  float weight_scale(int64_t r) const { return adjusts() ? 1 : block_.query_scale(r / group_); }

  // Scale, cap, then bias; what is hidden stays so.
  void adjust_row(int64_t r, uint8_t tiles, int64_t first_key) {
    const FloatTag tag;
    float* const row = scores(r);
    const FloatVec scale = hn::Set(tag, block_.query_scale(r / group_));
    const FloatVec hidden = hn::Set(tag, -std::numeric_limits<float>::infinity());
    const FloatVec cap = hn::Set(tag, block_.softcap * std::numbers::log2e_v<float>);
    const float* const bias = block_.bias == nullptr ? nullptr : block_.bias_of(r, first_key);
    for_vectors(tiles, [&](int64_t k) HWY_ATTR {
      FloatVec score = hn::Mul(hn::Load(tag, row + k), scale);
      if (block_.softcap != 0) {
        const FloatVec capped = hn::Mul(cap, hn::Tanh(tag, score));
        score = hn::IfThenElse(hn::Eq(score, hidden), hidden, capped);
      }
      if (bias != nullptr) score = hn::Add(score, hn::LoadU(tag, bias + k));
      hn::Store(score, tag, row + k);
    });
  }

  void weigh_row(int64_t r, uint8_t tiles) {
    const FloatTag tag;
    float* const row = scores(r);
    FloatVec peak = hn::Set(tag, running_.largest(r));
    for_vectors(tiles, [&](int64_t k) HWY_ATTR { peak = hn::Max(peak, hn::Load(tag, row + k)); });
    const float largest = hn::GetLane(hn::MaxOfLanes(tag, peak));
    // Then all is hidden, or what is not is no number, which a maximum may pass over.
    const bool sees_none = largest == -std::numeric_limits<float>::infinity();
    if (largest != running_.largest(r)) raise(r, largest);
    const FloatVec scale = hn::Set(tag, weight_scale(r));
    const FloatVec shift = hn::Set(tag, sees_none ? 0 : largest);
    FloatVec total = hn::Zero(tag);
    for_vectors(tiles, [&](int64_t k) HWY_ATTR {
      const FloatVec lack = hn::Sub(hn::Load(tag, row + k), shift);
      const FloatVec weight = exp2_of_weight(tag, hn::Mul(lack, scale));
      hn::Store(weight, tag, row + k);
      total = hn::Add(total, weight);
    });
    running_.total(r) += hn::GetLane(hn::SumOfLanes(tag, total));
  }

  // What the sums so far are worth under a new largest score.
  void raise(int64_t r, float largest) {
    const FloatTag tag;
    const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
    const FloatVec decay =
        exp2_of_weight(tag, hn::Set(tag, (running_.largest(r) - largest) * weight_scale(r)));
    running_.largest(r) = largest;
    running_.total(r) *= hn::GetLane(decay);
    float* sums = running_.of(r);
    for (int64_t x = 0; x < value_stride_; x += lanes)
      hn::Store(hn::Mul(hn::Load(tag, sums + x), decay), tag, sums + x);
  }

  const AttentionBlock<Element>& block_;
  const Rotations& rotations_;
  const KvTiles<Element>& kv_;
  const PairLayout& layout_;
  const int64_t head_dim_;
  const int64_t passing_;  // coordinates that pass through
  const int64_t value_stride_;
  const int64_t group_;
  const int64_t rows_;
  const int64_t first_;  // position of the block's first row
  float* query_;         // (rows, head_dim) unrotated
  float* turned_;        // (families, rows, head_dim)
  float* key_;           // (head_dim, kTile)
  float* value_;         // (columns of kTile, kKeysTogether, kTile)
  float* scores_;        // (rows, kScoreStride)
  const RunningSums running_;
};

void attend_block_f32(const AttentionBlock<float>& block) {
  AttentionPass<FloatKernel<float>, float>(block).run();
}
void attend_block_bf16(const AttentionBlock<Bf16>& block) {
  AttentionPass<FloatKernel<Bf16>, Bf16>(block).run();
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace ropewalk
HWY_AFTER_NAMESPACE();

#endif  // include guard
