// Source of names, numbers and sizes: ggml/include/ggml.h and ggml/src/ggml-common.h; safetensors'
// dtypes: its README.
#include "ropewalk/formats/tensor_type.h"

#include <array>
#include <cassert>
#include <cmath>
#include <limits>
#include <string>

#include "ropewalk/base/error.h"
#include "ropewalk/base/half.h"
#include "ropewalk/formats/block_decoders-inl.h"

namespace ropewalk {
namespace {

namespace bd = block_decoders;

constexpr int kNoGgml = -1;

// Where the scales and minima of a block are: `count` of them in a row, from byte `first` on.
struct Scales {
  enum Kind : uint8_t { kF16, kE8M0 };
  size_t first = 0;
  size_t count = 0;
  Kind kind = kF16;
};

// A run of whole blocks.
using DecodeRun = void (*)(const uint8_t* source, size_t blocks, float* out);

// All that is known of a type.
struct TypeRow {
  TensorType type;
  std::string_view name;         // GGUF's name where it has one
  int ggml;                      // number in enum ggml_type, or kNoGgml
  std::string_view safetensors;  // dtype, or empty
  size_t elements;
  size_t bytes;
  DecodeRun decode = nullptr;  // null: known by name and size alone
  Scales scales = {};
};

template <size_t kElements, size_t kBytes, void (*kDecodeBlock)(const uint8_t*, float*)>
void decode_run(const uint8_t* source, size_t blocks, float* out) {
  for (size_t i = 0; i < blocks; ++i) kDecodeBlock(source + i * kBytes, out + i * kElements);
}

template <size_t kElements, size_t kBytes, void (*kDecodeBlock)(const uint8_t*, float*)>
constexpr TypeRow block_row(TensorType type, std::string_view name, int ggml, Scales scales) {
  return {type,  name, ggml, "", kElements, kBytes, decode_run<kElements, kBytes, kDecodeBlock>,
          scales};
}

// In the order of the enumerators.
constexpr std::array kTypes = {
    TypeRow{TensorType::kF32, "F32", 0, "F32", 1, 4, bd::decode_f32},
    TypeRow{TensorType::kF16, "F16", 1, "F16", 1, 2, bd::decode_f16},
    TypeRow{TensorType::kBF16, "BF16", 30, "BF16", 1, 2, bd::decode_bf16},
    block_row<32, 34, bd::decode_q8_0>(TensorType::kQ8_0, "Q8_0", 8, {0, 1}),
    block_row<32, 18, bd::decode_q4_0>(TensorType::kQ4_0, "Q4_0", 2, {0, 1}),
    block_row<32, 20, bd::decode_q4_1>(TensorType::kQ4_1, "Q4_1", 3, {0, 2}),
    block_row<32, 22, bd::decode_q5_0>(TensorType::kQ5_0, "Q5_0", 6, {0, 1}),
    block_row<32, 24, bd::decode_q5_1>(TensorType::kQ5_1, "Q5_1", 7, {0, 2}),
    block_row<256, 210, bd::decode_q6_k>(TensorType::kQ6_K, "Q6_K", 14, {208, 1}),
    TypeRow{TensorType::kF64, "F64", 28, "F64", 1, 8, bd::decode_f64},
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
    block_row<256, 84, bd::decode_q2_k>(TensorType::kQ2_K, "Q2_K", 10, {80, 2}),
    block_row<256, 110, bd::decode_q3_k>(TensorType::kQ3_K, "Q3_K", 11, {108, 1}),
    block_row<256, 144, bd::decode_q4_k>(TensorType::kQ4_K, "Q4_K", 12, {0, 2}),
    block_row<256, 176, bd::decode_q5_k>(TensorType::kQ5_K, "Q5_K", 13, {0, 2}),
    TypeRow{TensorType::kQ8_K, "Q8_K", 15, "", 256, 292},
    TypeRow{TensorType::kIQ2_XXS, "IQ2_XXS", 16, "", 256, 66},
    TypeRow{TensorType::kIQ2_XS, "IQ2_XS", 17, "", 256, 74},
    TypeRow{TensorType::kIQ3_XXS, "IQ3_XXS", 18, "", 256, 98},
    TypeRow{TensorType::kIQ1_S, "IQ1_S", 19, "", 256, 50},
    block_row<32, 18, bd::decode_iq4_nl>(TensorType::kIQ4_NL, "IQ4_NL", 20, {0, 1}),
    TypeRow{TensorType::kIQ3_S, "IQ3_S", 21, "", 256, 110},
    TypeRow{TensorType::kIQ2_S, "IQ2_S", 22, "", 256, 82},
    block_row<256, 136, bd::decode_iq4_xs>(TensorType::kIQ4_XS, "IQ4_XS", 23, {0, 1}),
    TypeRow{TensorType::kIQ1_M, "IQ1_M", 29, "", 256, 56},
    TypeRow{TensorType::kTQ1_0, "TQ1_0", 34, "", 256, 54},
    TypeRow{TensorType::kTQ2_0, "TQ2_0", 35, "", 256, 66},
    block_row<32, 17, bd::decode_mxfp4>(TensorType::kMXFP4, "MXFP4", 39, {0, 1, Scales::kE8M0}),
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

std::string decodable_names() {
  std::string names;
  for (const TypeRow& row : kTypes) {
    if (row.decode == nullptr) continue;
    if (!names.empty()) names += ", ";
    names += row.name;
  }
  return names;
}

// 1 stands for any finite E8M0 scale: those are powers of two, and 255 is no number.
float scale_at(Scales::Kind kind, const uint8_t* first, size_t index) {
  if (kind == Scales::kE8M0) {
    return first[index] == 255 ? std::numeric_limits<float>::quiet_NaN() : 1.0F;
  }
  return bd::half_at(first + index * sizeof(F16));
}

}  // namespace

std::string_view type_name(TensorType type) { return row_of(type).name; }

size_t block_elements(TensorType type) { return row_of(type).elements; }

size_t block_bytes(TensorType type) { return row_of(type).bytes; }

bool is_decodable(TensorType type) { return row_of(type).decode != nullptr; }

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
  if (row.decode == nullptr) {
    throw Error("tensor type", "must be one of " + decodable_names(), std::string(row.name))
        .of(FaultKind::kBadType);
  }
  assert(out.size() % row.elements == 0);
  assert(source.size() == out.size() / row.elements * row.bytes);
  row.decode(reinterpret_cast<const uint8_t*>(source.data()), out.size() / row.elements,
             out.data());
}

std::optional<BadScale> find_bad_scale(TensorType type, std::span<const std::byte> source) {
  const TypeRow& row = row_of(type);
  if (row.scales.count == 0) return std::nullopt;
  assert(source.size() % row.bytes == 0);
  const auto* const bytes = reinterpret_cast<const uint8_t*>(source.data());
  const size_t blocks = source.size() / row.bytes;
  for (size_t block = 0; block < blocks; ++block) {
    const uint8_t* const first = bytes + block * row.bytes + row.scales.first;
    for (size_t i = 0; i < row.scales.count; ++i) {
      const float scale = scale_at(row.scales.kind, first, i);
      if (!std::isfinite(scale)) return BadScale{block, scale};
    }
  }
  return std::nullopt;
}

}  // namespace ropewalk
