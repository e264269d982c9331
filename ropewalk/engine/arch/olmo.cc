// OLMo: LayerNorm without weights, q, k and v clipped. OLMo 2 and 3: norms behind each half alone, and
// over all of q and k. Source: Groeneveld et al. 2024, arXiv 2402.00838; OLMo Team 2024, 2501.00656.
#include "ropewalk/engine/arch/families.h"

namespace ropewalk {

Blueprint describe_olmo(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = plain_blueprint("OLMo", config);
  blueprint.norm = NormKind::kLayer;
  blueprint.bare_norms = true;
  blueprint.clip = static_cast<float>(keys.number("attention.clamp_kqv", "clip_qkv").value_or(0));
  take_hf(blueprint, keys);
  return blueprint;
}

Blueprint describe_olmo2(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = plain_blueprint("OLMo 2", config);
  blueprint.attention_norm = blueprint.ffn_norm = "";
  blueprint.attention_post_norm = "post_attention_norm";
  blueprint.ffn_post_norm = "post_ffw_norm";
  blueprint.qk_norm = Presence::kAlways;
  blueprint.qk_norm_whole = true;
  take_hf(blueprint, keys, norms_behind());
  return blueprint;
}

}  // namespace ropewalk
