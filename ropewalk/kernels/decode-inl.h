// The decoding kernels, compiled once per SIMD target.
#if defined(ROPEWALK_KERNELS_DECODE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ROPEWALK_KERNELS_DECODE_INL_H_
#undef ROPEWALK_KERNELS_DECODE_INL_H_
#else
#define ROPEWALK_KERNELS_DECODE_INL_H_
#endif

#include <algorithm>
#include <limits>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "ropewalk/kernels/decode_block.h"
#include "ropewalk/kernels/elements-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ropewalk {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DecodeTag = hn::CappedTag<float, 16>;
using DecodeVec = hn::Vec<DecodeTag>;

// Queries that share one reading of the keys; with four vectors of sums each they fill half of
// AVX-512's registers, with two, half of AVX2's.
constexpr int kQueries = 4;
constexpr int kKeyVectors = HWY_MAX_BYTES >= 64 ? 4 : 2;

template <typename Element>
class BlockDecode {
 public:
  explicit BlockDecode(const DecodeBlock<Element>& block)
      : block_(block),
        rotations_(*block.rotations),
        kv_(*block.kv),
        scratch_(*block.scratch),
        head_dim_(kv_.head_dim()),
        rest_(head_dim_ - rotations_.layout().rotary_dim),
        last_key_(std::min(block.first_key + kDecodeBlock, rotations_.row() + 1)) {}

  void run() {
    const int64_t group = block_.n_heads / kv_.n_kv_heads();
    const int64_t begin = block_.kv_head * group;
    for (int64_t head = begin; head < begin + group; head += kQueries) {
      switch (std::min<int64_t>(kQueries, begin + group - head)) {
        case 1:
          attend<1>(head);
          break;
        case 2:
          attend<2>(head);
          break;
        case 3:
          attend<3>(head);
          break;
        default:
          attend<4>(head);
          break;
      }
    }
  }

 private:
  static constexpr float kUnseen = -std::numeric_limits<float>::infinity();

  template <int Q>
  void attend(int64_t head) {
    scratch_.scores.reserve(static_cast<size_t>(kQueries * kDecodeBlock));
    scratch_.cut.reserve(static_cast<size_t>(kQueries * kTile));
    scratch_.query.reserve(static_cast<size_t>(kQueries * head_dim_));
    scratch_.turned.reserve(static_cast<size_t>(kQueries * head_dim_));
    std::fill_n(scratch_.scores.data(), Q * kDecodeBlock, kUnseen);
    scratch_.seen.fill(false);
    for (const DecodeBranch& branch : rotations_.branches()) score_branch<Q>(branch, head);
    for (int q = 0; q < Q; ++q) weigh(q, head + q);
    add_values<Q>(head);
  }

  template <int Q>
  void score_branch(const DecodeBranch& branch, int64_t head) {
    const int64_t first = std::max(branch.keys.first, block_.first_key);
    const int64_t last = std::min(branch.keys.last, last_key_);
    if (first >= last) return;
    for (int q = 0; q < Q; ++q) turn_query(branch, head + q, scratch_.query.data() + q * head_dim_);
    for (int64_t tile = first / kTile; tile * kTile < last; ++tile) {
      turn_to_tile<Q>(branch, tile);
      const int64_t j0 = tile * kTile;
      const int64_t place = j0 - block_.first_key;
      scratch_.seen[place / kTile] = true;
      if (first <= j0 && j0 + kTile <= last) {
        score_tile<Q>(branch, tile, scratch_.scores.data() + place, kDecodeBlock);
        continue;
      }
      score_tile<Q>(branch, tile, scratch_.cut.data(), kTile);
      const int64_t from = std::max(first - j0, int64_t{0});
      const int64_t to = std::min(last - j0, kTile);
      for (int q = 0; q < Q; ++q) {
        const float* cut = scratch_.cut.data() + q * kTile;
        std::copy(cut + from, cut + to, scratch_.scores.data() + q * kDecodeBlock + place + from);
      }
    }
  }

  // Pairs side by side, then what passes through.
  void turn_query(const DecodeBranch& branch, int64_t head, float* to) const {
    const PairLayout& layout = rotations_.layout();
    const float* from = block_.queries + head * head_dim_;
    for (const DecodePair& heard : branch.heard) {
      const float x = from[layout.first(heard.pair)];
      const float y = from[layout.second(heard.pair)];
      *to++ = x * heard.query_cos - y * heard.query_sin;
      *to++ = y * heard.query_cos + x * heard.query_sin;
    }
    std::copy(from + layout.rotary_dim, from + head_dim_, to);
  }

  template <int Q>
  void turn_to_tile(const DecodeBranch& branch, int64_t tile) {
    const auto width = 2 * static_cast<int64_t>(branch.heard.size());
    for (int q = 0; q < Q; ++q) {
      const float* from = scratch_.query.data() + q * head_dim_;
      float* to = scratch_.turned.data() + q * head_dim_;
      for (const DecodePair& heard : branch.heard) {
        const float cos = heard.start_cos == nullptr ? 1.0F : heard.start_cos[tile];
        const float sin = heard.start_sin == nullptr ? 0.0F : heard.start_sin[tile];
        const float x = *from++;
        const float y = *from++;
        *to++ = x * cos + y * sin;
        *to++ = y * cos - x * sin;
      }
      std::copy_n(scratch_.query.data() + q * head_dim_ + width, rest_, to);
    }
  }

  template <int Q>
  void score_tile(const DecodeBranch& branch, int64_t tile, float* scores, int64_t stride) const {
    const auto lanes = static_cast<int64_t>(hn::Lanes(DecodeTag()));
    // Tables may end with the row; what lies past it is never read.
    const int64_t keys = std::min(kTile, (last_key_ - tile * kTile + lanes - 1) / lanes * lanes);
    int64_t t = 0;
    for (; t + kKeyVectors * lanes <= keys; t += kKeyVectors * lanes)
      score_keys<Q, kKeyVectors>(branch, tile, t, scores, stride);
    for (; t < keys; t += lanes) score_keys<Q, 1>(branch, tile, t, scores, stride);
  }

  // Keys t ... of the tile, V vectors of them.
  template <int Q, int V>
  HWY_INLINE void score_keys(const DecodeBranch& branch, int64_t tile, int64_t t, float* scores,
                             int64_t stride) const {
    const DecodeTag tag;
    const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
    const PairLayout& layout = rotations_.layout();
    const Element* keys = kv_.keys(block_.kv_head, tile) + t;
    const float* query = scratch_.turned.data();
    DecodeVec sum[Q][V];
    for (int q = 0; q < Q; ++q) {
      for (int v = 0; v < V; ++v) sum[q][v] = hn::Zero(tag);
    }
    for (const DecodePair& heard : branch.heard) {
      const Element* x_row = keys + layout.first(heard.pair) * kTile;
      const Element* y_row = keys + layout.second(heard.pair) * kTile;
      const int64_t entry = tile * heard.key_step + t;
      for (int v = 0; v < V; ++v) {
        DecodeVec x = load_elements(tag, x_row + v * lanes);
        DecodeVec y = load_elements(tag, y_row + v * lanes);
        if (heard.key_cos != nullptr) {
          const DecodeVec cos = hn::LoadU(tag, heard.key_cos + entry + v * lanes);
          const DecodeVec sin = hn::LoadU(tag, heard.key_sin + entry + v * lanes);
          const DecodeVec turned = hn::NegMulAdd(y, sin, hn::Mul(x, cos));
          y = hn::MulAdd(x, sin, hn::Mul(y, cos));
          x = turned;
        }
        for (int q = 0; q < Q; ++q) {
          sum[q][v] = hn::MulAdd(hn::Set(tag, query[q * head_dim_]), x, sum[q][v]);
          sum[q][v] = hn::MulAdd(hn::Set(tag, query[q * head_dim_ + 1]), y, sum[q][v]);
        }
      }
      query += 2;
    }
    for (int64_t c = layout.rotary_dim; c < head_dim_; ++c, ++query) {
      for (int v = 0; v < V; ++v) {
        const DecodeVec key = load_elements(tag, keys + c * kTile + v * lanes);
        for (int q = 0; q < Q; ++q)
          sum[q][v] = hn::MulAdd(hn::Set(tag, query[q * head_dim_]), key, sum[q][v]);
      }
    }
    for (int q = 0; q < Q; ++q) {
      for (int v = 0; v < V; ++v) hn::Store(sum[q][v], tag, scores + q * stride + t + v * lanes);
    }
  }

  // Scores to weights: exp(scaled score less the block's largest).
  void weigh(int q, int64_t head) {
    const DecodeTag tag;
    const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
    float* row = scratch_.scores.data() + q * kDecodeBlock;
    const DecodeVec scale = hn::Set(tag, block_.scale);
    DecodeVec peak = hn::Set(tag, kUnseen);
    for (int64_t k = 0; k < kDecodeBlock; k += lanes) {
      const DecodeVec scaled = hn::Mul(hn::Load(tag, row + k), scale);
      hn::Store(scaled, tag, row + k);
      peak = hn::Max(peak, scaled);
    }
    const float largest = hn::GetLane(hn::MaxOfLanes(tag, peak));
    block_.largest[head] = largest;
    block_.totals[head] = 0;
    if (largest == kUnseen) {
      std::fill_n(row, kDecodeBlock, 0.0F);
      return;
    }
    DecodeVec total = hn::Zero(tag);
    for (int64_t k = 0; k < kDecodeBlock; k += lanes) {
      // Exp keeps to finite arguments; what is out of sight, or too small to count, is 0.
      const DecodeVec x =
          hn::Max(hn::Sub(hn::Load(tag, row + k), hn::Set(tag, largest)), hn::Set(tag, -100.0F));
      const DecodeVec weight = hn::IfThenElseZero(hn::Gt(x, hn::Set(tag, -87.0F)), hn::Exp(tag, x));
      hn::Store(weight, tag, row + k);
      total = hn::Add(total, weight);
    }
    block_.totals[head] = hn::GetLane(hn::SumOfLanes(tag, total));
  }

  template <int Q>
  void add_values(int64_t head) const {
    constexpr int kVectors = Q == 1 ? 2 * kKeyVectors : kKeyVectors;
    const auto lanes = static_cast<int64_t>(hn::Lanes(DecodeTag()));
    int64_t x = 0;
    for (; x + kVectors * lanes <= kv_.value_stride(); x += kVectors * lanes)
      add_columns<Q, kVectors>(head, x);
    for (; x < kv_.value_stride(); x += lanes) add_columns<Q, 1>(head, x);
  }

  template <int Q, int V>
  HWY_INLINE void add_columns(int64_t head, int64_t x) const {
    const DecodeTag tag;
    const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
    const int64_t width = kv_.value_stride();
    DecodeVec sum[Q][V];
    for (int q = 0; q < Q; ++q) {
      for (int v = 0; v < V; ++v) sum[q][v] = hn::Zero(tag);
    }
    for (int64_t place = 0; place < last_key_ - block_.first_key; place += kTile) {
      if (!scratch_.seen[place / kTile]) continue;
      const Element* values = kv_.values(block_.kv_head, (block_.first_key + place) / kTile) + x;
      const float* weights = scratch_.scores.data() + place;
      for (int64_t t = 0; t < kTile; ++t) {
        for (int v = 0; v < V; ++v) {
          const DecodeVec value = load_elements(tag, values + t * width + v * lanes);
          for (int q = 0; q < Q; ++q)
            sum[q][v] = hn::MulAdd(hn::Set(tag, weights[q * kDecodeBlock + t]), value, sum[q][v]);
        }
      }
    }
    for (int q = 0; q < Q; ++q) {
      for (int v = 0; v < V; ++v)
        hn::Store(sum[q][v], tag, block_.sums + (head + q) * width + x + v * lanes);
    }
  }

  const DecodeBlock<Element>& block_;
  const DecodeRotations& rotations_;
  const KvTiles<Element>& kv_;
  DecodeScratch& scratch_;
  const int64_t head_dim_;
  const int64_t rest_;
  const int64_t last_key_;  // one past the block's last
};

void decode_block_f32(const DecodeBlock<float>& block) { BlockDecode<float>(block).run(); }
void decode_block_bf16(const DecodeBlock<Bf16>& block) { BlockDecode<Bf16>(block).run(); }

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace ropewalk
HWY_AFTER_NAMESPACE();

#endif  // include guard
