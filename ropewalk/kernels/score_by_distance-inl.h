// Scores of pairs of tokens whose angles go by their distance and are no difference of two
// positions.
#if defined(ROPEWALK_KERNELS_SCORE_BY_DISTANCE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ROPEWALK_KERNELS_SCORE_BY_DISTANCE_INL_H_
#undef ROPEWALK_KERNELS_SCORE_BY_DISTANCE_INL_H_
#else
#define ROPEWALK_KERNELS_SCORE_BY_DISTANCE_INL_H_
#endif

#include <array>
#include <cstdint>

#include "hwy/highway.h"
#include "ropewalk/kernels/attention.h"
#include "ropewalk/kernels/matmul-inl.h"
#include "ropewalk/kernels/rotation_table.h"
#include "ropewalk/math/pair_layout.h"

HWY_BEFORE_NAMESPACE();
namespace ropewalk {
namespace HWY_NAMESPACE {

// A panel of rows against one tile of keys.
struct ByDistance {
  const PairLayout* layout;
  const RotationTable* table;  // by falling distance
  const float* queries;        // (rows, head_dim): what passes through, then pairs side by side
  const float* keys;           // (head_dim, kTile), unrotated, in the layout's order
  float* out;                  // (rows, kTile), rows `stride` apart
  int64_t stride;
};

// For each pair A cos + B sin, A = q0 k0 + q1 k1, B = q0 k1 - q1 k0: six operations a pair, three
// times those of a product of rotated queries and keys. Keys are shared by R rows in registers; the
// table's rows, one further for each token, are not.
template <int R, int V>
HWY_INLINE void score_columns_by_distance(const ByDistance& d,
                                          const std::array<int64_t, kProductRows>& entries,
                                          int64_t k) {
  const FloatTag tag;
  const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
  const PairLayout& layout = *d.layout;
  const int64_t head_dim = layout.head_dim;
  const int64_t passing = head_dim - layout.rotary_dim;
  FloatVec sum[R][V];
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < V; ++v) sum[r][v] = hn::Zero(tag);
  }
  for (int64_t pair = 0; pair < layout.n_pairs(); ++pair) {
    FloatVec k0[V];
    FloatVec k1[V];
    for (int v = 0; v < V; ++v) {
      k0[v] = hn::Load(tag, d.keys + layout.first(pair) * kTile + k + v * lanes);
      k1[v] = hn::Load(tag, d.keys + layout.second(pair) * kTile + k + v * lanes);
    }
    const float* const cos = d.table->cos_of(pair) + k;
    const float* const sin = d.table->sin_of(pair) + k;
    const float* const query = d.queries + passing + 2 * pair;
    for (int r = 0; r < R; ++r) {
      const FloatVec q0 = hn::Set(tag, query[r * head_dim]);
      const FloatVec q1 = hn::Set(tag, query[r * head_dim + 1]);
      for (int v = 0; v < V; ++v) {
        const FloatVec a = hn::MulAdd(q0, k0[v], hn::Mul(q1, k1[v]));
        const FloatVec b = hn::NegMulAdd(q1, k0[v], hn::Mul(q0, k1[v]));
        sum[r][v] = hn::MulAdd(a, hn::LoadU(tag, cos + entries[r] + v * lanes), sum[r][v]);
        sum[r][v] = hn::MulAdd(b, hn::LoadU(tag, sin + entries[r] + v * lanes), sum[r][v]);
      }
    }
  }
  for (int64_t x = 0; x < passing; ++x) {
    for (int v = 0; v < V; ++v) {
      const FloatVec key = hn::Load(tag, d.keys + (layout.rotary_dim + x) * kTile + k + v * lanes);
      for (int r = 0; r < R; ++r)
        sum[r][v] = hn::MulAdd(hn::Set(tag, d.queries[r * head_dim + x]), key, sum[r][v]);
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < V; ++v) hn::Store(sum[r][v], tag, d.out + r * d.stride + k + v * lanes);
  }
}

template <int R>
HWY_NOINLINE void score_rows_by_distance(const ByDistance& d,
                                         const std::array<int64_t, kProductRows>& entries) {
  constexpr int kColumns = kVectors / 2;
  const auto lanes = static_cast<int64_t>(hn::Lanes(FloatTag()));
  for (int64_t k = 0; k < kTile; k += kColumns * lanes)
    score_columns_by_distance<R, kColumns>(d, entries, k);
}

//   entries  by row, the table's row of the tile's first key
//   rows     <= kProductRows
HWY_INLINE void score_pairs_by_distance(const ByDistance& d,
                                        const std::array<int64_t, kProductRows>& entries,
                                        int64_t rows) {
  static_assert(kProductRows == 6);
  switch (rows) {
    case 1:
      return score_rows_by_distance<1>(d, entries);
    case 2:
      return score_rows_by_distance<2>(d, entries);
    case 3:
      return score_rows_by_distance<3>(d, entries);
    case 4:
      return score_rows_by_distance<4>(d, entries);
    case 5:
      return score_rows_by_distance<5>(d, entries);
    default:
      return score_rows_by_distance<6>(d, entries);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace ropewalk
HWY_AFTER_NAMESPACE();

#endif  // include guard
