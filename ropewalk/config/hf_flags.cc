// Source: transformers, the classes of configurations; nomic-bert and Qwen: the models' own code.
#include "ropewalk/config/hf_flags.h"

#include <nlohmann/json.hpp>
#include <string>

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFlags[] = {
    // parts that are there
    "attention_bias", "attention_out_bias", "bias", "decoder_bias", "enable_bias", "lm_head_bias",
    "mlp_bias", "mlp_fc1_bias", "mlp_fc2_bias", "no_bias", "norm_bias", "qk_layernorm", "qkv_bias",
    "qkv_proj_bias", "use_bias", "use_qk_norm", "use_qkv_bias",
    // how they are put together
    "_remove_final_layer_norm", "add_cross_attention", "apply_residual_connection_post_layernorm",
    "causal", "do_layer_norm_before", "is_decoder", "is_encoder_decoder",
    "layer_norm_elementwise_affine", "new_decoder_architecture", "norm_topk_prob", "parallel_attn",
    "prenorm", "scale_attn_by_inverse_layer_idx", "scale_attn_weights", "scale_decoder_outputs",
    "scale_embedding", "tie_word_embeddings", "use_parallel_residual",
    // positions and sight
    "alibi", "learned_pos_emb", "multi_query", "position_biased_input", "relative_attention",
    "rope_interleave", "rotary_emb_interleaved", "rotary_value", "sinusoidal_pos_embds",
    "use_dynamic_ntk", "use_logn_attn", "use_sliding_window"};

}  // namespace

void refuse_other_than_flags(const JsonFields& fields) {
  const auto refuse = [&](const char* key, const char* rule) {
    throw Error(fields.place(key), rule, json_text(*fields.raw_unread(key)),
                "write it without quotes, and as no number")
        .of(FaultKind::kBadType);
  };
  for (const char* const key : kFlags) {
    if (fields.has_value(key) && !fields.raw_unread(key)->is_boolean())
      refuse(key, "must be true or false");
  }
  // Llama-4's first files say 4.
  const char* const tuning = "attn_temperature_tuning";
  const Json* const found = fields.raw_unread(tuning);
  if (found != nullptr && !found->is_null() && !found->is_boolean() && !found->is_number_integer())
    refuse(tuning, "must be true, false or a whole number");
}

}  // namespace ropewalk
