// EXAONE 4: norms behind each half alone, and for q and k of each head. Source: LG AI Research 2025,
// arXiv 2507.11407.
#include "ropewalk/engine/arch/families.h"

namespace ropewalk {

Blueprint describe_exaone4(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = plain_blueprint("EXAONE 4", config);
  blueprint.attention_norm = blueprint.ffn_norm = "";
  blueprint.attention_post_norm = "post_attention_norm";
  blueprint.ffn_post_norm = "post_ffw_norm";
  blueprint.qk_norm = Presence::kAlways;
  take_hf(blueprint, keys, norms_behind());
  return blueprint;
}

}  // namespace ropewalk
