// Command-R and its second generation: LayerNorm without bias, both halves beside each other, norms
// for each head (R+), logits scaled. Source: transformers, modeling_cohere.py and modeling_cohere2.py.
#include "ropewalk/engine/arch/families.h"

namespace ropewalk {

Blueprint describe_command_r(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = plain_blueprint("Command-R", config);
  blueprint.norm = NormKind::kLayer;
  blueprint.parallel = true;
  // A config.json may leave out what is as in the class.
  const double of_class = keys.is_gguf() ? 1 : 0.0625;
  blueprint.logit_scale =
      static_cast<float>(keys.number("logit_scale", "logit_scale").value_or(of_class));
  blueprint.qk_norm = Presence::kIfThere;
  take_hf(blueprint, keys);
  return blueprint;
}

}  // namespace ropewalk
