// Vectors of sixteen numbers: rounding to bfloat16, turning, transposing, powers. For
// attention_avx512bf16.cc alone.
#ifndef ROPEWALK_KERNELS_BF16_VECTORS_INL_H_
#define ROPEWALK_KERNELS_BF16_VECTORS_INL_H_

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numbers>

#include "ropewalk/base/half.h"
#include "ropewalk/kernels/avx512bf16_target.h"

namespace ropewalk {
namespace {

ROPEWALK_BEGIN_AVX512BF16

// Lane l of a vector's low half, then lane l of its high half.
alignas(64) constexpr std::array<uint16_t, 32> kZip = [] {
  std::array<uint16_t, 32> order = {};
  for (size_t l = 0; l < 16; ++l) {
    order[2 * l] = static_cast<uint16_t>(l);
    order[2 * l + 1] = static_cast<uint16_t>(l + 16);
  }
  return order;
}();

// Two vectors of float32, rounded, as pairs (x of lane l, y of lane l).
__m512i rounded_pairs(__m512 x, __m512 y) {
  const __m512i halves = (__m512i)_mm512_cvtne2ps_pbh(y, x);
  return _mm512_permutexvar_epi16(_mm512_load_si512(kZip.data()), halves);
}

struct Turn {
  __m512 cos;
  __m512 sin;
};

Turn after(const Turn& a, const Turn& b) {
  return {_mm512_fnmadd_ps(a.sin, b.sin, _mm512_mul_ps(a.cos, b.cos)),
          _mm512_fmadd_ps(a.sin, b.cos, _mm512_mul_ps(a.cos, b.sin))};
}

__m512i turned(__m512 x, __m512 y, const Turn& turn) {
  return rounded_pairs(_mm512_fnmadd_ps(y, turn.sin, _mm512_mul_ps(x, turn.cos)),
                       _mm512_fmadd_ps(x, turn.sin, _mm512_mul_ps(y, turn.cos)));
}

__m512 load_bf16(const Bf16* from) {
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}

struct Square {
  __m512i rows[16];
};

void transpose(Square& square) {
  __m512i* const rows = square.rows;
  __m512i other[16];
  for (size_t r = 0; r < 16; r += 2) {
    other[r] = _mm512_unpacklo_epi32(rows[r], rows[r + 1]);
    other[r + 1] = _mm512_unpackhi_epi32(rows[r], rows[r + 1]);
  }
  for (size_t r = 0; r < 16; r += 4) {
    for (size_t h = 0; h < 2; ++h) {
      rows[r + 2 * h] = _mm512_unpacklo_epi64(other[r + h], other[r + h + 2]);
      rows[r + 2 * h + 1] = _mm512_unpackhi_epi64(other[r + h], other[r + h + 2]);
    }
  }
  // Each vector now holds, in its quarters q, four rows of column 4 q + (its place among four).
  for (size_t r = 0; r < 4; ++r) {
    const __m512i low02 = _mm512_shuffle_i32x4(rows[r], rows[r + 4], 0x88);
    const __m512i low13 = _mm512_shuffle_i32x4(rows[r], rows[r + 4], 0xDD);
    const __m512i high02 = _mm512_shuffle_i32x4(rows[r + 8], rows[r + 12], 0x88);
    const __m512i high13 = _mm512_shuffle_i32x4(rows[r + 8], rows[r + 12], 0xDD);
    other[r] = _mm512_shuffle_i32x4(low02, high02, 0x88);
    other[r + 4] = _mm512_shuffle_i32x4(low13, high13, 0x88);
    other[r + 8] = _mm512_shuffle_i32x4(low02, high02, 0xDD);
    other[r + 12] = _mm512_shuffle_i32x4(low13, high13, 0xDD);
  }
  std::copy_n(other, 16, rows);
}

// 2^x for -126 <= x <= 0 within 3e-6 of itself, which a bfloat16 number (2^-9) does not feel; 1 at 0
// and 0 below -127, minus infinity included. The minimax polynomial of degree 4 of 2^f on
// [-1/2, 1/2] with 1 at 0.
__m512 exp2_of_weight(__m512 x) {
  const __m512 rounder = _mm512_set1_ps(0x1.8p23F);
  const __m512 bounded = _mm512_max_ps(_mm512_set1_ps(-127.0F), x);  // a NaN stays
  const __m512 shifted = _mm512_add_ps(bounded, rounder);
  const __m512 f = _mm512_sub_ps(bounded, _mm512_sub_ps(shifted, rounder));
  __m512 sum = _mm512_set1_ps(9.582853e-3F);
  sum = _mm512_fmadd_ps(sum, f, _mm512_set1_ps(5.5906426e-2F));
  sum = _mm512_fmadd_ps(sum, f, _mm512_set1_ps(2.4024099e-1F));
  sum = _mm512_fmadd_ps(sum, f, _mm512_set1_ps(6.931242e-1F));
  sum = _mm512_fmadd_ps(sum, f, _mm512_set1_ps(1.0F));
  const __m512i exponent = _mm512_slli_epi32(_mm512_castps_si512(shifted), 23);
  return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(sum), exponent));
}

// Within 2e-6 of tanh.
__m512 tanh_of(__m512 x) {
  const __m512 one = _mm512_set1_ps(1.0F);
  const __m512 twice = _mm512_set1_ps(-2 * std::numbers::log2e_v<float>);
  const __m512 fallen = exp2_of_weight(_mm512_mul_ps(_mm512_abs_ps(x), twice));
  const __m512 size = _mm512_div_ps(_mm512_sub_ps(one, fallen), _mm512_add_ps(one, fallen));
  const __m512i sign = _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(INT32_MIN));
  return _mm512_castsi512_ps(_mm512_or_si512(_mm512_castps_si512(size), sign));
}

ROPEWALK_END_AVX512BF16

}  // namespace
}  // namespace ropewalk

#endif  // ROPEWALK_KERNELS_BF16_VECTORS_INL_H_
