// Phi-2: LayerNorm once, both halves beside each other, biases everywhere. Phi-3, 3.5 and 4-mini: Llama
// with q, k, v and gate, up in one tensor each. Source: transformers, modeling_phi.py; Abdin et al.
// 2024, arXiv 2404.14219.
#include "ropewalk/engine/arch/families.h"

namespace ropewalk {

Blueprint describe_phi2(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = plain_blueprint("Phi-2", config);
  blueprint.norm = NormKind::kLayer;
  blueprint.gated = false;
  blueprint.parallel = true;
  blueprint.activation = Activation::kGeluTanh;
  if (!keys.is_gguf()) blueprint.qk_norm = Presence::kIfThere;
  take_hf(blueprint, keys,
          {{"output_norm", "model.final_layernorm"},
           {"attn_q_norm", "self_attn.q_layernorm"},
           {"attn_k_norm", "self_attn.k_layernorm"},
           {"attn_output", "self_attn.dense"},
           {"ffn_up", "mlp.fc1"},
           {"ffn_down", "mlp.fc2"}});
  return blueprint;
}

Blueprint describe_phi3(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = plain_blueprint("Phi-3", config);
  take_hf(blueprint, keys, {{"attn_qkv", "self_attn.qkv_proj"}, {"ffn_up", "mlp.gate_up_proj"}});
  return blueprint;
}

}  // namespace ropewalk
