// The tokenizer's part of a GGUF file, as the tokenizer takes it.
#ifndef ROPEWALK_ENGINE_VOCABULARY_H_
#define ROPEWALK_ENGINE_VOCABULARY_H_

#include "ropewalk/formats/gguf_metadata.h"
#include "ropewalk/text/tokenizer.h"

namespace ropewalk {

// Copies the keys tokenizer.ggml.*; judges nothing but their types. Throws Error naming a key of
// the wrong type, or tokenizer.ggml.model or .tokens where they are missing.
Vocabulary read_vocabulary(const GgufMetadata& metadata);

}  // namespace ropewalk

#endif  // ROPEWALK_ENGINE_VOCABULARY_H_
