// The Llama family: RMSNorm before each half, rotary attention with grouped keys, SwiGLU, no
// biases. Source: Touvron et al. 2023, arXiv 2302.13971 and 2307.09288; grouped keys: Ainslie et
// al. 2023, arXiv 2305.13245.
#ifndef ROPEWALK_ENGINE_ARCH_LLAMA_H_
#define ROPEWALK_ENGINE_ARCH_LLAMA_H_

#include <memory>

#include "ropewalk/engine/decoder.h"

namespace ropewalk {

// Reads all weights, named as GGUF or as Hugging Face names them.
// Throws Error naming the tensor that is missing, misshapen, or of a type that is not decoded.
std::unique_ptr<Decoder> load_llama(const ModelConfig& config, const TensorSource& source,
                                    bool is_gguf, Precision precision);

}  // namespace ropewalk

#endif  // ROPEWALK_ENGINE_ARCH_LLAMA_H_
