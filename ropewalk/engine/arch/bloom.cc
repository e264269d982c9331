// BLOOM, MPT: ALiBi. Falcon: both halves beside each other, few heads of keys. Source: BigScience 2022,
// arXiv 2211.05100; MosaicML 2023, "MPT-7B"; Almazrouei et al. 2023, arXiv 2311.16867.
#include <cmath>

#include "ropewalk/engine/arch/families.h"

namespace ropewalk {

Blueprint describe_bloom(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = plain_blueprint("BLOOM", config);
  blueprint.norm = NormKind::kLayer;
  blueprint.gated = false;
  blueprint.activation = Activation::kGeluTanh;
  if (keys.is_gguf()) return blueprint;
  require_flag(keys, "apply_residual_connection_post_layernorm", false);
  blueprint.names = {
      .layer = "transformer.h.",
      .renames = {{"token_embd", "transformer.word_embeddings"},
                  {"token_embd_norm", "transformer.word_embeddings_layernorm"},
                  {"output_norm", "transformer.ln_f"},
                  {"output", "lm_head"},
                  {"attn_norm", "input_layernorm"},
                  {"attn_qkv", "self_attention.query_key_value", dealt_heads(config.shape)},
                  {"attn_output", "self_attention.dense"},
                  {"ffn_norm", "post_attention_layernorm"},
                  {"ffn_up", "mlp.dense_h_to_4h"},
                  {"ffn_down", "mlp.dense_4h_to_h"}},
      .root = "transformer."};
  return blueprint;
}

Blueprint describe_mpt(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = plain_blueprint("MPT", config);
  blueprint.norm = NormKind::kLayer;
  blueprint.gated = false;
  blueprint.activation = Activation::kGelu;
  const auto number = [&](const char* gguf, const char* hf) {
    return static_cast<float>(keys.number(gguf, hf).value_or(0));
  };
  blueprint.clip = number("attention.clamp_kqv", "attn_config.clip_qkv");
  blueprint.qk_norm = Presence::kIfThere;
  blueprint.qk_norm_whole = true;
  if (keys.is_gguf()) return blueprint;
  blueprint.score_scale = number("", "attn_config.softmax_scale");
  blueprint.names = {.layer = "transformer.blocks.",
                     .renames = {{"token_embd", "transformer.wte"},
                                 {"position_embd", "transformer.wpe"},
                                 {"output_norm", "transformer.norm_f"},
                                 {"output", "lm_head"},
                                 {"attn_norm", "norm_1"},
                                 {"attn_qkv", "attn.Wqkv"},
                                 {"attn_q_norm", "attn.q_ln"},
                                 {"attn_k_norm", "attn.k_ln"},
                                 {"attn_output", "attn.out_proj"},
                                 {"ffn_norm", "norm_2"},
                                 {"ffn_up", "ffn.up_proj"},
                                 {"ffn_down", "ffn.down_proj"}},
                     .root = "transformer."};
  return blueprint;
}

Blueprint describe_falcon(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = plain_blueprint("Falcon", config);
  blueprint.norm = NormKind::kLayer;
  blueprint.gated = false;
  blueprint.parallel = true;
  blueprint.activation = Activation::kGelu;
  if (keys.is_gguf()) return blueprint;
  blueprint.activation = declared_activation(keys, Activation::kGelu);
  const bool second = keys.flag("new_decoder_architecture").value_or(false);
  blueprint.parallel = second || keys.flag("parallel_attn").value_or(true);
  // Scores and bias together are divided by sqrt(head_dim).
  for (double& slope : blueprint.alibi_slopes)
    slope /= std::sqrt(static_cast<double>(config.shape.head_dim));
  const bool two_norms = second && keys.whole("num_ln_in_parallel_attn").value_or(2) == 2;
  blueprint.names = {
      .layer = "transformer.h.",
      .renames = {{"token_embd", "transformer.word_embeddings"},
                  {"output_norm", "transformer.ln_f"},
                  {"output", "lm_head"},
                  {"attn_norm", two_norms ? "ln_attn" : "input_layernorm"},
                  {"attn_qkv", "self_attention.query_key_value", dealt_heads(config.shape)},
                  {"attn_output", "self_attention.dense"},
                  {"ffn_norm", two_norms ? "ln_mlp" : "post_attention_layernorm"},
                  {"ffn_up", "mlp.dense_h_to_4h"},
                  {"ffn_down", "mlp.dense_4h_to_h"}},
      .root = "transformer."};
  return blueprint;
}

}  // namespace ropewalk
