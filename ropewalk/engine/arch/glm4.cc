// GLM-4: norms on both sides of each half, half of a head rotated. Source: transformers,
// modeling_glm4.py.
#include "ropewalk/engine/arch/families.h"

namespace ropewalk {

Blueprint describe_glm4(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = plain_blueprint("GLM-4", config);
  blueprint.attention_post_norm = "post_attention_norm";
  blueprint.ffn_post_norm = "post_ffw_norm";
  take_hf(blueprint, keys,
          {{"post_attention_norm", "post_self_attn_layernorm"},
           {"post_ffw_norm", "post_mlp_layernorm"},
           {"ffn_up", "mlp.gate_up_proj"}});
  return blueprint;
}

}  // namespace ropewalk
