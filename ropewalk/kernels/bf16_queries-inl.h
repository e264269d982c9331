// Rotating the queries of a block. For attention_avx512bf16.cc alone.
#ifndef ROPEWALK_KERNELS_BF16_QUERIES_INL_H_
#define ROPEWALK_KERNELS_BF16_QUERIES_INL_H_

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "ropewalk/kernels/attention_block.h"
#include "ropewalk/kernels/bf16_products-inl.h"
#include "ropewalk/kernels/bf16_vectors-inl.h"

namespace ropewalk {
namespace {

ROPEWALK_BEGIN_AVX512BF16

// The queries of a block, rotated for one family of branches after the other.
class TurnedQueries {
 public:
  explicit TurnedQueries(const AttentionBlock<Bf16>& block)
      : block_(block),
        rotations_(*block.rotations),
        layout_(rotations_.layout()),
        head_dim_(block.kv->head_dim()),
        passing_pairs_((head_dim_ - layout_.rotary_dim + 1) / 2),
        width_(passing_pairs_ + layout_.n_pairs() + kMostDepthPadding),
        group_(block.group()),
        rows_(block.rows()),
        padded_rows_((rows_ + kPadding - 1) / kPadding * kPadding) {
    AttentionWorkspace& memory = *block.workspace;
    turned_ = memory.take<uint32_t>(padded_rows_ * width_ *
                                    static_cast<int64_t>(block.walk->families().size()));
    query_ = memory.take<float>(padded_rows_ * head_dim_);
    tokens_ = memory.take<RowsOfTokens>(padded_rows_ / 16);
  }

  int64_t passing_pairs() const { return passing_pairs_; }
  int64_t width() const { return width_; }
  int64_t padded_rows() const { return padded_rows_; }

  // (padded_rows, width): pairs of the family's order after those that pass through.
  uint32_t* of(size_t family) const {
    return turned_ + static_cast<int64_t>(family) * padded_rows_ * width_;
  }

  void take() {
    for (int64_t row = 0; row < padded_rows_; row += 16) {
      take_queries(row);
      tokens_[row / 16] = tokens_of_rows(row);
    }
  }

  // Sixteen pairs of kTurnedRows rows at a time: their entries lie side by side in the tables, and
  // those of the next sixteen pairs come nearer meanwhile.
  void turn(size_t family) {
    const std::vector<HeardPair>& pairs = block_.walk->families()[family].pairs;
    const int64_t columns = passing_pairs_ + std::ssize(pairs);
    uint32_t* const turned = of(family);
    std::array<Square, kTurnedRows / 16> squares;  // by pair, then by row
    for (int64_t row = 0; row < padded_rows_; row += kTurnedRows) {
      const int64_t end = std::min(row + kTurnedRows, padded_rows_);
      for (int64_t begin = 0; begin < columns; begin += 16) {
        fetch_entries(pairs, begin + 16, row);
        for (int64_t c = begin; c < begin + 16; ++c)
          turn_column(pairs, c, row, end, squares.data(), static_cast<size_t>(c - begin));
        for (int64_t r = row; r < end; ++r) {
          Square& square = squares[(r - row) / 16];
          if (r % 16 == 0) transpose(square);
          _mm512_storeu_si512(turned + r * width_ + begin, square.rows[r % 16]);
        }
      }
    }
  }

 private:
  static constexpr int64_t kPadding = 32;  // whole vectors of rows; whole panels of TileUnit

  const float* query_of_row(int64_t r) const {
    return block_.queries + block_.head_row_of(r) * head_dim_;
  }
  float* coordinate(int64_t x) const { return query_ + x * padded_rows_; }

  // Sixteen rows of queries, scaled; zeros past the last.
  void take_queries(int64_t row) {
    alignas(64) std::array<float, 16> scale = {};
    for (int64_t r = row; r < std::min(row + 16, rows_); ++r)
      scale[r - row] = block_.query_scale(r / group_);
    for (int64_t x = 0; x < head_dim_; x += 16) {
      const auto mask = static_cast<__mmask16>((1U << std::min<int64_t>(16, head_dim_ - x)) - 1);
      Square part;
      for (int64_t r = 0; r < 16; ++r) {
        part.rows[r] = row + r >= rows_ ? _mm512_setzero_si512()
                                        : _mm512_maskz_loadu_epi32(mask, query_of_row(row + r) + x);
      }
      transpose(part);
      for (int64_t c = 0; c < std::min<int64_t>(16, head_dim_ - x); ++c) {
        _mm512_store_ps(coordinate(x + c) + row, _mm512_mul_ps(_mm512_castsi512_ps(part.rows[c]),
                                                               _mm512_load_ps(scale.data())));
      }
    }
  }

  // Sixteen rows' tokens, and which of them each row takes.
  struct RowsOfTokens {
    int64_t first;   // counted from the pass's first row
    int64_t anchor;  // of steady rows: the first token's
    int64_t step;
    __mmask16 mask;
    __mmask16 next;  // tokens from the next anchor on
    __m512i places;
  };

  RowsOfTokens tokens_of_rows(int64_t row) const {
    const int64_t first = row / group_;
    const int64_t count = std::clamp<int64_t>(block_.tokens() - first, 0, 16);
    alignas(64) std::array<int32_t, 16> places;
    for (int64_t r = 0; r < 16; ++r) places[r] = static_cast<int32_t>((row + r) / group_ - first);
    const int64_t token = rotations_.first_row() + block_.row_begin + first;
    const int64_t step = token % kSteadyRows;
    const int64_t left = kSteadyRows - step;  // until the next anchor
    return {.first = block_.row_begin + first,
            .anchor = token / kSteadyRows - rotations_.first_row() / kSteadyRows,
            .step = step,
            .mask = static_cast<__mmask16>((1U << count) - 1),
            .next = static_cast<__mmask16>(left >= 16 ? 0 : 0xFFFFU << left),
            .places = _mm512_load_si512(places.data())};
  }

  static Turn table_turn(const HeardPair& pair, const RowsOfTokens& rows) {
    return {_mm512_maskz_loadu_ps(rows.mask, pair.query_cos + rows.first),
            _mm512_maskz_loadu_ps(rows.mask, pair.query_sin + rows.first)};
  }

  // Sixteen tokens from any one on meet two anchors at most.
  static Turn steady_turn(const SteadyRows& steady, const RowsOfTokens& rows) {
    const auto both = [&](const float* anchors) {
      const __m512 first = _mm512_set1_ps(anchors[rows.anchor]);
      if (rows.next == 0) return first;
      return _mm512_mask_mov_ps(first, rows.next, _mm512_set1_ps(anchors[rows.anchor + 1]));
    };
    return after({both(steady.anchor_cos), both(steady.anchor_sin)},
                 {_mm512_loadu_ps(steady.step_cos + rows.step),
                  _mm512_loadu_ps(steady.step_sin + rows.step)});
  }

  static constexpr int64_t kTurnedRows = 64;

  // The entries that columns [begin, begin + 16) of kTurnedRows rows take.
  void fetch_entries(const std::vector<HeardPair>& pairs, int64_t begin, int64_t row) const {
    const int64_t first = block_.row_begin + row / group_;
    const int64_t end = std::min(begin + 16 - passing_pairs_, std::ssize(pairs));
    for (int64_t p = std::max<int64_t>(begin - passing_pairs_, 0); p < end; ++p) {
      if (pairs[p].query_steady.anchor_cos != nullptr) continue;
      for (int64_t t = first; t < first + kTurnedRows / group_; t += 16) {
        __builtin_prefetch(pairs[p].query_cos + t);
        __builtin_prefetch(pairs[p].query_sin + t);
      }
    }
  }

  // One number of each of rows [row, end), into a row of squares; zeros past the last pair.
  void turn_column(const std::vector<HeardPair>& pairs, int64_t column, int64_t row, int64_t end,
                   Square* to, size_t place) const {
    const int64_t p = column - passing_pairs_;
    if (p >= 0 && p < std::ssize(pairs)) return turn_pair(pairs[p], row, end, to, place);
    for (int64_t r = row; r < end; r += 16, ++to)
      to->rows[place] = p < 0 ? passing_pair(column, r) : _mm512_setzero_si512();
  }

  // Coordinates 2 c and 2 c + 1 of those that pass through, of sixteen rows.
  __m512i passing_pair(int64_t c, int64_t row) const {
    const int64_t x = layout_.rotary_dim + 2 * c;
    const __m512 second =
        x + 1 < head_dim_ ? _mm512_load_ps(coordinate(x + 1) + row) : _mm512_setzero_ps();
    return rounded_pairs(_mm512_load_ps(coordinate(x) + row), second);
  }

  void turn_pair(const HeardPair& pair, int64_t row, int64_t end, Square* to, size_t place) const {
    if (pair.query_steady.anchor_cos != nullptr) {
      turn_pair_by(pair, row, end, to, place,
                   [&](const RowsOfTokens& rows) { return steady_turn(pair.query_steady, rows); });
    } else {
      turn_pair_by(pair, row, end, to, place,
                   [&](const RowsOfTokens& rows) { return table_turn(pair, rows); });
    }
  }

  template <typename TurnOf>
  void turn_pair_by(const HeardPair& pair, int64_t row, int64_t end, Square* to, size_t place,
                    const TurnOf& turn_of) const {
    const float* const x = coordinate(layout_.first(pair.pair));
    const float* const y = coordinate(layout_.second(pair.pair));
    const RowsOfTokens* rows = tokens_ + row / 16;
    for (int64_t r = row; r < end; r += 16, ++rows, ++to) {
      Turn turn = turn_of(*rows);
      if (group_ > 1) {
        turn = {_mm512_permutexvar_ps(rows->places, turn.cos),
                _mm512_permutexvar_ps(rows->places, turn.sin)};
      }
      to->rows[place] = turned(_mm512_load_ps(x + r), _mm512_load_ps(y + r), turn);
    }
  }

  const AttentionBlock<Bf16>& block_;
  const Rotations& rotations_;
  const PairLayout& layout_;
  const int64_t head_dim_;
  const int64_t passing_pairs_;  // coordinates that pass through, two by two
  const int64_t width_;          // pairs of a query, with room to read past them
  const int64_t group_;
  const int64_t rows_;
  const int64_t padded_rows_;  // a multiple of kPadding
  uint32_t* turned_;           // (families, padded_rows, width) scaled, rotated
  float* query_;               // (head_dim, padded_rows) scaled
  RowsOfTokens* tokens_;       // (padded_rows / 16)
};

ROPEWALK_END_AVX512BF16

}  // namespace
}  // namespace ropewalk

#endif  // ROPEWALK_KERNELS_BF16_QUERIES_INL_H_
