// GPT-2: LayerNorm before each half, biases, a learned row for each position. Source: Radford et al.
// 2019, "Language Models are Unsupervised Multitask Learners".
#include "ropewalk/engine/arch/families.h"

namespace ropewalk {

Blueprint describe_gpt2(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = plain_blueprint("GPT-2", config);
  blueprint.norm = NormKind::kLayer;
  blueprint.gated = false;
  blueprint.activation = Activation::kGeluTanh;
  if (keys.is_gguf()) return blueprint;
  blueprint.activation = declared_activation(keys, Activation::kGeluTanh);
  require_flag(keys, "scale_attn_by_inverse_layer_idx", false);
  require_flag(keys, "add_cross_attention", false);
  if (!keys.flag("scale_attn_weights").value_or(true)) blueprint.score_scale = 1;
  const Storage turned = {.transposed = true};
  blueprint.names = {.layer = "transformer.h.",
                     .renames = {{"token_embd", "transformer.wte"},
                                 {"position_embd", "transformer.wpe"},
                                 {"output_norm", "transformer.ln_f"},
                                 {"output", "lm_head"},
                                 {"attn_norm", "ln_1"},
                                 {"attn_qkv", "attn.c_attn", turned},
                                 {"attn_output", "attn.c_proj", turned},
                                 {"ffn_norm", "ln_2"},
                                 {"ffn_up", "mlp.c_fc", turned},
                                 {"ffn_down", "mlp.c_proj", turned}},
                     .root = "transformer.",
                     .ignored = {".attn.bias", ".attn.masked_bias"}};
  return blueprint;
}

// GPT-J: no second norm, both halves beside each other, part of a head rotated. Source: Wang,
// Komatsuzaki 2021, github.com/kingoflolz/mesh-transformer-jax.
Blueprint describe_gptj(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = plain_blueprint("GPT-J", config);
  blueprint.norm = NormKind::kLayer;
  blueprint.gated = false;
  blueprint.parallel = true;
  blueprint.activation = declared_activation(keys, Activation::kGeluTanh);
  blueprint.names = {.layer = "transformer.h.",
                     .renames = {{"token_embd", "transformer.wte"},
                                 {"output_norm", "transformer.ln_f"},
                                 {"output", "lm_head"},
                                 {"attn_norm", "ln_1"},
                                 {"attn_q", "attn.q_proj"},
                                 {"attn_k", "attn.k_proj"},
                                 {"attn_v", "attn.v_proj"},
                                 {"attn_output", "attn.out_proj"},
                                 {"ffn_norm", "ln_2"},
                                 {"ffn_up", "mlp.fc_in"},
                                 {"ffn_down", "mlp.fc_out"}},
                     .root = "transformer.",
                     .ignored = {".attn.bias", ".attn.masked_bias"}};
  return blueprint;
}

// OPT: learned positions, of which the first two rows are no position's. Source: Zhang et al. 2022,
// arXiv 2205.01068. The model of 350 M has its norms behind each half and a narrow embedding.
Blueprint describe_opt(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = plain_blueprint("OPT", config);
  blueprint.norm = NormKind::kLayer;
  blueprint.gated = false;
  blueprint.activation = declared_activation(keys, Activation::kRelu);
  require_flag(keys, "do_layer_norm_before", true);
  require_flag(keys, "_remove_final_layer_norm", false);
  blueprint.names = {.layer = "model.decoder.layers.",
                     .renames = {{"token_embd", "model.decoder.embed_tokens"},
                                 {"position_embd", "model.decoder.embed_positions"},
                                 {"output_norm", "model.decoder.final_layer_norm"},
                                 {"output", "lm_head"},
                                 {"attn_norm", "self_attn_layer_norm"},
                                 {"attn_q", "self_attn.q_proj"},
                                 {"attn_k", "self_attn.k_proj"},
                                 {"attn_v", "self_attn.v_proj"},
                                 {"attn_output", "self_attn.out_proj"},
                                 {"ffn_norm", "final_layer_norm"},
                                 {"ffn_up", "fc1"},
                                 {"ffn_down", "fc2"}},
                     .root = "model."};
  return blueprint;
}

}  // namespace ropewalk
