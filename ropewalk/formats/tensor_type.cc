// Block formats. Source: ggml/src/ggml-common.h and the reference decoders in ggml-quants.c.
#include "ropewalk/formats/tensor_type.h"

#include <array>
#include <bit>
#include <cassert>
#include <cstring>
#include <string>

#include "ropewalk/base/error.h"
#include "ropewalk/base/half.h"

namespace ropewalk {
namespace {

static_assert(std::endian::native == std::endian::little, "both formats are little endian");

constexpr int kNoGgml = -1;

struct TypeRow {
  TensorType type;
  std::string_view name;         // GGUF's name where it has one
  int ggml;                      // number in enum ggml_type, or kNoGgml
  std::string_view safetensors;  // dtype, or empty
  size_t elements;
  size_t bytes;
};

// In the order of the enumerators.
constexpr std::array kTypes = {
    TypeRow{TensorType::kF32, "F32", 0, "F32", 1, 4},
    TypeRow{TensorType::kF16, "F16", 1, "F16", 1, 2},
    TypeRow{TensorType::kBF16, "BF16", 30, "BF16", 1, 2},
    TypeRow{TensorType::kQ8_0, "Q8_0", 8, "", 32, 34},
    TypeRow{TensorType::kQ4_0, "Q4_0", 2, "", 32, 18},
    TypeRow{TensorType::kQ4_1, "Q4_1", 3, "", 32, 20},
    TypeRow{TensorType::kQ5_0, "Q5_0", 6, "", 32, 22},
    TypeRow{TensorType::kQ5_1, "Q5_1", 7, "", 32, 24},
    TypeRow{TensorType::kQ6_K, "Q6_K", 14, "", 256, 210},
    TypeRow{TensorType::kF64, "F64", 28, "F64", 1, 8},
    TypeRow{TensorType::kI8, "I8", 24, "I8", 1, 1},
    TypeRow{TensorType::kI16, "I16", 25, "I16", 1, 2},
    TypeRow{TensorType::kI32, "I32", 26, "I32", 1, 4},
    TypeRow{TensorType::kI64, "I64", 27, "I64", 1, 8},
    TypeRow{TensorType::kU8, "U8", kNoGgml, "U8", 1, 1},
    TypeRow{TensorType::kU16, "U16", kNoGgml, "U16", 1, 2},
    TypeRow{TensorType::kU32, "U32", kNoGgml, "U32", 1, 4},
    TypeRow{TensorType::kU64, "U64", kNoGgml, "U64", 1, 8},
    TypeRow{TensorType::kBool, "BOOL", kNoGgml, "BOOL", 1, 1},
    TypeRow{TensorType::kF8E4M3, "F8_E4M3", kNoGgml, "F8_E4M3", 1, 1},
    TypeRow{TensorType::kF8E5M2, "F8_E5M2", kNoGgml, "F8_E5M2", 1, 1},
    TypeRow{TensorType::kQ8_1, "Q8_1", 9, "", 32, 40},
    TypeRow{TensorType::kQ2_K, "Q2_K", 10, "", 256, 84},
    TypeRow{TensorType::kQ3_K, "Q3_K", 11, "", 256, 110},
    TypeRow{TensorType::kQ4_K, "Q4_K", 12, "", 256, 144},
    TypeRow{TensorType::kQ5_K, "Q5_K", 13, "", 256, 176},
    TypeRow{TensorType::kQ8_K, "Q8_K", 15, "", 256, 292},
    TypeRow{TensorType::kIQ2_XXS, "IQ2_XXS", 16, "", 256, 66},
    TypeRow{TensorType::kIQ2_XS, "IQ2_XS", 17, "", 256, 74},
    TypeRow{TensorType::kIQ3_XXS, "IQ3_XXS", 18, "", 256, 98},
    TypeRow{TensorType::kIQ1_S, "IQ1_S", 19, "", 256, 50},
    TypeRow{TensorType::kIQ4_NL, "IQ4_NL", 20, "", 32, 18},
    TypeRow{TensorType::kIQ3_S, "IQ3_S", 21, "", 256, 110},
    TypeRow{TensorType::kIQ2_S, "IQ2_S", 22, "", 256, 82},
    TypeRow{TensorType::kIQ4_XS, "IQ4_XS", 23, "", 256, 136},
    TypeRow{TensorType::kIQ1_M, "IQ1_M", 29, "", 256, 56},
    TypeRow{TensorType::kTQ1_0, "TQ1_0", 34, "", 256, 54},
    TypeRow{TensorType::kTQ2_0, "TQ2_0", 35, "", 256, 66},
    TypeRow{TensorType::kMXFP4, "MXFP4", 39, "", 32, 17},
    TypeRow{TensorType::kNVFP4, "NVFP4", 40, "", 64, 36},
    TypeRow{TensorType::kQ1_0, "Q1_0", 41, "", 128, 18},
    TypeRow{TensorType::kUnknown, "unknown", kNoGgml, "", 0, 0},
};

constexpr bool rows_match_enumerators() {
  for (size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i].type != static_cast<TensorType>(i)) return false;
  }
  return kTypes.size() == static_cast<size_t>(TensorType::kUnknown) + 1;
}
static_assert(rows_match_enumerators());

const TypeRow& row_of(TensorType type) { return kTypes[static_cast<size_t>(type)]; }

float half_at(const uint8_t* source) {
  F16 half;
  std::memcpy(&half.bits, source, sizeof(half.bits));
  return to_float(half);
}

// Each decoder below takes one block: block_bytes(type) bytes to block_elements(type) floats.
// A 4-bit block keeps element i in the low nibble of byte i and element i + 16 in the high one.

void decode_q8_0(const uint8_t* block, float* out) {
  const float scale = half_at(block);
  const uint8_t* const quants = block + 2;
  for (int i = 0; i < 32; ++i) out[i] = static_cast<float>(static_cast<int8_t>(quants[i])) * scale;
}

void decode_q4_0(const uint8_t* block, float* out) {
  const float scale = half_at(block);
  const uint8_t* const quants = block + 2;
  for (int i = 0; i < 16; ++i) out[i] = static_cast<float>((quants[i] & 15) - 8) * scale;
  for (int i = 0; i < 16; ++i) out[i + 16] = static_cast<float>((quants[i] >> 4) - 8) * scale;
}

void decode_q4_1(const uint8_t* block, float* out) {
  const float scale = half_at(block);
  const float minimum = half_at(block + 2);
  const uint8_t* const quants = block + 4;
  for (int i = 0; i < 16; ++i) out[i] = static_cast<float>(quants[i] & 15) * scale + minimum;
  for (int i = 0; i < 16; ++i) out[i + 16] = static_cast<float>(quants[i] >> 4) * scale + minimum;
}

// The fifth bit of element i is bit i of a 32-bit word.
uint32_t fifth_bits_at(const uint8_t* source) {
  uint32_t bits = 0;
  std::memcpy(&bits, source, sizeof(bits));
  return bits;
}

int five_bits(uint32_t nibble, uint32_t fifth, int element) {
  return static_cast<int>(nibble | (((fifth >> element) & 1u) << 4));
}

void decode_q5_0(const uint8_t* block, float* out) {
  const float scale = half_at(block);
  const uint32_t fifth = fifth_bits_at(block + 2);
  const uint8_t* const quants = block + 6;
  for (int i = 0; i < 16; ++i) {
    out[i] = static_cast<float>(five_bits(quants[i] & 15u, fifth, i) - 16) * scale;
    out[i + 16] = static_cast<float>(five_bits(quants[i] >> 4, fifth, i + 16) - 16) * scale;
  }
}

void decode_q5_1(const uint8_t* block, float* out) {
  const float scale = half_at(block);
  const float minimum = half_at(block + 2);
  const uint32_t fifth = fifth_bits_at(block + 4);
  const uint8_t* const quants = block + 8;
  for (int i = 0; i < 16; ++i) {
    out[i] = static_cast<float>(five_bits(quants[i] & 15u, fifth, i)) * scale + minimum;
    out[i + 16] = static_cast<float>(five_bits(quants[i] >> 4, fifth, i + 16)) * scale + minimum;
  }
}

// 256 elements: low nibbles (128 bytes), upper two bits (64), int8 scales of 16 elements (16), f16.
// Each half of 128 elements is four strips of 32: strips 0 and 1 take the low nibbles of its 64
// bytes, 2 and 3 the high ones; strip s takes bits 2s and 2s + 1 of its 32 upper bytes.
void decode_q6_k(const uint8_t* block, float* out) {
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
      const int nibble_shift = strip < 2 ? 0 : 4;
      const float group_scale = scale * static_cast<float>(static_cast<int8_t>(scales[group]));
      float* const to = out + 128 * half + 16 * group;
      for (int i = 0; i < 16; ++i) {
        const int nibble = (nibbles[i] >> nibble_shift) & 15;
        const int bits = nibble | (((upper_bits[i] >> (2 * strip)) & 3) << 4);
        to[i] = group_scale * static_cast<float>(bits - 32);
      }
    }
  }
}

template <typename DecodeBlock>
void decode_blocks(const TypeRow& row, const uint8_t* source, std::span<float> out,
                   DecodeBlock decode_block) {
  const size_t blocks = out.size() / row.elements;
  for (size_t i = 0; i < blocks; ++i) {
    decode_block(source + i * row.bytes, out.data() + i * row.elements);
  }
}

template <typename Half>
void decode_halves(const uint8_t* source, std::span<float> out) {
  for (size_t i = 0; i < out.size(); ++i) {
    Half half;
    std::memcpy(&half.bits, source + i * sizeof(half.bits), sizeof(half.bits));
    out[i] = to_float(half);
  }
}

}  // namespace

std::string_view type_name(TensorType type) { return row_of(type).name; }

size_t block_elements(TensorType type) { return row_of(type).elements; }

size_t block_bytes(TensorType type) { return row_of(type).bytes; }

bool is_decodable(TensorType type) { return type <= TensorType::kQ6_K; }

TensorType type_from_ggml(uint32_t id) {
  for (const TypeRow& row : kTypes) {
    if (row.ggml != kNoGgml && static_cast<uint32_t>(row.ggml) == id) return row.type;
  }
  return TensorType::kUnknown;
}

TensorType type_from_safetensors(std::string_view dtype) {
  for (const TypeRow& row : kTypes) {
    if (!row.safetensors.empty() && row.safetensors == dtype) return row.type;
  }
  return TensorType::kUnknown;
}

void dequantize(TensorType type, std::span<const std::byte> source, std::span<float> out) {
  const TypeRow& row = row_of(type);
  if (!is_decodable(type)) {
    throw Error("tensor type", "must be one of F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q6_K",
                std::string(row.name));
  }
  assert(out.size() % row.elements == 0);
  assert(source.size() == out.size() / row.elements * row.bytes);
  const auto* const bytes = reinterpret_cast<const uint8_t*>(source.data());
  switch (type) {
    case TensorType::kF32:
      if (!out.empty()) std::memcpy(out.data(), bytes, out.size_bytes());
      return;
    case TensorType::kF16:
      return decode_halves<F16>(bytes, out);
    case TensorType::kBF16:
      return decode_halves<Bf16>(bytes, out);
    case TensorType::kQ8_0:
      return decode_blocks(row, bytes, out, decode_q8_0);
    case TensorType::kQ4_0:
      return decode_blocks(row, bytes, out, decode_q4_0);
    case TensorType::kQ4_1:
      return decode_blocks(row, bytes, out, decode_q4_1);
    case TensorType::kQ5_0:
      return decode_blocks(row, bytes, out, decode_q5_0);
    case TensorType::kQ5_1:
      return decode_blocks(row, bytes, out, decode_q5_1);
    case TensorType::kQ6_K:
      return decode_blocks(row, bytes, out, decode_q6_k);
    default:
      return;  // refused above
  }
}

}  // namespace ropewalk
