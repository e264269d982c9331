// Phi-2: LayerNorm once, both halves beside each other, biases everywhere. Phi-3, 3.5 and 4-mini: Llama
// with q, k, v and gate, up in one tensor each. Source: transformers, modeling_phi.py; Abdin et al.
// 2024, arXiv 2404.14219.
#include "ropewalk/engine/arch/families.h"

namespace ropewalk {

Blueprint describe_phi2(const ModelConfig& config, const ModelKeys&) {
  Blueprint blueprint = plain_blueprint("Phi-2", config);
  blueprint.norm = NormKind::kLayer;
  blueprint.gated = false;
  blueprint.parallel = true;
  blueprint.activation = Activation::kGeluTanh;
  return blueprint;
}

Blueprint describe_phi3(const ModelConfig& config, const ModelKeys&) {
  Blueprint blueprint = plain_blueprint("Phi-3", config);
  return blueprint;
}

}  // namespace ropewalk
