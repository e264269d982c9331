// A small matrix product in registers, for tiles that lie in the nearest cache.
#if defined(ROPEWALK_KERNELS_MATMUL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ROPEWALK_KERNELS_MATMUL_INL_H_
#undef ROPEWALK_KERNELS_MATMUL_INL_H_
#else
#define ROPEWALK_KERNELS_MATMUL_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ropewalk {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::CappedTag<float, 16>;
using FloatVec = hn::Vec<FloatTag>;

// Six rows by four vectors fill 24 of AVX-512's 32 registers; by two, 12 of the 16 that AVX2 has.
constexpr int kRows = 6;
constexpr int kVectors = HWY_MAX_BYTES >= 64 ? 4 : 2;

// c(R, V vectors) = a(R, depth) b(depth, V vectors).
template <int R, int V>
HWY_INLINE void multiply_panel(const float* HWY_RESTRICT a, int64_t a_stride,
                               const float* HWY_RESTRICT b, int64_t b_stride, float* HWY_RESTRICT c,
                               int64_t c_stride, int64_t depth) {
  const FloatTag tag;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(tag));
  FloatVec sum[R][V];
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < V; ++v) sum[r][v] = hn::Zero(tag);
  }
  for (int64_t k = 0; k < depth; ++k) {
    FloatVec row[V];
    for (int v = 0; v < V; ++v) row[v] = hn::Load(tag, b + k * b_stride + v * lanes);
    for (int r = 0; r < R; ++r) {
      const FloatVec factor = hn::Set(tag, a[r * a_stride + k]);
      for (int v = 0; v < V; ++v) sum[r][v] = hn::MulAdd(factor, row[v], sum[r][v]);
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < V; ++v) hn::Store(sum[r][v], tag, c + r * c_stride + v * lanes);
  }
}

template <int V>
HWY_INLINE void multiply_columns(const float* a, int64_t a_stride, const float* b, int64_t b_stride,
                                 float* c, int64_t c_stride, int64_t rows, int64_t depth) {
  int64_t r = 0;
  for (; r + kRows <= rows; r += kRows) {
    multiply_panel<kRows, V>(a + r * a_stride, a_stride, b, b_stride, c + r * c_stride, c_stride,
                             depth);
  }
  for (; r < rows; ++r) {
    multiply_panel<1, V>(a + r * a_stride, a_stride, b, b_stride, c + r * c_stride, c_stride,
                         depth);
  }
}

// c(rows, columns) = a(rows, depth) b(depth, columns).
//   columns           a multiple of 16
//   b, c              rows aligned to 64 bytes
HWY_INLINE void multiply(const float* a, int64_t a_stride, const float* b, int64_t b_stride,
                         float* c, int64_t c_stride, int64_t rows, int64_t columns, int64_t depth) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(FloatTag()));
  int64_t x = 0;
  for (; x + kVectors * lanes <= columns; x += kVectors * lanes) {
    multiply_columns<kVectors>(a, a_stride, b + x, b_stride, c + x, c_stride, rows, depth);
  }
  for (; x < columns; x += lanes) {
    multiply_columns<1>(a, a_stride, b + x, b_stride, c + x, c_stride, rows, depth);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace ropewalk
HWY_AFTER_NAMESPACE();

#endif  // include guard
