// The forward pass of every family of causal decoders, as a blueprint says.
#ifndef ROPEWALK_ENGINE_TRANSFORMER_H_
#define ROPEWALK_ENGINE_TRANSFORMER_H_

#include <memory>

#include "ropewalk/engine/blueprint.h"
#include "ropewalk/engine/decoder.h"
#include "ropewalk/engine/weights.h"

namespace ropewalk {

// Reads all weights.
//   config   of the file: which layers rotate
//   source   must outlive the result
//   holding  of its matrices
// Throws Error naming the tensor that is missing, misshapen, of a type that is not decoded, or of no
// use.
std::unique_ptr<Decoder> make_transformer(const Blueprint& blueprint, const ModelConfig& config,
                                          const TensorSource& source, Precision precision,
                                          Holding holding = Holding::kPacked);

}  // namespace ropewalk

#endif  // ROPEWALK_ENGINE_TRANSFORMER_H_
