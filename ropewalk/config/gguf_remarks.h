// What is worth saying of a GGUF file as a whole, once its positions are known.
#ifndef ROPEWALK_CONFIG_GGUF_REMARKS_H_
#define ROPEWALK_CONFIG_GGUF_REMARKS_H_

#include <cstdint>

#include "ropewalk/config/gguf_architectures.h"
#include "ropewalk/config/gguf_keys.h"
#include "ropewalk/config/model_config.h"
#include "ropewalk/formats/gguf.h"

namespace ropewalk {

// Throws Error where the file is a later part of a split model, which holds no keys of positions,
// and where the keys of the split are none: split.no beyond split.count, or one of them negative.
void refuse_later_part(const GgufFile& file);

// Sets the usable length, and adds findings: parts of a split model; lengths that do not fit each
// other or the model's name; frequency factors that a model of its kind has; keys that nobody reads.
//   keys            those of `file`, with what was read of them
//   context_length  0: the file does not tell
//   config          complete but for that
void add_gguf_remarks(const GgufFile& file, GgufKeys& keys, const GgufArchitecture& architecture,
                      int64_t context_length, ModelConfig& config);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_GGUF_REMARKS_H_
