// GPT-NeoX and Pythia: LayerNorm, biases, both halves beside each other with a norm each. Source: Black
// et al. 2022, arXiv 2204.06745.
#include "ropewalk/engine/arch/families.h"

namespace ropewalk {

Blueprint describe_gpt_neox(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = plain_blueprint("GPT-NeoX", config);
  blueprint.norm = NormKind::kLayer;
  blueprint.gated = false;
  blueprint.parallel = keys.flag("use_parallel_residual", "use_parallel_residual").value_or(true);
  blueprint.activation = Activation::kGelu;
  return blueprint;
}

}  // namespace ropewalk
