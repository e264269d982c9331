// bf16 rotated by AVX-512 with its 16-bit dot product (VNNI), in one file of raw intrinsics, used where
// cpuid has them; elsewhere everything is left to rotate-inl.h.
//
// 64 bytes take 11 vector operations: two widen, four turn, five round and pack. The two ports that
// take 512-bit ones need 5.5 cycles for them, which is what binds in the caches, not their bandwidth.
// VCVTNE2PS2BF16 is no help: four operations, half of them only for one port, and a permutation after.
#include "ropewalk/kernels/rotate_block.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define ROPEWALK_BY_CPU __attribute__((target("avx512f,avx512bw,avx512vnni")))

namespace ropewalk {
namespace {

constexpr int64_t kLanes = 16;

bool has_vnni() {
  static const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512vnni");
  return has;
}

// A lane of 32 bits holds two elements; a shift or a mask makes each a float. (Without its mask, the
// shift is taken for a use of uninitialised memory: GCC bug 105593.)
ROPEWALK_BY_CPU inline __m512 even_of(__m512i twos) {
  return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(0xffff, twos, 16));
}
ROPEWALK_BY_CPU inline __m512 odd_of(__m512i twos) {
  return _mm512_castsi512_ps(
      _mm512_and_si512(twos, _mm512_set1_epi32(static_cast<int>(0xffff0000u))));
}

// The upper half is then the nearest bf16, ties to even: the dot product adds 0x7fff, and 1 where that
// half is odd. The low half of a NaN that came of bf16 or of arithmetic is 0, so nothing carries.
ROPEWALK_BY_CPU inline __m512i rounded_up(__m512 value) {
  constexpr int kPickOrFill = 0xea;  // (first & second) | third
  const __m512i bits = _mm512_castps_si512(value);
  const __m512i added = _mm512_ternarylogic_epi32(bits, _mm512_set1_epi32(0x10000),
                                                  _mm512_set1_epi32(0x7fff), kPickOrFill);
  return _mm512_dpwssd_epi32(bits, added, _mm512_set1_epi16(1));
}

// even[0] odd[0] even[1] odd[1] ...
ROPEWALK_BY_CPU inline __m512i twos_of(__m512 even, __m512 odd) {
  const __m512i upper_bytes = _mm512_set4_epi32(0x0f0e0f0e, 0x0b0a0b0a, 0x07060706, 0x03020302);
  return _mm512_mask_shuffle_epi8(rounded_up(odd), 0x3333333333333333, rounded_up(even),
                                  upper_bytes);
}

template <Writing kWriting>
ROPEWALK_BY_CPU inline void write(__m512i value, Bf16* to) {
  if constexpr (kWriting == Writing::kPastCaches) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), value);
  } else {
    _mm512_storeu_si512(to, value);
  }
}

ROPEWALK_BY_CPU inline void ask_for(const Bf16* line) {
  _mm_prefetch(reinterpret_cast<const char*>(line), _MM_HINT_T0);
}

ROPEWALK_BY_CPU inline __m512 sines(const float* from, bool backwards) {
  const __m512i sign = _mm512_set1_epi32(backwards ? static_cast<int>(0x80000000u) : 0);
  return _mm512_castsi512_ps(_mm512_xor_si512(_mm512_loadu_si512(from), sign));
}

// Each second one of 32 floats, from the first or the second on.
ROPEWALK_BY_CPU inline __m512 each_second(__m512 first, __m512 next, int from) {
  const __m512i counted =
      _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  return _mm512_permutex2var_ps(first, _mm512_add_epi32(counted, _mm512_set1_epi32(from)), next);
}

ROPEWALK_BY_CPU inline void turn(__m512& x, __m512& y, __m512 cos, __m512 sin) {
  const __m512 turned = _mm512_fnmadd_ps(y, sin, _mm512_mul_ps(x, cos));
  y = _mm512_fmadd_ps(x, sin, _mm512_mul_ps(y, cos));
  x = turned;
}

// kVectors of 32 pairs.
template <Writing kWriting, int kVectors>
ROPEWALK_BY_CPU void halves(const TokenHeads<Bf16>& heads, int64_t pair, int64_t half) {
  __m512 cos_even[kVectors], cos_odd[kVectors], sin_even[kVectors], sin_odd[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    const float* const cos = heads.cos + pair + v * 2 * kLanes;
    const float* const sin = heads.sin + pair + v * 2 * kLanes;
    const __m512 cos0 = _mm512_loadu_ps(cos), cos1 = _mm512_loadu_ps(cos + kLanes);
    const __m512 sin0 = sines(sin, heads.backwards), sin1 = sines(sin + kLanes, heads.backwards);
    cos_even[v] = each_second(cos0, cos1, 0);
    cos_odd[v] = each_second(cos0, cos1, 1);
    sin_even[v] = each_second(sin0, sin1, 0);
    sin_odd[v] = each_second(sin0, sin1, 1);
  }
  const Bf16* in = heads.in + pair;
  Bf16* out = heads.out + pair;
  const int64_t count = heads.count, in_stride = heads.in_stride, out_stride = heads.out_stride;
  const Bf16* ahead = heads.ahead + pair;
  for (int64_t h = 0; h < count; ++h) {
    for (int v = 0; v < kVectors; ++v) {
      const __m512i first = _mm512_loadu_si512(in + v * 2 * kLanes);
      const __m512i second = _mm512_loadu_si512(in + half + v * 2 * kLanes);
      __m512 x_even = even_of(first), x_odd = odd_of(first);
      __m512 y_even = even_of(second), y_odd = odd_of(second);
      turn(x_even, y_even, cos_even[v], sin_even[v]);
      turn(x_odd, y_odd, cos_odd[v], sin_odd[v]);
      ask_for(ahead + v * 2 * kLanes);
      ask_for(ahead + half + v * 2 * kLanes);
      write<kWriting>(twos_of(x_even, x_odd), out + v * 2 * kLanes);
      write<kWriting>(twos_of(y_even, y_odd), out + half + v * 2 * kLanes);
    }
    in += in_stride;
    out += out_stride;
    ahead += heads.ahead_stride;
  }
}

// kVectors of 16 pairs.
template <Writing kWriting, int kVectors>
ROPEWALK_BY_CPU void beside(const TokenHeads<Bf16>& heads, int64_t pair) {
  __m512 cos[kVectors], sin[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    cos[v] = _mm512_loadu_ps(heads.cos + pair + v * kLanes);
    sin[v] = sines(heads.sin + pair + v * kLanes, heads.backwards);
  }
  const Bf16* in = heads.in + 2 * pair;
  Bf16* out = heads.out + 2 * pair;
  const int64_t count = heads.count, in_stride = heads.in_stride, out_stride = heads.out_stride;
  const Bf16* ahead = heads.ahead + 2 * pair;
  for (int64_t h = 0; h < count; ++h) {
    for (int v = 0; v < kVectors; ++v) {
      const __m512i twos = _mm512_loadu_si512(in + v * 2 * kLanes);
      __m512 x = even_of(twos), y = odd_of(twos);
      turn(x, y, cos[v], sin[v]);
      ask_for(ahead + v * 2 * kLanes);
      write<kWriting>(twos_of(x, y), out + v * 2 * kLanes);
    }
    in += in_stride;
    out += out_stride;
    ahead += heads.ahead_stride;
  }
}

template <Writing kWriting>
int64_t all_halves(const TokenHeads<Bf16>& heads, int64_t n_pairs) {
  int64_t pair = 0;
  for (; pair + 4 * kLanes <= n_pairs; pair += 4 * kLanes) {
    halves<kWriting, 2>(heads, pair, n_pairs);
  }
  for (; pair + 2 * kLanes <= n_pairs; pair += 2 * kLanes) {
    halves<kWriting, 1>(heads, pair, n_pairs);
  }
  return pair;
}

template <Writing kWriting>
int64_t all_beside(const TokenHeads<Bf16>& heads, int64_t n_pairs) {
  int64_t pair = 0;
  for (; pair + 4 * kLanes <= n_pairs; pair += 4 * kLanes) beside<kWriting, 4>(heads, pair);
  for (; pair + 2 * kLanes <= n_pairs; pair += 2 * kLanes) beside<kWriting, 2>(heads, pair);
  for (; pair + kLanes <= n_pairs; pair += kLanes) beside<kWriting, 1>(heads, pair);
  return pair;
}

}  // namespace

int64_t turn_halves_by_cpu(const TokenHeads<Bf16>& heads, int64_t n_pairs,
                           Writing writing) noexcept {
  if (!has_vnni()) return 0;
  switch (writing) {
    case Writing::kInPlace:
      return all_halves<Writing::kInPlace>(heads, n_pairs);
    case Writing::kApart:
      return all_halves<Writing::kApart>(heads, n_pairs);
    case Writing::kPastCaches:
      return all_halves<Writing::kPastCaches>(heads, n_pairs);
  }
  return 0;
}

int64_t turn_beside_by_cpu(const TokenHeads<Bf16>& heads, int64_t n_pairs,
                           Writing writing) noexcept {
  if (!has_vnni()) return 0;
  switch (writing) {
    case Writing::kInPlace:
      return all_beside<Writing::kInPlace>(heads, n_pairs);
    case Writing::kApart:
      return all_beside<Writing::kApart>(heads, n_pairs);
    case Writing::kPastCaches:
      return all_beside<Writing::kPastCaches>(heads, n_pairs);
  }
  return 0;
}

}  // namespace ropewalk

#else

namespace ropewalk {

int64_t turn_halves_by_cpu(const TokenHeads<Bf16>&, int64_t, Writing) noexcept { return 0; }
int64_t turn_beside_by_cpu(const TokenHeads<Bf16>&, int64_t, Writing) noexcept { return 0; }

}  // namespace ropewalk

#endif
