// GPT-2: LayerNorm before each half, biases, a learned row for each position. Source: Radford et al.
// 2019, "Language Models are Unsupervised Multitask Learners".
#include "ropewalk/engine/arch/families.h"

namespace ropewalk {

Blueprint describe_gpt2(const ModelConfig& config, const ModelKeys&) {
  Blueprint blueprint = plain_blueprint("GPT-2", config);
  blueprint.norm = NormKind::kLayer;
  blueprint.gated = false;
  blueprint.activation = Activation::kGeluTanh;
  return blueprint;
}

}  // namespace ropewalk
