// Products of bfloat16 matrices, by VDPBF16PS and by AMX. For attention_avx512bf16.cc alone.
#ifndef ROPEWALK_KERNELS_BF16_PRODUCTS_INL_H_
#define ROPEWALK_KERNELS_BF16_PRODUCTS_INL_H_

#include <immintrin.h>

#include <array>
#include <cstdint>

#include "ropewalk/kernels/avx512bf16_target.h"

namespace ropewalk {
namespace {

// c (rows, columns) = begun (rows, columns) + a (rows, depth) b (depth, columns), where each number of
// a and b is a pair of bfloat16 numbers, and pairs multiply as their inner product.
struct PairProduct {
  const uint32_t* a;
  int64_t a_stride;
  const uint32_t* b;
  int64_t b_stride;
  const float* begun;  // may be c; null: zeros
  int64_t begun_stride;
  float* c;
  int64_t c_stride;
  int64_t rows;
  int64_t columns;  // a multiple of 16, <= 64
  int64_t depth;
};

constexpr int64_t kMostDepthPadding = 16;  // pairs that a unit may read, unused, past the depth

ROPEWALK_BEGIN_AVX512BF16

// ---- products by VDPBF16PS

template <int R, int V>
void multiply_panel(const PairProduct& p, int64_t column) {
  __m512 sum[R][V];
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < V; ++v) {
      sum[r][v] = p.begun == nullptr
                      ? _mm512_setzero_ps()
                      : _mm512_loadu_ps(p.begun + r * p.begun_stride + column + v * 16);
    }
  }
  const uint32_t* const a = p.a;
  const uint32_t* b = p.b + column;
  const int64_t a_stride = p.a_stride;
  for (int64_t k = 0; k < p.depth; ++k, b += p.b_stride) {
    __m512bh row[V];
    for (int v = 0; v < V; ++v) row[v] = (__m512bh)_mm512_loadu_si512(b + v * 16);
    for (int r = 0; r < R; ++r) {
      const auto factor = (__m512bh)_mm512_set1_epi32(static_cast<int>(a[r * a_stride + k]));
      for (int v = 0; v < V; ++v) sum[r][v] = _mm512_dpbf16_ps(sum[r][v], factor, row[v]);
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < V; ++v) _mm512_storeu_ps(p.c + r * p.c_stride + column + v * 16, sum[r][v]);
  }
}

template <int R>
void multiply_rows(const PairProduct& p) {
  int64_t x = 0;
  for (; x + 64 <= p.columns; x += 64) multiply_panel<R, 4>(p, x);
  for (; x < p.columns; x += 16) multiply_panel<R, 1>(p, x);
}

struct DotUnit {
  static constexpr int64_t kPanelRows = 6;  // by four vectors: 24 of 32 registers
  static constexpr int64_t kColumnsAtOnce = 64;
  static constexpr int64_t kDepthStep = 1;
  static constexpr int64_t kSharers = 1;

  static void start() {}
  static void stop() {}

  static void multiply(const PairProduct& p) {
    constexpr std::array kByRows = {multiply_rows<1>, multiply_rows<2>, multiply_rows<3>,
                                    multiply_rows<4>, multiply_rows<5>, multiply_rows<6>};
    kByRows[static_cast<size_t>(p.rows - 1)](p);
  }
};

ROPEWALK_END_AVX512BF16

// ---- products by AMX, sixteen rows by sixteen numbers to a tile

// All eight tiles alike. Bytes 16 and on: the bytes of a row, two bytes to a tile; 48 and on: rows.
constexpr std::array<uint8_t, 64> tile_shapes() {
  std::array<uint8_t, 64> shapes = {};
  shapes[0] = 1;  // the palette
  for (size_t tile = 0; tile < 8; ++tile) {
    shapes[16 + 2 * tile] = 64;
    shapes[48 + tile] = 16;
  }
  return shapes;
}
alignas(64) constexpr std::array<uint8_t, 64> kShapes = tile_shapes();

struct TileUnit {
  static constexpr int64_t kPanelRows = 32;  // two tiles, by two of the columns
  static constexpr int64_t kColumnsAtOnce = 16;
  static constexpr int64_t kDepthStep = 16;  // pairs that are summed on their own
  static constexpr int64_t kSharers = 2;     // to store and load a sum takes two steps' time

  ROPEWALK_AMX static void start() { _tile_loadconfig(kShapes.data()); }

  ROPEWALK_AMX static void stop() { _tile_release(); }

  // Works on whole panels, whatever p.rows says, and reads up to kMostDepthPadding pairs of b past
  // the depth, which must be finite.
  ROPEWALK_AMX static void multiply(const PairProduct& p) {
    alignas(64) std::array<uint32_t, kPanelRows * 16> rest;  // of a, zeros beyond the depth
    const int64_t whole = p.depth / 16 * 16;
    if (whole < p.depth) {
      const auto mask = static_cast<__mmask16>((1U << (p.depth - whole)) - 1);
      for (int64_t r = 0; r < kPanelRows; ++r) {
        _mm512_store_si512(rest.data() + r * 16,
                           _mm512_maskz_loadu_epi32(mask, p.a + r * p.a_stride + whole));
      }
    }
    // GCC's tile loads do not say that they read memory.
    asm volatile("" : : "r"(rest.data()) : "memory");
    int64_t x = 0;
    for (; x + 32 <= p.columns; x += 32) multiply_two(p, x, whole, rest.data());
    if (x < p.columns) multiply_one(p, x, whole, rest.data());
  }

 private:
  static size_t bytes(int64_t numbers) { return static_cast<size_t>(numbers) * 4; }

  ROPEWALK_AMX static void multiply_two(const PairProduct& p, int64_t x, int64_t whole,
                                        const uint32_t* rest) {
    float* const c = p.c + x;
    float* const below = c + 16 * p.c_stride;
    if (p.begun == nullptr) {
      _tile_zero(0);
      _tile_zero(1);
      _tile_zero(2);
      _tile_zero(3);
    } else {
      const float* const begun = p.begun + x;
      const float* const begun_below = begun + 16 * p.begun_stride;
      _tile_loadd(0, begun, bytes(p.begun_stride));
      _tile_loadd(1, begun + 16, bytes(p.begun_stride));
      _tile_loadd(2, begun_below, bytes(p.begun_stride));
      _tile_loadd(3, begun_below + 16, bytes(p.begun_stride));
    }
    for (int64_t k = 0; k < p.depth; k += 16) {
      const uint32_t* const a = k < whole ? p.a + k : rest;
      const int64_t a_stride = k < whole ? p.a_stride : 16;
      const uint32_t* const b = p.b + k * p.b_stride + x;
      _tile_loadd(6, b, bytes(p.b_stride));
      _tile_loadd(4, a, bytes(a_stride));
      _tile_loadd(7, b + 16, bytes(p.b_stride));
      _tile_dpbf16ps(0, 4, 6);
      _tile_loadd(5, a + 16 * a_stride, bytes(a_stride));
      _tile_dpbf16ps(1, 4, 7);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, c, bytes(p.c_stride));
    _tile_stored(1, c + 16, bytes(p.c_stride));
    _tile_stored(2, below, bytes(p.c_stride));
    _tile_stored(3, below + 16, bytes(p.c_stride));
  }

  ROPEWALK_AMX static void multiply_one(const PairProduct& p, int64_t x, int64_t whole,
                                        const uint32_t* rest) {
    float* const c = p.c + x;
    float* const below = c + 16 * p.c_stride;
    if (p.begun == nullptr) {
      _tile_zero(0);
      _tile_zero(2);
    } else {
      _tile_loadd(0, p.begun + x, bytes(p.begun_stride));
      _tile_loadd(2, p.begun + x + 16 * p.begun_stride, bytes(p.begun_stride));
    }
    for (int64_t k = 0; k < p.depth; k += 16) {
      const uint32_t* const a = k < whole ? p.a + k : rest;
      const int64_t a_stride = k < whole ? p.a_stride : 16;
      _tile_loadd(6, p.b + k * p.b_stride + x, bytes(p.b_stride));
      _tile_loadd(4, a, bytes(a_stride));
      _tile_loadd(5, a + 16 * a_stride, bytes(a_stride));
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(2, 5, 6);
    }
    _tile_stored(0, c, bytes(p.c_stride));
    _tile_stored(2, below, bytes(p.c_stride));
  }
};

}  // namespace
}  // namespace ropewalk

#endif  // ROPEWALK_KERNELS_BF16_PRODUCTS_INL_H_
