// StableLM 1 and 2: Llama with LayerNorm; the model of 12 B has both halves beside each other and norms
// for each head. Source: transformers, modeling_stablelm.py.
#include "ropewalk/engine/arch/families.h"

namespace ropewalk {

Blueprint describe_stablelm(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = plain_blueprint("StableLM", config);
  blueprint.norm = NormKind::kLayer;
  blueprint.parallel = keys.flag("use_parallel_residual", "use_parallel_residual").value_or(false);
  blueprint.qk_norm = Presence::kIfThere;
  const auto heads = [](int64_t count) { return Storage{.tensors = count, .matrices = count}; };
  take_hf(blueprint, keys,
          {{"attn_q_norm", "self_attn.q_layernorm.norms.{}", heads(config.shape.n_heads)},
           {"attn_k_norm", "self_attn.k_layernorm.norms.{}", heads(config.shape.n_kv_heads)}});
  return blueprint;
}

}  // namespace ropewalk
