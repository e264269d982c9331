// The bfloat16 kernel of attention: see AttentionPass. For attention_avx512bf16.cc alone.
//
// Scores: queries and keys are rotated in float32 and rounded once; a rotated pair is two
// neighbours in the depth of the product. Weights are rounded once, and their total is taken after
// that, so that they sum to 1 as they are used. All sums are float32.
#ifndef ROPEWALK_KERNELS_ATTENTION_BF16_INL_H_
#define ROPEWALK_KERNELS_ATTENTION_BF16_INL_H_

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

#include "ropewalk/kernels/attention_block.h"
#include "ropewalk/kernels/bf16_products-inl.h"
#include "ropewalk/kernels/bf16_queries-inl.h"
#include "ropewalk/kernels/bf16_vectors-inl.h"

namespace ropewalk {
namespace {

ROPEWALK_BEGIN_AVX512BF16

// Scores are kept as powers of two.
template <typename Unit>
class Bf16Kernel {
 public:
  static constexpr int64_t kPanelRows = Unit::kPanelRows;
  static constexpr int64_t kKeysAtOnce = Unit::kColumnsAtOnce;
  static constexpr int64_t kSharers = Unit::kSharers;

  explicit Bf16Kernel(const AttentionBlock<Bf16>& block)
      : block_(block),
        rotations_(*block.rotations),
        kv_(*block.kv),
        layout_(rotations_.layout()),
        head_dim_(kv_.head_dim()),
        passing_(head_dim_ - layout_.rotary_dim),
        queries_(block),
        passing_pairs_(queries_.passing_pairs()),
        width_(queries_.width()),
        value_stride_(kv_.value_stride()),
        group_(block.group()),
        rows_(block.rows()),
        padded_rows_(queries_.padded_rows()),
        running_(*block.workspace, rows_, padded_rows_, value_stride_) {
    AttentionWorkspace& memory = *block.workspace;
    key_ = memory.take<uint32_t>(width_ * kTile);
    value_ = memory.take<uint32_t>(kKeysTogether / 2 * (value_stride_ + kTile));
    scores_ = memory.take<float>(padded_rows_ * kScoreStride);
  }

  float* scores(int64_t row) const { return scores_ + row * kScoreStride; }

  void begin() {
    Unit::start();
    running_.begin();
    std::fill_n(key_, width_ * kTile, 0U);
    queries_.take();
  }

  void turn_queries(size_t family) { queries_.turn(family); }

  static bool reads_rows(const WalkFamily& family, int64_t pair) {
    return !family.key_stands[pair] && family.pairs[pair].key_steady.anchor_cos == nullptr;
  }

  void pack_keys(size_t family, int64_t n_pairs, int64_t tile) {
    const Bf16* keys = kv_.keys(block_.kv_head, tile);
    const int64_t j0 = tile * kTile;
    uint32_t* to = key_;
    for (int64_t x = 0; x < passing_; x += 2, to += kTile)
      pack_passing(keys + (layout_.rotary_dim + x) * kTile, x + 1 < passing_, to);
    // Tables end with the last row; what lies past it is hidden, so it may keep any finite value.
    const int64_t end = rotations_.first_row() + rotations_.n_rows();
    const int64_t in_table = std::min(kTile, (end - j0 + 15) / 16 * 16);
    const WalkFamily& own = block_.walk->families()[family];
    for (int64_t p = 0; p < n_pairs; ++p, to += kTile) {
      const HeardPair& pair = own.pairs[p];
      const Bf16* x_row = keys + layout_.first(pair.pair) * kTile;
      const Bf16* y_row = keys + layout_.second(pair.pair) * kTile;
      if (own.key_stands[p]) {
        for (int64_t k = 0; k < kTile; k += 16)
          _mm512_storeu_si512(to + k, pairs_of(x_row + k, y_row + k));
        continue;
      }
      if (const SteadyRows& steady = pair.key_steady; steady.anchor_cos != nullptr) {
        const Turn anchor = {_mm512_set1_ps(steady.anchor_cos[tile]),
                             _mm512_set1_ps(steady.anchor_sin[tile])};
        for (int64_t k = 0; k < kTile; k += 16) {
          const Turn turn = after(
              anchor, {_mm512_loadu_ps(steady.step_cos + k), _mm512_loadu_ps(steady.step_sin + k)});
          _mm512_storeu_si512(to + k, turned(load_bf16(x_row + k), load_bf16(y_row + k), turn));
        }
        continue;
      }
      for (int64_t k = 0; k < in_table; k += 16) {
        const Turn turn = {_mm512_loadu_ps(pair.key_cos + j0 + k),
                           _mm512_loadu_ps(pair.key_sin + j0 + k)};
        _mm512_storeu_si512(to + k, turned(load_bf16(x_row + k), load_bf16(y_row + k), turn));
      }
    }
  }

  int64_t whole_sums(int64_t n_pairs) const {
    const int64_t depth = (passing_pairs_ + n_pairs) / Unit::kDepthStep * Unit::kDepthStep;
    return std::max<int64_t>(depth - passing_pairs_, -1);
  }

  void score(size_t family, int64_t row, int64_t rows, const KeyInterval& keys, int64_t from_pair,
             int64_t to_pair, const float* begun, float* out, int64_t stride) const {
    const int64_t from = begun == nullptr ? 0 : passing_pairs_ + from_pair;
    Unit::multiply({.a = queries_.of(family) + row * width_ + from,
                    .a_stride = width_,
                    .b = key_ + from * kTile + keys.first,
                    .b_stride = kTile,
                    .begun = begun == nullptr ? nullptr : begun + keys.first,
                    .begun_stride = kTile,
                    .c = out + keys.first,
                    .c_stride = stride,
                    .rows = rows,
                    .columns = keys.last - keys.first,
                    .depth = passing_pairs_ + to_pair - from});
  }

  void choose(int64_t row, int64_t rows, int64_t t, const float* cut,
              const ChosenKeys& chosen) const {
    static_assert(kTile == 64);
    constexpr std::array kByVectors = {&Bf16Kernel::choose_run<1>, &Bf16Kernel::choose_run<2>,
                                       &Bf16Kernel::choose_run<3>, &Bf16Kernel::choose_run<4>};
    float* const to = scores(row) + t * kTile;
    if (chosen.is_first) return choose_among_hidden(rows, to, cut, chosen.bits);
    const KeyInterval& run = chosen.within;
    kByVectors[static_cast<size_t>((run.last - run.first) / 16 - 1)](
        rows, to + run.first, cut + run.first, chosen.bits, run.first);
  }

  // Plans with pairs of tokens that go by distance are not given to this kernel.
  void pack_keys_by_distance(int64_t /*tile*/) {}
  void score_by_distance(int64_t /*row*/, int64_t /*rows*/, int64_t /*tile*/, float* /*out*/,
                         int64_t /*stride*/) const {}

  // Values of 64 coordinates side by side, two keys to a number: (columns of 64,
  // kKeysTogether / 2, 64).
  void pack_values(int64_t tile) {
    const Bf16* from = kv_.values(block_.kv_head, tile);
    uint32_t* to = value_ + tile % kTilesTogether * kTile / 2 * kTile;
    for (int64_t x = 0; x < value_stride_; x += kTile, to += kKeysTogether / 2 * kTile) {
      const int64_t columns = std::min(kTile, value_stride_ - x);
      for (int64_t key = 0; key < kTile; key += 2) {
        const Bf16* row = from + key * value_stride_ + x;
        for (int64_t c = 0; c < columns; c += 16) {
          _mm512_storeu_si512(to + key / 2 * kTile + c, pairs_of(row + c, row + value_stride_ + c));
        }
      }
    }
  }

  void weigh(int64_t row, int64_t rows, uint8_t tiles, int64_t first_key) {
    for (int64_t r = row; r < row + rows; ++r) {
      if (block_.softcap != 0 || block_.bias != nullptr) adjust_row(r, tiles, first_key);
      weigh_row(r, tiles);
    }
  }

  void add_values(const uint8_t* seen) {
    for (int64_t t = 0; t < kTilesTogether; t += 2) {
      for (int64_t x = 0; x < value_stride_; x += kTile) {
        for (int64_t row = 0; row < rows_; row += kPanelRows) {
          const int tiles = seen[row / kPanelRows] >> t & 3;
          if (tiles != 0) add_product(row, t + (tiles == 2 ? 1 : 0), tiles == 3 ? 2 : 1, x);
        }
      }
    }
  }

  void finish() {
    for (int64_t r = 0; r < rows_; ++r)
      block_.write_row(r, running_.of(r), running_.total(r), running_.largest(r));
    Unit::stop();
  }

 private:
  // Keys from the `first` on, in kVectors vectors.
  template <int kVectors>
  static void choose_run(int64_t rows, float* to, const float* from, const uint64_t* bits,
                         int64_t first) {
    for (int64_t r = 0; r < rows; ++r, to += kScoreStride, from += kTile) {
      const uint64_t own = bits[r] >> first;
      for (int v = 0; v < kVectors; ++v) {
        _mm512_mask_storeu_ps(to + 16 * v, static_cast<__mmask16>(own >> (16 * v)),
                              _mm512_loadu_ps(from + 16 * v));
      }
    }
  }

  static void choose_among_hidden(int64_t rows, float* to, const float* from,
                                  const uint64_t* bits) {
    const __m512 hidden = _mm512_set1_ps(-std::numeric_limits<float>::infinity());
    for (int64_t r = 0; r < rows; ++r, to += kScoreStride, from += kTile) {
      for (int64_t k = 0; k < kTile; k += 16) {
        const auto mask = static_cast<__mmask16>(bits[r] >> k);
        _mm512_storeu_ps(to + k, _mm512_mask_loadu_ps(hidden, mask, from + k));
      }
    }
  }

  // The weights of a row, rounded, two to a number, from the start of where its scores were.
  uint32_t* weights(int64_t row) const { return reinterpret_cast<uint32_t*>(scores(row)); }

  // Two rows of sixteen, zipped.
  static __m512i pairs_of(const Bf16* x, const Bf16* y) {
    const __m512i low =
        _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)));
    return _mm512_or_si512(low, _mm512_castps_si512(load_bf16(y)));
  }

  static void pack_passing(const Bf16* row, bool has_second, uint32_t* to) {
    for (int64_t k = 0; k < kTile; ++k)
      to[k] = row[k].bits | (has_second ? static_cast<uint32_t>(row[kTile + k].bits) << 16 : 0);
  }

  void add_product(int64_t row, int64_t tile, int64_t n_tiles, int64_t x) {
    Unit::multiply({.a = weights(row) + tile * kTile / 2,
                    .a_stride = kScoreStride,
                    .b = value_ + x * kKeysTogether / 2 + tile * kTile / 2 * kTile,
                    .b_stride = kTile,
                    .begun = running_.of(row) + x,
                    .begun_stride = running_.stride(),
                    .c = running_.of(row) + x,
                    .c_stride = running_.stride(),
                    .rows = std::min(kPanelRows, rows_ - row),
                    .columns = std::min(kTile, value_stride_ - x),
                    .depth = n_tiles * kTile / 2});
  }

  // Cap, then bias; what is hidden stays so.
  void adjust_row(int64_t r, uint8_t tiles, int64_t first_key) {
    float* const row = scores(r);
    const __m512 hidden = _mm512_set1_ps(-std::numeric_limits<float>::infinity());
    const __m512 cap = _mm512_set1_ps(block_.softcap * std::numbers::log2e_v<float>);
    for (int64_t t = 0; t < kTilesTogether; ++t) {
      if ((tiles >> t & 1) == 0) continue;
      for (int64_t k = t * kTile; k < (t + 1) * kTile; k += 16) {
        __m512 score = _mm512_loadu_ps(row + k);
        if (block_.softcap != 0) {
          const __mmask16 seen = _mm512_cmp_ps_mask(score, hidden, _CMP_NEQ_UQ);
          score = _mm512_mask_mul_ps(hidden, seen, cap, tanh_of(score));
        }
        if (block_.bias != nullptr)
          score = _mm512_add_ps(score, _mm512_loadu_ps(block_.bias_of(r, first_key) + k));
        _mm512_storeu_ps(row + k, score);
      }
    }
  }

  void weigh_row(int64_t r, uint8_t tiles) {
    float* const row = scores(r);
    __m512 peak = _mm512_set1_ps(running_.largest(r));
    for (int64_t t = 0; t < kTilesTogether; ++t) {
      if ((tiles >> t & 1) == 0) continue;
      for (int64_t k = t * kTile; k < (t + 1) * kTile; k += 16)
        peak = _mm512_max_ps(peak, _mm512_loadu_ps(row + k));
    }
    const float largest = _mm512_reduce_max_ps(peak);
    const bool sees_none = largest == -std::numeric_limits<float>::infinity();
    if (largest != running_.largest(r)) raise(r, largest);
    const __m512 shift = _mm512_set1_ps(sees_none ? 0 : largest);
    const auto ones = (__m512bh)_mm512_set1_epi32(0x3F803F80);
    __m512 total = _mm512_setzero_ps();
    for (int64_t t = 0; t < kTilesTogether; ++t) {
      if ((tiles >> t & 1) == 0) continue;
      for (int64_t k = t * kTile; k < (t + 1) * kTile; k += 32) {
        const __m512 low = exp2_of_weight(_mm512_sub_ps(_mm512_loadu_ps(row + k), shift));
        const __m512 high = exp2_of_weight(_mm512_sub_ps(_mm512_loadu_ps(row + k + 16), shift));
        const __m512bh rounded = _mm512_cvtne2ps_pbh(high, low);
        total = _mm512_dpbf16_ps(total, rounded, ones);
        _mm512_storeu_si512(weights(r) + k / 2, (__m512i)rounded);
      }
    }
    running_.total(r) += _mm512_reduce_add_ps(total);
  }

  // What the sums so far are worth under a new largest score.
  void raise(int64_t r, float largest) {
    const __m512 decay = exp2_of_weight(_mm512_set1_ps(running_.largest(r) - largest));
    running_.largest(r) = largest;
    running_.total(r) *= _mm512_cvtss_f32(decay);
    float* sums = running_.of(r);
    for (int64_t x = 0; x < value_stride_; x += 16)
      _mm512_storeu_ps(sums + x, _mm512_mul_ps(_mm512_loadu_ps(sums + x), decay));
  }

  const AttentionBlock<Bf16>& block_;
  const Rotations& rotations_;
  const KvTiles<Bf16>& kv_;
  const PairLayout& layout_;
  const int64_t head_dim_;
  const int64_t passing_;  // coordinates that pass through
  TurnedQueries queries_;
  const int64_t passing_pairs_;  // two by two
  const int64_t width_;          // pairs of a query, with room to read past them
  const int64_t value_stride_;
  const int64_t group_;
  const int64_t rows_;
  const int64_t padded_rows_;
  uint32_t* key_;    // (width, kTile)
  uint32_t* value_;  // (columns of kTile, kKeysTogether / 2, kTile)
  float* scores_;    // (padded_rows, kScoreStride)
  const RunningSums running_;
};

ROPEWALK_END_AVX512BF16

}  // namespace
}  // namespace ropewalk

#endif  // ROPEWALK_KERNELS_ATTENTION_BF16_INL_H_
