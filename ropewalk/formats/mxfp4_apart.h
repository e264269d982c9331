// MXFP4 as safetensors hold it: elements and scales in tensors of their own. Source: gpt-oss as
// published, and the OCP Microscaling Formats (MX) specification 1.0.
#ifndef ROPEWALK_FORMATS_MXFP4_APART_H_
#define ROPEWALK_FORMATS_MXFP4_APART_H_

#include <cstddef>
#include <span>

namespace ropewalk {

inline constexpr size_t kMxfp4Elements = 32;  // that share a scale
inline constexpr size_t kMxfp4Bytes = 16;     // of so many elements, without the scale

// What the two tensors' names end with.
inline constexpr const char* kMxfp4Blocks = "_blocks";
inline constexpr const char* kMxfp4Scales = "_scales";

// Exact: E2M1 values times 2^(scale - 127).
//   blocks  (out.size() / 2), element 2k in the low nibble of byte k, 2k + 1 in the high one
//   scales  (out.size() / kMxfp4Elements), E8M0, none of them 255, which is no number
//   out     a multiple of kMxfp4Elements floats
void decode_mxfp4_apart(std::span<const std::byte> blocks, std::span<const std::byte> scales,
                        std::span<float> out);

}  // namespace ropewalk

#endif  // ROPEWALK_FORMATS_MXFP4_APART_H_
