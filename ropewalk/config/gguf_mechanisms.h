// Positions of a GGUF file that are not rotation.
#ifndef ROPEWALK_CONFIG_GGUF_MECHANISMS_H_
#define ROPEWALK_CONFIG_GGUF_MECHANISMS_H_

#include <cstdint>
#include <vector>

#include "ropewalk/config/gguf_architectures.h"
#include "ropewalk/config/gguf_report.h"
#include "ropewalk/formats/gguf.h"

namespace ropewalk {

struct GgufMechanismSizes {
  int64_t n_heads = 0;         // 0: the file does not tell
  int64_t context_length = 0;  // 0: the file does not tell
};

// Tables, ALiBi, relative buckets, token types: empty where the architecture has none of them.
// Throws Error naming the key.
//   keys  those of `file`; the ones read are marked
std::vector<PositionMechanism> read_gguf_mechanisms(const GgufFile& file, GgufKeys& keys,
                                                    const GgufArchitecture& architecture,
                                                    const GgufMechanismSizes& sizes,
                                                    GgufReport& report);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_GGUF_MECHANISMS_H_
