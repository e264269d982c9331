// The rotary positions of a GGUF file, as llama.cpp makes them.
#ifndef ROPEWALK_CONFIG_GGUF_ROPE_H_
#define ROPEWALK_CONFIG_GGUF_ROPE_H_

#include <cstdint>

#include "ropewalk/config/declared_rotary.h"
#include "ropewalk/config/gguf_architectures.h"
#include "ropewalk/config/gguf_keys.h"
#include "ropewalk/formats/gguf.h"

namespace ropewalk {

struct GgufRopeSizes {
  int64_t head_dim = 0;        // >= 1
  int64_t context_length = 0;  // >= 1
};

// Reads the rope keys and the tensors with frequency factors. Throws Error naming key or tensor.
//   keys          those of `file`; the ones read are marked
//   architecture  rotary
DeclaredRope read_gguf_rope(const GgufFile& file, GgufKeys& keys,
                            const GgufArchitecture& architecture, const GgufRopeSizes& sizes);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_GGUF_ROPE_H_
