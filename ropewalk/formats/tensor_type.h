// The element types of stored tensors, and their way to float32.
#ifndef ROPEWALK_FORMATS_TENSOR_TYPE_H_
#define ROPEWALK_FORMATS_TENSOR_TYPE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace ropewalk {

// Every type that GGUF or safetensors name. is_decodable() says which have their values read; the
// rest can be listed and copied, and is refused by name when its values are asked for.
enum class TensorType : uint8_t {
  kF32,
  kF16,
  kBF16,
  kQ8_0,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ6_K,
  kF64,
  kI8,
  kI16,
  kI32,
  kI64,
  kU8,
  kU16,
  kU32,
  kU64,
  kBool,
  kF8E4M3,
  kF8E5M2,
  kQ8_1,
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ8_K,
  kIQ2_XXS,
  kIQ2_XS,
  kIQ3_XXS,
  kIQ1_S,
  kIQ4_NL,
  kIQ3_S,
  kIQ2_S,
  kIQ4_XS,
  kIQ1_M,
  kTQ1_0,
  kTQ2_0,
  kMXFP4,
  kNVFP4,
  kQ1_0,
  // A type this build has never heard of: its size is not known either.
  kUnknown,
};

// The name the format's own tools print: "Q4_0", "BF16"; "unknown" for kUnknown.
std::string_view type_name(TensorType type);

// Elements that are stored together; 1 for plain types. Zero only for kUnknown.
size_t block_elements(TensorType type);

// Bytes of one such block. Zero only for kUnknown.
size_t block_bytes(TensorType type);

// Whether dequantize() takes it.
bool is_decodable(TensorType type);

// The type with this number in ggml's `enum ggml_type`; kUnknown for retired and future numbers.
TensorType type_from_ggml(uint32_t id);

// The type with this name in a safetensors header ("F32", "BF16", "I64"); kUnknown for others.
TensorType type_from_safetensors(std::string_view dtype);

// Decodes a run of whole blocks: bit for bit what ggml's reference decoders give. F64 is rounded to
// nearest, past the range to infinity.
//   source  exactly out.size() / block_elements(type) * block_bytes(type) bytes, any alignment
//   out     a multiple of block_elements(type) floats
// Throws Error naming the type when it is not decodable. Sizes are the caller's contract.
void dequantize(TensorType type, std::span<const std::byte> source, std::span<float> out);

// A block whose scale or minimum is infinite or no number, so that its values are not either.
struct BadScale {
  size_t block = 0;  // counted from the start of the run
  float value = 0;   // NaN or infinity
};

// The first one in a run of whole blocks; nothing for types without scales. 255 is the one E8M0
// scale of MXFP4 that is no number.
//   source  a multiple of block_bytes(type) bytes, any alignment
std::optional<BadScale> find_bad_scale(TensorType type, std::span<const std::byte> source);

}  // namespace ropewalk

#endif  // ROPEWALK_FORMATS_TENSOR_TYPE_H_
