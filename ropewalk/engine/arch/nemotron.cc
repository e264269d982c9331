// Nemotron: LayerNorm whose weights are stored less 1, squared ReLU, part of a head rotated. Source:
// Parmar et al. 2024, arXiv 2402.16819.
#include "ropewalk/engine/arch/families.h"

namespace ropewalk {

Blueprint describe_nemotron(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = plain_blueprint("Nemotron", config);
  blueprint.norm = NormKind::kLayer;
  blueprint.gated = false;
  blueprint.activation = Activation::kReluSquared;
  if (!keys.is_gguf()) blueprint.norm_offset = 1;  // the converter adds it
  take_hf(blueprint, keys);
  return blueprint;
}

}  // namespace ropewalk
