// StableLM 1 and 2: Llama with LayerNorm; the model of 12 B has both halves beside each other and norms
// for each head. Source: transformers, modeling_stablelm.py.
#include "ropewalk/engine/arch/families.h"

namespace ropewalk {

Blueprint describe_stablelm(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = plain_blueprint("StableLM", config);
  blueprint.norm = NormKind::kLayer;
  blueprint.parallel = keys.flag("use_parallel_residual", "use_parallel_residual").value_or(false);
  blueprint.qk_norm = Presence::kIfThere;
  return blueprint;
}

}  // namespace ropewalk
