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
constexpr int64_t kProductRows = 6;
constexpr int kVectors = HWY_MAX_BYTES >= 64 ? 4 : 2;

// What a product makes of a b.
enum class Into {
  kFresh,     // c = a b
  kContinue,  // the sum goes on from `begun`: the same bits as one longer product
  kAdd,       // c += a b, the product summed on its own
};

// How the numbers of a row of a lie.
enum class Along {
  kSideBySide,
  kApart,  // by a_step, so that a may be a matrix that is stored by columns
};

// A panel of `columns` columns, a multiple of 16, whose rows lie side by side.
struct PanelProduct {
  const float* a;  // (rows, depth)
  int64_t a_stride;
  int64_t a_step = 1;
  const float* b;  // (depth, columns), rows b_stride apart and aligned to 64 bytes
  int64_t b_stride;
  const float* begun;  // (rows, columns), rows aligned to 64 bytes; may be c; of kContinue
  int64_t begun_stride;
  float* c;  // (rows, columns), rows aligned to 64 bytes
  int64_t c_stride;
  int64_t depth;
};

template <int R, int V, Into kInto, Along kAlong>
HWY_INLINE void multiply_panel(const PanelProduct& p, int64_t column) {
  const FloatTag tag;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(tag));
  const float* HWY_RESTRICT a = p.a;
  const float* HWY_RESTRICT b = p.b + column;
  float* c = p.c + column;  // what `begun` is, perhaps
  const int64_t a_stride = p.a_stride;
  const int64_t a_step = kAlong == Along::kSideBySide ? 1 : p.a_step;
  const int64_t b_stride = p.b_stride;
  const int64_t depth = p.depth;
  FloatVec sum[R][V];
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < V; ++v) {
      if constexpr (kInto == Into::kContinue) {
        sum[r][v] = hn::Load(tag, p.begun + column + r * p.begun_stride + v * lanes);
      } else {
        sum[r][v] = hn::Zero(tag);
      }
    }
  }
  for (int64_t k = 0; k < depth; ++k) {
    FloatVec row[V];
    for (int v = 0; v < V; ++v) row[v] = hn::Load(tag, b + k * b_stride + v * lanes);
    for (int r = 0; r < R; ++r) {
      const FloatVec factor = hn::Set(tag, a[r * a_stride + k * a_step]);
      for (int v = 0; v < V; ++v) sum[r][v] = hn::MulAdd(factor, row[v], sum[r][v]);
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < V; ++v) {
      float* to = c + r * p.c_stride + v * lanes;
      if constexpr (kInto == Into::kAdd) sum[r][v] = hn::Add(hn::Load(tag, to), sum[r][v]);
      hn::Store(sum[r][v], tag, to);
    }
  }
}

template <int R, Into kInto, Along kAlong>
HWY_NOINLINE void multiply_rows(const PanelProduct& p, int64_t columns) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(FloatTag()));
  int64_t x = 0;
  for (; x + kVectors * lanes <= columns; x += kVectors * lanes)
    multiply_panel<R, kVectors, kInto, kAlong>(p, x);
  for (; x < columns; x += lanes) multiply_panel<R, 1, kInto, kAlong>(p, x);
}

//   rows  <= kProductRows
template <Into kInto, Along kAlong = Along::kSideBySide>
HWY_INLINE void multiply(const PanelProduct& p, int64_t rows, int64_t columns) {
  static_assert(kProductRows == 6);
  switch (rows) {
    case 1:
      return multiply_rows<1, kInto, kAlong>(p, columns);
    case 2:
      return multiply_rows<2, kInto, kAlong>(p, columns);
    case 3:
      return multiply_rows<3, kInto, kAlong>(p, columns);
    case 4:
      return multiply_rows<4, kInto, kAlong>(p, columns);
    case 5:
      return multiply_rows<5, kInto, kAlong>(p, columns);
    default:
      return multiply_rows<6, kInto, kAlong>(p, columns);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace ropewalk
HWY_AFTER_NAMESPACE();

#endif  // include guard
