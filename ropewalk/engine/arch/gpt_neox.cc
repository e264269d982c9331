// GPT-NeoX and Pythia: LayerNorm, biases, both halves beside each other with a norm each. Source: Black
// et al. 2022, arXiv 2204.06745.
#include "ropewalk/engine/arch/families.h"

namespace ropewalk {

Blueprint describe_gpt_neox(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = plain_blueprint("GPT-NeoX", config);
  blueprint.norm = NormKind::kLayer;
  blueprint.gated = false;
  blueprint.parallel = keys.flag("use_parallel_residual", "use_parallel_residual").value_or(true);
  blueprint.activation = declared_activation(keys, Activation::kGelu);
  if (keys.is_gguf()) return blueprint;
  blueprint.names = {
      .layer = "gpt_neox.layers.",
      .renames = {{"token_embd", "gpt_neox.embed_in"},
                  {"output_norm", "gpt_neox.final_layer_norm"},
                  {"output", "embed_out"},
                  {"attn_norm", "input_layernorm"},
                  {"attn_qkv", "attention.query_key_value", dealt_heads(config.shape)},
                  {"attn_output", "attention.dense"},
                  {"ffn_norm", "post_attention_layernorm"},
                  {"ffn_up", "mlp.dense_h_to_4h"},
                  {"ffn_down", "mlp.dense_4h_to_h"}},
      .root = "gpt_neox.",
      .ignored = {".attention.bias", ".attention.masked_bias"}};
  return blueprint;
}

}  // namespace ropewalk
