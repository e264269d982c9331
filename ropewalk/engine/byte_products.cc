// Written with intrinsics: the Highway that is installed (1.0.3) has no dot product of bytes.
#include "ropewalk/engine/byte_products.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <cstring>

// GCC 12 warns of its own headers' undefined vectors (GCC bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#define ROPEWALK_BYTE_PRODUCTS \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")))

namespace ropewalk {
namespace {

constexpr int64_t kVector = 64;     // bytes: four whole numbers of each row
constexpr int64_t kHalves = 32;     // bytes of one half of each row
constexpr size_t kPrefetch = 4096;  // bytes ahead

// The activations of one block of weights.
struct Block {
  const int8_t* high;
  const int8_t* low;
  const float* scales;
  const int32_t* sums;
};

// The sums of whole numbers of one run of inputs, row by row; four chains, so that none waits.
struct Sums {
  __m512i high[2];
  __m512i low[2];
};

ROPEWALK_BYTE_PRODUCTS inline __m512i load(const uint8_t* from) { return _mm512_loadu_si512(from); }

ROPEWALK_BYTE_PRODUCTS inline __m512 halves(const uint8_t* from) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}

// Sixteen bytes, one of each row.
ROPEWALK_BYTE_PRODUCTS inline __m128i bytes(const uint8_t* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

ROPEWALK_BYTE_PRODUCTS inline __m512i four(const int8_t* x) {
  int32_t word;
  std::memcpy(&word, x, sizeof(word));
  return _mm512_set1_epi32(word);
}

ROPEWALK_BYTE_PRODUCTS inline void clear(Sums& sums) {
  for (int chain = 0; chain < 2; ++chain)
    sums.high[chain] = sums.low[chain] = _mm512_setzero_si512();
}

// Adds the products of four weights of each row, none negative, with inputs k to k + 3.
ROPEWALK_BYTE_PRODUCTS inline void add(Sums& sums, int64_t chain, __m512i weights, const Block& x,
                                       int64_t k) {
  sums.high[chain] = _mm512_dpbusd_epi32(sums.high[chain], weights, four(x.high + k));
  sums.low[chain] = _mm512_dpbusd_epi32(sums.low[chain], weights, four(x.low + k));
}

ROPEWALK_BYTE_PRODUCTS inline __m512i whole(const Sums& sums) {
  const __m512i high = _mm512_add_epi32(sums.high[0], sums.high[1]);
  const __m512i low = _mm512_add_epi32(sums.low[0], sums.low[1]);
  return _mm512_add_epi32(_mm512_maskz_slli_epi32(0xffff, high, 8), low);
}

ROPEWALK_BYTE_PRODUCTS inline __m512i lower(__m512i both) {
  return _mm512_and_si512(both, _mm512_set1_epi8(15));
}
ROPEWALK_BYTE_PRODUCTS inline __m512i upper(__m512i both) {
  return lower(_mm512_maskz_srli_epi16(0xffffffff, both, 4));
}

// Thirty-two inputs from k on: the lower halves of sixteen bytes, then the upper halves.
ROPEWALK_BYTE_PRODUCTS inline __m512i nibble_block(const uint8_t* words, const Block& x) {
  Sums sums;
  clear(sums);
  for (int64_t v = 0; v < 4; ++v) {
    const __m512i both = load(words + v * kVector);
    add(sums, 0, lower(both), x, 4 * v);
    add(sums, 1, upper(both), x, 16 + 4 * v);
  }
  return whole(sums);
}

ROPEWALK_BYTE_PRODUCTS inline int32_t sum_of(const Block& x, int64_t block) {
  return x.sums[2 * block] + x.sums[2 * block + 1];
}

// y += weight_scale * x_scale * (numbers - offset)
ROPEWALK_BYTE_PRODUCTS inline __m512 accumulate(__m512 y, __m512 weight_scale, float x_scale,
                                                __m512i numbers, int32_t offset) {
  const __m512 exact = _mm512_cvtepi32_ps(_mm512_sub_epi32(numbers, _mm512_set1_epi32(offset)));
  return _mm512_fmadd_ps(_mm512_mul_ps(weight_scale, _mm512_set1_ps(x_scale)), exact, y);
}

struct Q4_0 {
  static constexpr int64_t kElements = 32, kBytes = 18;
  ROPEWALK_BYTE_PRODUCTS static inline __m512 add_to(__m512 y, const uint8_t* from,
                                                     const Block& x) {
    return accumulate(y, halves(from), x.scales[0], nibble_block(from + kHalves, x),
                      8 * sum_of(x, 0));
  }
};

struct Q4_1 {
  static constexpr int64_t kElements = 32, kBytes = 20;
  ROPEWALK_BYTE_PRODUCTS static inline __m512 add_to(__m512 y, const uint8_t* from,
                                                     const Block& x) {
    const __m512 minimum = halves(from + kHalves);
    const float sum = x.scales[0] * static_cast<float>(sum_of(x, 0));
    y = accumulate(y, halves(from), x.scales[0], nibble_block(from + 2 * kHalves, x), 0);
    return _mm512_fmadd_ps(minimum, _mm512_set1_ps(sum), y);
  }
};

// A dot product wants one side without signs: 128 is added to every weight.
struct Q8_0 {
  static constexpr int64_t kElements = 32, kBytes = 34;
  ROPEWALK_BYTE_PRODUCTS static inline __m512 add_to(__m512 y, const uint8_t* from,
                                                     const Block& x) {
    const __m512i sign = _mm512_set1_epi8(static_cast<char>(0x80));
    Sums sums;
    clear(sums);
    for (int64_t v = 0; v < 8; ++v) {
      const __m512i weights = _mm512_xor_si512(load(from + kHalves + v * kVector), sign);
      add(sums, v % 2, weights, x, 4 * v);
    }
    return accumulate(y, halves(from), x.scales[0], whole(sums), 128 * sum_of(x, 0));
  }
};

// Eight runs of 32 inputs with a scale and a minimum of six bits each: those of the first four in the
// low bits of bytes 0-3 and 4-7; of the last four, four bits in bytes 8-11, two above the others.
struct Q4_K {
  static constexpr int64_t kElements = 256, kBytes = 144;
  ROPEWALK_BYTE_PRODUCTS static inline __m512 add_to(__m512 y, const uint8_t* from,
                                                     const Block& x) {
    const __m512 scale = halves(from), minimum = halves(from + kHalves);
    const uint8_t* const packed = from + 2 * kHalves;
    const uint8_t* const words = packed + 12 * 16;
    for (int64_t pair = 0; pair < 4; ++pair) {
      Sums first, second;
      clear(first);
      clear(second);
      const Block own{x.high + 64 * pair, x.low + 64 * pair, x.scales, x.sums};
      for (int64_t v = 0; v < 8; ++v) {
        const __m512i both = load(words + (8 * pair + v) * kVector);
        add(first, v % 2, lower(both), own, 4 * v);
        add(second, v % 2, upper(both), own, 32 + 4 * v);
      }
      y = add_run(y, scale, minimum, packed, 2 * pair, whole(first), x);
      y = add_run(y, scale, minimum, packed, 2 * pair + 1, whole(second), x);
    }
    return y;
  }

 private:
  ROPEWALK_BYTE_PRODUCTS static inline __m512 add_run(__m512 y, __m512 scale, __m512 minimum,
                                                      const uint8_t* packed, int64_t run,
                                                      __m512i numbers, const Block& x) {
    const float sum = x.scales[run] * static_cast<float>(sum_of(x, run));
    y = accumulate(y, _mm512_mul_ps(scale, six_bits(packed, run, 0)), x.scales[run], numbers, 0);
    const __m512 least = _mm512_mul_ps(minimum, six_bits(packed, run, 4));
    return _mm512_fnmadd_ps(least, _mm512_set1_ps(sum), y);
  }

  //   which  0: the scale, 4: the minimum
  ROPEWALK_BYTE_PRODUCTS static inline __m512 six_bits(const uint8_t* packed, int64_t run,
                                                       int64_t which) {
    const __m128i six = _mm_set1_epi8(63), nibble = _mm_set1_epi8(15), top = _mm_set1_epi8(48);
    __m128i value;
    if (run < 4) {
      value = _mm_and_si128(bytes(packed + (run + which) * 16), six);
    } else {
      const __m128i both = bytes(packed + (run + 4) * 16);
      const __m128i above = bytes(packed + (run - 4 + which) * 16);
      const __m128i low = _mm_and_si128(which == 0 ? both : _mm_srli_epi16(both, 4), nibble);
      value = _mm_or_si128(low, _mm_and_si128(_mm_srli_epi16(above, 2), top));
    }
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(value));
  }
};

// Two halves of 128 inputs; of each four runs of 32: low bits in the lower and upper halves of 64
// bytes, two high bits in 32 bytes. Sixteen inputs share a signed scale; 32 is taken from each number.
struct Q6_K {
  static constexpr int64_t kElements = 256, kBytes = 210;
  ROPEWALK_BYTE_PRODUCTS static inline __m512 add_to(__m512 y, const uint8_t* from,
                                                     const Block& x) {
    const uint8_t* const high = from + 32 * kVector;
    const uint8_t* const scales = high + 16 * kVector;
    const __m512 scale = halves(scales + 16 * 16);
    for (int64_t n = 0; n < 2; ++n) {
      for (int64_t part = 0; part < 8; ++part) {  // sixteen bytes of the low bits' 64 are two parts
        const int64_t quarter = part / 2, words = 16 * n + 8 * (quarter % 2) + 4 * (part % 2);
        const int64_t first = 128 * n + 32 * quarter + 16 * (part % 2);
        Sums sums;
        clear(sums);
        const Block own{x.high + first, x.low + first, x.scales, x.sums};
        for (int64_t v = 0; v < 4; ++v) {
          const __m512i low = load(from + (words + v) * kVector);
          const __m512i two = load(high + (8 * n + 4 * (part % 2) + v) * kVector);
          add(sums, v % 2, six_bits(low, two, static_cast<unsigned>(quarter)), own, 4 * v);
        }
        const __m512 own_scale =
            _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes(scales + (first / 16) * 16)));
        y = accumulate(y, _mm512_mul_ps(scale, own_scale), x.scales[first / 32], whole(sums),
                       32 * x.sums[first / 16]);
      }
    }
    return y;
  }

 private:
  ROPEWALK_BYTE_PRODUCTS static inline __m512i six_bits(__m512i low, __m512i two,
                                                        unsigned quarter) {
    const __m512i four_bits = quarter < 2 ? lower(low) : upper(low);
    const __m512i shifted = quarter == 3
                                ? _mm512_maskz_srli_epi16(0xffffffff, two, 2)
                                : _mm512_maskz_slli_epi16(0xffffffff, two, 4 - 2 * quarter);
    return _mm512_or_si512(four_bits, _mm512_and_si512(shifted, _mm512_set1_epi8(48)));
  }
};

template <class Type>
ROPEWALK_BYTE_PRODUCTS void multiply(const uint8_t* group, int64_t blocks, const ByteActivations& x,
                                     float* y) {
  __m512 sum = _mm512_setzero_ps();
  for (int64_t b = 0; b < blocks; ++b) {
    const int64_t first = b * Type::kElements;
    const Block block{x.high.data() + first, x.low.data() + first, x.scales.data() + first / 32,
                      x.sums.data() + first / 16};
    for (int64_t at = 0; at < 16 * Type::kBytes; at += kVector)
      _mm_prefetch(reinterpret_cast<const char*>(group) + at + kPrefetch, _MM_HINT_T0);
    sum = Type::add_to(sum, group, block);
    group += 16 * Type::kBytes;
  }
  _mm512_storeu_ps(y, sum);
}

}  // namespace

bool has_byte_products() {
  static const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") &&
                          __builtin_cpu_supports("avx512vl") &&
                          __builtin_cpu_supports("avx512vnni");
  return has;
}

void multiply_group(TensorType type, const uint8_t* group, int64_t blocks, const ByteActivations& x,
                    float* y) {
  switch (type) {
    case TensorType::kQ4_0:
      return multiply<Q4_0>(group, blocks, x, y);
    case TensorType::kQ4_1:
      return multiply<Q4_1>(group, blocks, x, y);
    case TensorType::kQ8_0:
      return multiply<Q8_0>(group, blocks, x, y);
    case TensorType::kQ4_K:
      return multiply<Q4_K>(group, blocks, x, y);
    case TensorType::kQ6_K:
      return multiply<Q6_K>(group, blocks, x, y);
    default:
      return;
  }
}

}  // namespace ropewalk

#else

namespace ropewalk {

bool has_byte_products() { return false; }
void multiply_group(TensorType, const uint8_t*, int64_t, const ByteActivations&, float*) {}

}  // namespace ropewalk

#endif
