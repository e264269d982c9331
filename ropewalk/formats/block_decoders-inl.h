// How ggml's block formats become floats; tensor_type.cc has the table of them, which with
// mxfp4_apart.cc alone includes this. Source: ggml/src/ggml-common.h and the reference decoders in
// ggml-quants.c; for MXFP4 the OCP Microscaling Formats (MX) specification 1.0.
//
// Each decoder takes one block, at any address, and gives its elements bit for bit as the reference
// decoders of ggml and of the gguf package do: one rounding for each product and each sum, in their
// order. Infinite scales and NaN go through as arithmetic has it. Inner loops have a fixed length
// and no branch, so that compilers vectorise them.
#ifndef ROPEWALK_FORMATS_BLOCK_DECODERS_INL_H_
#define ROPEWALK_FORMATS_BLOCK_DECODERS_INL_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "ropewalk/base/half.h"

namespace ropewalk::block_decoders {

static_assert(std::endian::native == std::endian::little, "both formats are little endian");

inline float half_at(const uint8_t* source) {
  F16 half;
  std::memcpy(&half.bits, source, sizeof(half.bits));
  return to_float(half);
}

// ---- plain blocks. A 4-bit block keeps element i in the low nibble of byte i and element i + 16
// in the high one.

inline void decode_q8_0(const uint8_t* __restrict block, float* __restrict out) {
  const float scale = half_at(block);
  const uint8_t* const quants = block + 2;
  for (size_t i = 0; i < 32; ++i) {
    out[i] = static_cast<float>(static_cast<int8_t>(quants[i])) * scale;
  }
}

inline void decode_q4_0(const uint8_t* __restrict block, float* __restrict out) {
  const float scale = half_at(block);
  const uint8_t* const quants = block + 2;
  for (int i = 0; i < 16; ++i) out[i] = static_cast<float>((quants[i] & 15) - 8) * scale;
  for (int i = 0; i < 16; ++i) out[i + 16] = static_cast<float>((quants[i] >> 4) - 8) * scale;
}

inline void decode_q4_1(const uint8_t* __restrict block, float* __restrict out) {
  const float scale = half_at(block);
  const float minimum = half_at(block + 2);
  const uint8_t* const quants = block + 4;
  for (int i = 0; i < 16; ++i) out[i] = static_cast<float>(quants[i] & 15) * scale + minimum;
  for (int i = 0; i < 16; ++i) out[i + 16] = static_cast<float>(quants[i] >> 4) * scale + minimum;
}

// The fifth bit of element i is bit i of a 32-bit word: 16 or 0 for each element.
inline std::array<uint8_t, 32> fifth_bits_at(const uint8_t* source) {
  std::array<uint8_t, 32> fifth;
  for (size_t i = 0; i < 4; ++i) {
    // Eight copies of the byte, of which copy k keeps bit k; adding 127 carries it to bit 7.
    const uint64_t kept = source[i] * 0x0101010101010101u & 0x8040201008040201u;
    const uint64_t spread = (kept + 0x7f7f7f7f7f7f7f7fu) >> 3 & 0x1010101010101010u;
    std::memcpy(fifth.data() + 8 * i, &spread, sizeof(spread));
  }
  return fifth;
}

inline void decode_q5_0(const uint8_t* __restrict block, float* __restrict out) {
  const float scale = half_at(block);
  const std::array<uint8_t, 32> fifth = fifth_bits_at(block + 2);
  const uint8_t* const quants = block + 6;
  for (size_t i = 0; i < 16; ++i) {
    out[i] = static_cast<float>(((quants[i] & 15) | fifth[i]) - 16) * scale;
  }
  for (size_t i = 0; i < 16; ++i) {
    out[i + 16] = static_cast<float>(((quants[i] >> 4) | fifth[i + 16]) - 16) * scale;
  }
}

inline void decode_q5_1(const uint8_t* __restrict block, float* __restrict out) {
  const float scale = half_at(block);
  const float minimum = half_at(block + 2);
  const std::array<uint8_t, 32> fifth = fifth_bits_at(block + 4);
  const uint8_t* const quants = block + 8;
  for (size_t i = 0; i < 16; ++i) {
    out[i] = static_cast<float>((quants[i] & 15) | fifth[i]) * scale + minimum;
  }
  for (size_t i = 0; i < 16; ++i) {
    out[i + 16] = static_cast<float>((quants[i] >> 4) | fifth[i + 16]) * scale + minimum;
  }
}

// ---- super-blocks of 256: small integers scale groups of 16 or 32, an f16 scales those.

// 84 bytes: 16 bytes of a 4-bit scale (low) and a 4-bit minimum (high) for each group of 16, quants
// of 2 bits (64), f16 for the scales, f16 for the minima. Each half of 128 elements has 32 bytes of
// quants: element 32 s + c is bits 2s and 2s + 1 of byte c.
inline void decode_q2_k(const uint8_t* __restrict block, float* __restrict out) {
  const float scale = half_at(block + 80);
  const float minimum = half_at(block + 82);
  for (size_t group = 0; group < 16; ++group) {
    const uint8_t* const quants = block + 16 + 32 * (group / 8) + 16 * (group % 2);
    const size_t shift = group / 2 % 4 * 2;
    const float group_scale = scale * static_cast<float>(block[group] & 15);
    const float group_minimum = minimum * static_cast<float>(block[group] >> 4);
    float* const to = out + 16 * group;
    for (int i = 0; i < 16; ++i) {
      to[i] = group_scale * static_cast<float>((quants[i] >> shift) & 3) - group_minimum;
    }
  }
}

// 110 bytes: a third bit for each element (32), quants of 2 bits (64, as in Q2_K), scales of 6 bits
// less 32 (12), f16. Element 32 s + c has its third bit in bit s of byte c: clear means less 4.
// Scale g has its low four bits in byte g mod 8, low nibble for g < 8, and its upper two in byte
// 8 + g mod 4 from bit 2 (g / 4) on.
inline void decode_q3_k(const uint8_t* __restrict block, float* __restrict out) {
  const float scale = half_at(block + 108);
  const uint8_t* const scales = block + 96;
  for (size_t group = 0; group < 16; ++group) {
    const size_t strip = group / 2;
    const uint8_t* const quants = block + 32 + 32 * (group / 8) + 16 * (group % 2);
    const uint8_t* const third = block + 16 * (group % 2);
    const int low = (scales[group % 8] >> (group / 8 * 4)) & 15;
    const int upper = (scales[8 + group % 4] >> (group / 4 * 2)) & 3;
    const float group_scale = scale * static_cast<float>((low | upper << 4) - 32);
    const size_t shift = strip % 4 * 2;
    float* const to = out + 16 * group;
    for (int i = 0; i < 16; ++i) {
      const int bits = ((quants[i] >> shift) & 3) | ((third[i] >> strip) & 1) << 2;
      to[i] = group_scale * static_cast<float>(bits - 4);
    }
  }
}

// The scale and minimum of group 0 to 7, 6 bits each, of 12 bytes: groups 0 to 3 have theirs in the
// low six bits of bytes g and g + 4; groups 4 to 7 have four low bits in byte g + 4 (scale low,
// minimum high) and the upper two in the top bits of bytes g - 4 and g.
struct GroupScale {
  float scale;
  float minimum;
};
inline GroupScale group_scale_at(const uint8_t* packed, size_t group) {
  if (group < 4) {
    return {static_cast<float>(packed[group] & 63), static_cast<float>(packed[group + 4] & 63)};
  }
  const int scale = (packed[group + 4] & 15) | (packed[group - 4] >> 6) << 4;
  const int minimum = packed[group + 4] >> 4 | (packed[group] >> 6) << 4;
  return {static_cast<float>(scale), static_cast<float>(minimum)};
}

// f16 for the scales, f16 for the minima, scales (12), then of Q5_K fifth bits (32), nibbles (128):
// 144 or 176 bytes. Groups 2k and 2k + 1 of 32 are the low and the high nibbles of the same 32 bytes;
// element c of group g has its fifth bit in bit g of byte c.
template <bool kFifth>
inline void decode_four_bit_k(const uint8_t* __restrict block, float* __restrict out) {
  const float scale = half_at(block);
  const float minimum = half_at(block + 2);
  const uint8_t* const fifth = block + 16;
  const uint8_t* const nibbles = fifth + (kFifth ? 32 : 0);
  for (size_t group = 0; group < 8; ++group) {
    const GroupScale of_group = group_scale_at(block + 4, group);
    const float group_scale = scale * of_group.scale;
    const float group_minimum = minimum * of_group.minimum;
    const uint8_t* const quants = nibbles + 32 * (group / 2);
    const size_t shift = group % 2 * 4;
    float* const to = out + 32 * group;
    for (size_t i = 0; i < 32; ++i) {
      int bits = (quants[i] >> shift) & 15;
      if constexpr (kFifth) bits |= ((fifth[i] >> group) & 1) << 4;
      to[i] = group_scale * static_cast<float>(bits) - group_minimum;
    }
  }
}
inline void decode_q4_k(const uint8_t* __restrict block, float* __restrict out) {
  decode_four_bit_k<false>(block, out);
}
inline void decode_q5_k(const uint8_t* __restrict block, float* __restrict out) {
  decode_four_bit_k<true>(block, out);
}

// 210 bytes: low nibbles (128), upper two bits (64), int8 scales of 16 elements (16), f16.
// Each half of 128 elements is four strips of 32: strips 0 and 1 take the low nibbles of its 64
// bytes, 2 and 3 the high ones; strip s takes bits 2s and 2s + 1 of its 32 upper bytes.
inline void decode_q6_k(const uint8_t* __restrict block, float* __restrict out) {
  const float scale = half_at(block + 208);
  for (size_t half = 0; half < 2; ++half) {
    const uint8_t* const low = block + 64 * half;
    const uint8_t* const upper = block + 128 + 32 * half;
    const uint8_t* const scales = block + 192 + 8 * half;
    for (size_t group = 0; group < 8; ++group) {
      const size_t strip = group / 2;
      const size_t column = 16 * (group % 2);
      const uint8_t* const nibbles = low + 32 * (strip % 2) + column;
      const uint8_t* const upper_bits = upper + column;
      const size_t shift = strip / 2 * 4;
      const float group_scale = scale * static_cast<float>(static_cast<int8_t>(scales[group]));
      float* const to = out + 128 * half + 16 * group;
      for (int i = 0; i < 16; ++i) {
        const int bits = ((nibbles[i] >> shift) & 15) | ((upper_bits[i] >> (2 * strip)) & 3) << 4;
        to[i] = group_scale * static_cast<float>(bits - 32);
      }
    }
  }
}

// ---- nibbles that are places in a table, laid out as in a 4-bit block

using NibbleTable = std::array<float, 16>;

inline constexpr NibbleTable kIq4Values = {-127, -104, -83, -65, -49, -35, -22, -10,
                                           1,    13,   25,  38,  53,  69,  89,  113};

// E2M1, doubled; its minus zero is given as zero.
inline constexpr NibbleTable kE2m1Doubled = {0, 1,  2,  3,  4,  6,  8,  12,
                                             0, -1, -2, -3, -4, -6, -8, -12};

inline void look_up_nibbles(const uint8_t* __restrict quants, const NibbleTable& values,
                            float scale, float* __restrict out) {
  for (int i = 0; i < 16; ++i) {
    out[i] = scale * values[quants[i] & 15];
    out[i + 16] = scale * values[quants[i] >> 4];
  }
}

inline void decode_iq4_nl(const uint8_t* __restrict block, float* __restrict out) {
  look_up_nibbles(block + 2, kIq4Values, half_at(block), out);
}

// 136 bytes: f16, the upper two bits of eight scales (2), their low four (4), nibbles (128).
inline void decode_iq4_xs(const uint8_t* __restrict block, float* __restrict out) {
  const float scale = half_at(block);
  for (size_t group = 0; group < 8; ++group) {
    const int low = (block[4 + group / 2] >> (group % 2 * 4)) & 15;
    const int upper = (block[2 + group / 4] >> (group % 4 * 2)) & 3;
    const float group_scale = scale * static_cast<float>((low | upper << 4) - 32);
    look_up_nibbles(block + 8 + 16 * group, kIq4Values, group_scale, out + 32 * group);
  }
}

// Half of 2^(stored - 127), for values that are doubled; the two smallest are subnormal.
inline float half_of_e8m0(uint8_t stored) {
  const uint32_t exponent = stored;
  return std::bit_cast<float>(exponent < 2 ? 0x00200000u << exponent : (exponent - 1) << 23);
}

inline void decode_mxfp4(const uint8_t* __restrict block, float* __restrict out) {
  look_up_nibbles(block + 1, kE2m1Doubled, half_of_e8m0(block[0]), out);
}

// ---- plain numbers: runs of them

// As to_float, in the form that vectorises: both cases are computed, a mask takes one. Arithmetic
// that may trap is left in its branch otherwise.
inline uint32_t widen_half(uint16_t bits) {
  const uint32_t mantissa = bits & 0x3ffu;
  const uint32_t exponent = (bits >> 10) & 0x1fu;
  const float subnormal = static_cast<float>(static_cast<int32_t>(mantissa)) * 0x1p-24f;
  const uint32_t wide = exponent + (exponent == 31 ? 224u : 112u);
  const uint32_t normal = wide << 23 | mantissa << 13;
  const uint32_t is_normal = exponent != 0 ? ~0u : 0u;
  const uint32_t magnitude =
      (normal & is_normal) | (std::bit_cast<uint32_t>(subnormal) & ~is_normal);
  return magnitude | static_cast<uint32_t>(bits & 0x8000u) << 16;
}

inline void decode_f16(const uint8_t* __restrict source, size_t count, float* __restrict out) {
  for (size_t i = 0; i < count; ++i) {
    uint16_t bits;
    std::memcpy(&bits, source + i * sizeof(bits), sizeof(bits));
    out[i] = std::bit_cast<float>(widen_half(bits));
  }
}

inline void decode_bf16(const uint8_t* __restrict source, size_t count, float* __restrict out) {
  for (size_t i = 0; i < count; ++i) {
    Bf16 stored;
    std::memcpy(&stored.bits, source + i * sizeof(stored.bits), sizeof(stored.bits));
    out[i] = to_float(stored);
  }
}

inline void decode_f32(const uint8_t* source, size_t count, float* out) {
  if (count != 0) std::memcpy(out, source, count * sizeof(float));
}

// Rounded to nearest; past the range becomes infinity.
inline void decode_f64(const uint8_t* __restrict source, size_t count, float* __restrict out) {
  for (size_t i = 0; i < count; ++i) {
    double stored;
    std::memcpy(&stored, source + i * sizeof(stored), sizeof(stored));
    out[i] = static_cast<float>(stored);
  }
}

}  // namespace ropewalk::block_decoders

#endif  // ROPEWALK_FORMATS_BLOCK_DECODERS_INL_H_
