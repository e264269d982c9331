// The decoding kernels, compiled once per SIMD target.
#if defined(ROPEWALK_KERNELS_DECODE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ROPEWALK_KERNELS_DECODE_INL_H_
#undef ROPEWALK_KERNELS_DECODE_INL_H_
#else
#define ROPEWALK_KERNELS_DECODE_INL_H_
#endif

#include <algorithm>
#include <array>
#include <limits>
#include <numbers>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "ropewalk/kernels/decode_block.h"
#include "ropewalk/kernels/decode_vectors-inl.h"
#include "ropewalk/kernels/elements-inl.h"
#include "ropewalk/kernels/exp2-inl.h"
#include "ropewalk/kernels/rotation_fill.h"

HWY_BEFORE_NAMESPACE();
namespace ropewalk {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Queries that share one reading of the keys; with four vectors of sums each they fill half of
// AVX-512's registers, with two, half of AVX2's.
constexpr int kQueries = 4;
constexpr int kKeyVectors = HWY_MAX_BYTES >= 64 ? 4 : 2;

template <typename Element>
class BlockDecode {
 public:
  explicit BlockDecode(const DecodeBlock<Element>& block)
      : block_(block),
        rotations_(*block.step->rotations),
        kv_(*block.step->kv),
        scratch_(*block.scratch),
        group_(block.n_heads / kv_.n_kv_heads()),
        head_dim_(kv_.head_dim()),
        most_width_(width_of(rotations_.layout().rotary_dim / 2)),
        query_stride_(2 * most_width_ + width_of(head_dim_ - rotations_.layout().rotary_dim)) {}

  // Queries go row by row, head by head; those of different rows share a reading of the keys where
  // the rows share how these turn.
  void run() {
    const int64_t n_queries = rotations_.n_rows() * group_;
    for (int64_t query = 0; query < n_queries;) {
      const int64_t end = rotations_.rows_share_keys() ? n_queries : (query / group_ + 1) * group_;
      const int64_t together = std::min<int64_t>(kQueries, end - query);
      switch (together) {
        case 1:
          attend<1>(query);
          break;
        case 2:
          attend<2>(query);
          break;
        case 3:
          attend<3>(query);
          break;
        default:
          attend<4>(query);
          break;
      }
      query += together;
    }
  }

 private:
  static constexpr float kUnseen = -std::numeric_limits<float>::infinity();
  // Of scratch_.turned.
  static constexpr int64_t kPartStride = 2 * kPairMultiple;

  static constexpr int64_t width_of(int64_t n) {
    return (n + kPairMultiple - 1) / kPairMultiple * kPairMultiple;
  }

  // Where part 0 of query q, turned, has pair p.
  template <int Q>
  float* turned_of(int q, int64_t p) const {
    return scratch_.turned.data() + place_of_pair<Q>(p) + q * kParts * kPartStride;
  }

  template <int Q>
  static constexpr int64_t place_of_pair(int64_t p) {
    return p / kPairMultiple * Q * kParts * kPartStride + p % kPairMultiple;
  }

  // What one query asks: of row `row`, and its place in queries and results.
  struct Query {
    int64_t row;
    int64_t at;
    const float* head;
  };

  Query query_of(int64_t query) const {
    const int64_t row = query / group_;
    const int64_t at = row * block_.n_heads + block_.kv_head * group_ + query % group_;
    return {row, at, block_.step->queries + at * head_dim_};
  }

  template <int Q>
  void attend(int64_t query) {
    scratch_.scores.reserve(static_cast<size_t>(kQueries * kDecodeBlock));
    scratch_.cut.reserve(static_cast<size_t>(kQueries * kTile));
    scratch_.query.reserve(static_cast<size_t>(kQueries * query_stride_));
    scratch_.turned.reserve(static_cast<size_t>(kQueries * kParts * 2 * most_width_));
    scratch_.bias.reserve(static_cast<size_t>(kDecodeBlock));
    for (int q = 0; q < Q; ++q) {
      queries_[q] = query_of(query + q);
      block_.largest[queries_[q].at] = kUnseen;
    }
    last_key_ =
        std::min(block_.first_key + kDecodeBlock, rotations_.row() + queries_[Q - 1].row + 1);
    if (!sees_any(queries_[0].row, queries_[Q - 1].row)) return;
    std::fill_n(scratch_.scores.data(), Q * kDecodeBlock, kUnseen);
    scratch_.seen.fill(false);
    for (size_t b = 0; b < rotations_.branches(queries_[0].row).size(); ++b) score_branch<Q>(b);
    for (int q = 0; q < Q; ++q) weigh(q);
    add_values<Q>();
  }

  const DecodeBranch& branch_of(int64_t row, size_t b) const { return rotations_.branches(row)[b]; }

  // The keys of this block for which branch b holds.
  KeyInterval keys_of(int64_t row, size_t b) const {
    const KeyInterval& keys = branch_of(row, b).keys;
    return {std::max({keys.first, block_.first_key, block_.step->first_key}),
            std::min(keys.last, block_.first_key + kDecodeBlock)};
  }

  bool sees_any(int64_t first_row, int64_t last_row) const {
    for (int64_t row = first_row; row <= last_row; ++row) {
      for (size_t b = 0; b < rotations_.branches(row).size(); ++b) {
        if (!keys_of(row, b).empty()) return true;
      }
    }
    return false;
  }

  template <int Q>
  void score_branch(size_t b) {
    std::array<KeyInterval, Q> keys;
    KeyInterval all;
    const DecodeBranch* any = nullptr;  // turns keys as all of them do
    for (int q = 0; q < Q; ++q) {
      keys[q] = keys_of(queries_[q].row, b);
      if (keys[q].empty()) continue;
      all.first = any == nullptr ? keys[q].first : std::min(all.first, keys[q].first);
      all.last = std::max(all.last, keys[q].last);
      any = &branch_of(queries_[q].row, b);
    }
    if (any == nullptr) return;
    for (int q = 0; q < Q; ++q) turn_query(q, b, *any);
    for (int64_t tile = all.first / kTile; tile * kTile < all.last; ++tile) {
      if (any->turns != nullptr || tile == all.first / kTile) turn_to_parts<Q>(*any, tile);
      const int64_t place = tile * kTile - block_.first_key;
      scratch_.seen[place / kTile] = true;
      const bool whole = std::ranges::all_of(keys, [&](const KeyInterval& own) {
        return own.first <= tile * kTile && (tile + 1) * kTile <= own.last;
      });
      if (whole) {
        score_tile<Q>(*any, tile, scratch_.scores.data() + place, kDecodeBlock);
        continue;
      }
      score_tile<Q>(*any, tile, scratch_.cut.data(), kTile);
      for (int q = 0; q < Q; ++q) copy_cut(q, keys[q], tile);
    }
  }

  void copy_cut(int q, const KeyInterval& keys, int64_t tile) {
    const int64_t from = std::max(keys.first - tile * kTile, int64_t{0});
    const int64_t to = std::min(keys.last - tile * kTile, kTile);
    if (from >= to) return;
    const float* cut = scratch_.cut.data() + q * kTile;
    std::copy(cut + from, cut + to,
              scratch_.scores.data() + q * kDecodeBlock + tile * kTile - block_.first_key + from);
  }

  // First coordinates of the pairs side by side, second ones, then what passes through; zeros where
  // branch b has no keys for the row.
  void turn_query(int q, size_t b, const DecodeBranch& any) {
    const PairLayout& layout = rotations_.layout();
    const DecodeBranch& branch = branch_of(queries_[q].row, b);
    const float* from = queries_[q].head;
    float* x_to = scratch_.query.data() + q * query_stride_;
    float* y_to = x_to + most_width_;
    std::fill_n(x_to, query_stride_, 0.0F);
    if (branch.heard.size() != any.heard.size()) return;
    for (const DecodePair& heard : branch.heard) {
      const float x = from[layout.first(heard.pair)];
      const float y = from[layout.second(heard.pair)];
      *x_to++ = x * heard.query_cos - y * heard.query_sin;
      *y_to++ = y * heard.query_cos + x * heard.query_sin;
    }
    std::copy(from + layout.rotary_dim, from + head_dim_, rest_of(q));
  }

  float* rest_of(int q) const {
    return scratch_.query.data() + q * query_stride_ + 2 * most_width_;
  }

  // The queries as each part of the tile meets them.
  template <int Q>
  void turn_to_parts(const DecodeBranch& branch, int64_t tile) {
    const DecodeTag tag;
    const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
    const int64_t width = width_of(std::ssize(branch.heard));
    for (int64_t p = 0; p < width; p += lanes) {
      for (int q = 0; q < Q; ++q) {
        const float* const query = scratch_.query.data() + q * query_stride_ + p;
        float* const to = turned_of<Q>(q, p);
        DecodeVec x = hn::Load(tag, query);
        DecodeVec y = hn::Load(tag, query + most_width_);
        if (branch.turns != nullptr)
          turn_query_back(branch.turns->starts.data() + tile * 2 * width + p, width, x, y);
        for (int64_t part = 0; part < kParts; ++part) {
          DecodeVec x_part = x;
          DecodeVec y_part = y;
          if (branch.turns != nullptr)
            turn_query_back(branch.turns->parts.data() + part * 2 * width + p, width, x_part,
                            y_part);
          hn::Store(x_part, tag, to + part * kPartStride);
          hn::Store(y_part, tag, to + part * kPartStride + kPairMultiple);
        }
      }
    }
  }

  template <int Q>
  void score_tile(const DecodeBranch& branch, int64_t tile, float* scores, int64_t stride) const {
    constexpr int kPairsOfVectors = kKeyVectors / 2;
    const auto lanes = static_cast<int64_t>(hn::Lanes(DecodeTag()));
    const int64_t keys = std::min(kTile, last_key_ - tile * kTile);
    int64_t t = 0;
    for (; t + kPairsOfVectors * 2 * lanes <= keys; t += kPairsOfVectors * 2 * lanes)
      score_keys<Q, kPairsOfVectors>(branch, tile, t, scores, stride);
    for (; t < keys; t += 2 * lanes) score_keys<Q, 1>(branch, tile, t, scores, stride);
  }

  // Keys t ... of the tile, V times two vectors of them: every second key, and those between.
  template <int Q, int V>
  HWY_INLINE void score_keys(const DecodeBranch& branch, int64_t tile, int64_t t, float* scores,
                             int64_t stride) const {
    const DecodeTag tag;
    const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
    const PairLayout& layout = rotations_.layout();
    const Element* keys = kv_.keys(block_.kv_head, tile) + t;
    // Either V is 1, or two vectors are two whole parts.
    const float* const turned = turned_of<Q>(0, 0) + t / (kTile / 2) * 2 * kPartStride;
    const int64_t place = t % (kTile / 2) / kPartStep;
    DecodeVec sum[Q][2 * V];
    for (int q = 0; q < Q; ++q) {
      for (int v = 0; v < 2 * V; ++v) sum[q][v] = hn::Zero(tag);
    }
    int64_t p = 0;
    for (const DecodeRun& run : branch.runs) {
      switch (run.turn) {
        case KeyTurn::kNone:
          add_run<Q, V, KeyTurn::kNone>(run, keys, 0, turned, p, sum);
          break;
        case KeyTurn::kByPlace:
          add_run<Q, V, KeyTurn::kByPlace>(run, keys, place, turned, p, sum);
          break;
        case KeyTurn::kByToken:
          add_run<Q, V, KeyTurn::kByToken>(run, keys, tile * kTile + t, turned, p, sum);
          break;
      }
      p += run.n_pairs;
    }
    for (int64_t c = layout.rotary_dim; c < head_dim_; ++c) {
      for (int v = 0; v < V; ++v) {
        DecodeVec key[2];
        load_even_odd(tag, keys + c * kTile + 2 * v * lanes, key[0], key[1]);
        for (int q = 0; q < Q; ++q) {
          const DecodeVec query = hn::Set(tag, rest_of(q)[c - layout.rotary_dim]);
          sum[q][2 * v] = hn::MulAdd(query, key[0], sum[q][2 * v]);
          sum[q][2 * v + 1] = hn::MulAdd(query, key[1], sum[q][2 * v + 1]);
        }
      }
    }
    for (int q = 0; q < Q; ++q) {
      for (int v = 0; v < V; ++v) {
        hn::StoreInterleaved2(sum[q][2 * v], sum[q][2 * v + 1], tag,
                              scores + q * stride + t + 2 * v * lanes);
      }
    }
  }

  // Pairs p ... of the turned queries.
  //   entry  of the run's tables
  template <int Q, int V, KeyTurn kTurn>
  HWY_INLINE void add_run(const DecodeRun& run, const Element* keys, int64_t entry,
                          const float* turned, int64_t p, DecodeVec (&sum)[Q][2 * V]) const {
    const DecodeTag tag;
    const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
    const PairLayout& layout = rotations_.layout();
    const int64_t step = (layout.first(1) - layout.first(0)) * kTile;
    constexpr auto kSize = static_cast<int64_t>(sizeof(Element));
    const int64_t pairs_ahead = kBytesAhead / (step * kSize);
    // Rows of first coordinates and of second ones, where these lie apart, go on there.
    const bool apart = layout.order == PairOrder::kHalf;
    const int64_t to_next_tile = apart ? (head_dim_ - layout.rotary_dim / 2) * kTile * kSize : 0;
    const Element* x_row = keys + layout.first(run.first_pair) * kTile;
    const Element* y_row = keys + layout.second(run.first_pair) * kTile;
    const float* cos_row = run.cos + entry;
    const float* sin_row = run.sin + entry;
    const int64_t n_pairs = layout.rotary_dim / 2;
    for (int64_t pair = run.first_pair; pair < run.first_pair + run.n_pairs; ++pair, ++p) {
      const bool in_tile = pair + pairs_ahead < n_pairs;
      const int64_t ahead = in_tile ? kBytesAhead : kBytesAhead + to_next_tile;
      DecodeVec x[2 * V];
      DecodeVec y[2 * V];
      for (int v = 0; v < V; ++v) {
        load_even_odd(tag, x_row + 2 * v * lanes, x[2 * v], x[2 * v + 1]);
        load_even_odd(tag, y_row + 2 * v * lanes, y[2 * v], y[2 * v + 1]);
        ask_ahead(x_row, v, lanes, ahead);
        ask_ahead(y_row, v, lanes, ahead);
      }
      if constexpr (kTurn == KeyTurn::kByPlace) {
        const DecodeVec cos = hn::Load(tag, cos_row);
        const DecodeVec sin = hn::Load(tag, sin_row);
        for (int v = 0; v < 2 * V; ++v) turn_key(cos, sin, x[v], y[v]);
      }
      if constexpr (kTurn == KeyTurn::kByToken) {
        for (int v = 0; v < V; ++v) {
          DecodeVec cos[2];
          DecodeVec sin[2];
          load_even_odd(tag, cos_row + 2 * v * lanes, cos[0], cos[1]);
          load_even_odd(tag, sin_row + 2 * v * lanes, sin[0], sin[1]);
          turn_key(cos[0], sin[0], x[2 * v], y[2 * v]);
          turn_key(cos[1], sin[1], x[2 * v + 1], y[2 * v + 1]);
        }
      }
      const float* const query = turned + place_of_pair<Q>(p);
      for (int q = 0; q < Q; ++q) {
        for (int v = 0; v < 2 * V; ++v) {
          const float* const part = query + (q * kParts + v) * kPartStride;
          sum[q][v] = hn::MulAdd(hn::Set(tag, part[0]), x[v], sum[q][v]);
          sum[q][v] = hn::MulAdd(hn::Set(tag, part[kPairMultiple]), y[v], sum[q][v]);
        }
      }
      x_row += step;
      y_row += step;
      cos_row += run.stride;
      sin_row += run.stride;
    }
  }

  // A query's place in a bias: the keys' distances fall as the keys rise.
  const float* bias_of(int q) {
    const int64_t n_distances = std::ssize(block_.distance_bias) / block_.n_heads;
    const float* from = block_.distance_bias.data() + queries_[q].at % block_.n_heads * n_distances;
    float* const to = scratch_.bias.data();
    const int64_t farthest = rotations_.row() + queries_[q].row - block_.first_key;
    for (int64_t k = 0; k < kDecodeBlock; ++k)
      to[k] = from[std::clamp<int64_t>(farthest - k, 0, n_distances - 1)];
    return to;
  }

  // Scale, cap, then bias, as powers of two; what is hidden stays so, and what is no number too.
  void adjust(int q, float* row) {
    const DecodeTag tag;
    const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
    const float row_scale = block_.step->row_scale[static_cast<size_t>(queries_[q].row)];
    const float* const bias = block_.distance_bias.empty() ? nullptr : bias_of(q);
    const bool caps = block_.softcap != 0;
    constexpr float kLog2e = std::numbers::log2e_v<float>;
    const DecodeVec scale = hn::Set(tag, caps ? row_scale / block_.softcap : row_scale * kLog2e);
    const DecodeVec cap = hn::Set(tag, block_.softcap * kLog2e);
    const DecodeVec bias_scale = hn::Set(tag, kLog2e);
    const DecodeVec hidden = hn::Set(tag, kUnseen);
    for (int64_t k = 0; k < kDecodeBlock; k += lanes) {
      const DecodeVec score = hn::Load(tag, row + k);
      DecodeVec logit = hn::Mul(score, scale);
      if (caps) {
        const DecodeVec capped = hn::Mul(cap, hn::Tanh(tag, logit));
        logit = hn::IfThenElse(hn::IsNaN(score), score, capped);
      }
      if (bias != nullptr) logit = hn::MulAdd(hn::Load(tag, bias + k), bias_scale, logit);
      hn::Store(hn::IfThenElse(hn::Eq(score, hidden), hidden, logit), tag, row + k);
    }
  }

  // Scores to weights: 2 to the power of the logit less the block's largest.
  void weigh(int q) {
    const DecodeTag tag;
    const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
    float* row = scratch_.scores.data() + q * kDecodeBlock;
    const int64_t at = queries_[q].at;
    // Scores without cap or bias are scaled when their largest is known: what is rounded then is a
    // difference alone.
    const bool adjusts = block_.softcap != 0 || !block_.distance_bias.empty();
    if (adjusts) adjust(q, row);
    const float scale = adjusts ? 1.0F
                                : block_.step->row_scale[static_cast<size_t>(queries_[q].row)] *
                                      std::numbers::log2e_v<float>;
    DecodeVec peak = hn::Set(tag, kUnseen);
    auto bad = hn::IsNaN(peak);
    for (int64_t k = 0; k < kDecodeBlock; k += lanes) {
      const DecodeVec score = hn::Load(tag, row + k);
      peak = hn::Max(peak, score);
      bad = hn::Or(bad, hn::IsNaN(score));
    }
    if (!hn::AllFalse(tag, bad)) return fill_row(q, std::numeric_limits<float>::quiet_NaN());
    const float largest = hn::GetLane(hn::MaxOfLanes(tag, peak));
    if (largest == kUnseen) return fill_row(q, 0);
    const DecodeVec shift = hn::Set(tag, largest);
    const DecodeVec scales = hn::Set(tag, scale);
    DecodeVec total = hn::Zero(tag);
    for (int64_t k = 0; k < kDecodeBlock; k += lanes) {
      const DecodeVec weight =
          exp2_of_weight(tag, hn::Mul(hn::Sub(hn::Load(tag, row + k), shift), scales));
      hn::Store(weight, tag, row + k);
      total = hn::Add(total, weight);
    }
    block_.largest[at] = largest * scale;
    block_.totals[at] = hn::GetLane(hn::SumOfLanes(tag, total));
  }

  // Of a query that sees nothing here, or something that is no number.
  void fill_row(int q, float weight) {
    std::fill_n(scratch_.scores.data() + q * kDecodeBlock, kDecodeBlock, weight);
    if (weight == 0) return;
    block_.largest[queries_[q].at] = weight;
    block_.totals[queries_[q].at] = weight;
  }

  template <int Q>
  void add_values() const {
    constexpr int kVectors = Q == 1 ? 2 * kKeyVectors : kKeyVectors;
    const auto lanes = static_cast<int64_t>(hn::Lanes(DecodeTag()));
    const int64_t width = kv_.value_stride();
    int64_t x = 0;
    for (; x + kVectors * lanes <= width; x += kVectors * lanes) add_columns<Q, kVectors>(x);
    for (; x + 2 * lanes <= width; x += 2 * lanes) add_columns<Q, 2>(x);
    for (; x < width; x += lanes) add_columns<Q, 1>(x);
  }

  // V vectors of columns from x on: one, or pairs.
  template <int Q, int V>
  HWY_INLINE void add_columns(int64_t x) const {
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
        DecodeVec value[V];
        load_columns(values + t * width, value);
        for (int v = 0; v < V; ++v) {
          if (v % 2 == 0) ask_ahead(values + t * width, v / 2, lanes);
          for (int q = 0; q < Q; ++q)
            sum[q][v] =
                hn::MulAdd(hn::Set(tag, weights[q * kDecodeBlock + t]), value[v], sum[q][v]);
        }
      }
    }
    for (int q = 0; q < Q; ++q)
      store_columns<Element>(sum[q], block_.sums + queries_[q].at * width + x);
  }

  const DecodeBlock<Element>& block_;
  const DecodeRotations& rotations_;
  const KvTiles<Element>& kv_;
  DecodeScratch& scratch_;
  const int64_t group_;
  const int64_t head_dim_;
  const int64_t most_width_;    // of a branch's pairs
  const int64_t query_stride_;  // of scratch_.query
  // Of the queries at hand:
  std::array<Query, kQueries> queries_{};
  int64_t last_key_ = 0;  // one past the block's last
};

void decode_block_f32(const DecodeBlock<float>& block) { BlockDecode<float>(block).run(); }
void decode_block_bf16(const DecodeBlock<Bf16>& block) { BlockDecode<Bf16>(block).run(); }

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace ropewalk
HWY_AFTER_NAMESPACE();

#endif  // include guard
