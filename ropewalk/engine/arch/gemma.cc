// Gemma 1 to 3: embeddings scaled by sqrt(hidden), GELU gates, caps on scores and logits (2), norms on
// both sides of each half (2, 3), norms of q and k (3). Source: Gemma Team 2024 and 2025, arXiv
// 2403.08295, 2408.00118, 2503.19786.
#include <cmath>

#include "ropewalk/engine/arch/families.h"

namespace ropewalk {

Blueprint describe_gemma(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = plain_blueprint("Gemma", config);
  const auto hidden = static_cast<float>(config.shape.hidden);
  const auto number = [&](const char* gguf, const char* hf) {
    return static_cast<float>(keys.number(gguf, hf).value_or(0));
  };
  blueprint.activation = Activation::kGeluTanh;
  blueprint.embedding_scale = std::sqrt(hidden);
  blueprint.score_softcap = number("attn_logit_softcapping", "attn_logit_softcapping");
  blueprint.logit_softcap = number("final_logit_softcapping", "final_logit_softcapping");
  const bool second = config.architecture == "gemma2";
  const bool third = config.architecture.starts_with("gemma3");
  if (second || third) {
    blueprint.attention_post_norm = "post_attention_norm";
    blueprint.ffn_post_norm = "post_ffw_norm";
  }
  if (third) blueprint.qk_norm = Presence::kAlways;
  if (!keys.is_gguf()) {
    require_flag(keys, "use_bidirectional_attention", false);  // EmbeddingGemma
    // A wrapper's config.json leaves out what is as in the class.
    const auto cap_of_class = [&](const char* key, float& cap, float value) {
      if (second && !keys.number(key) && !keys.is_null(key)) cap = value;
    };
    cap_of_class("attn_logit_softcapping", blueprint.score_softcap, 50);
    cap_of_class("final_logit_softcapping", blueprint.logit_softcap, 30);
    blueprint.norm_offset = 1;  // the converter adds it
    // hidden_act of the first files says gelu, which is not what the models were trained with.
    const std::optional<std::string> own = keys.text("hidden_activation");
    blueprint.names = usual_hf_names();
    if (own) blueprint.activation = declared_activation(keys, Activation::kGeluTanh);
    if (second || third) {
      const auto scalar = static_cast<float>(keys.number("query_pre_attn_scalar").value_or(256));
      if (scalar > 0) blueprint.score_scale = 1.0f / std::sqrt(scalar);
      blueprint.names = usual_hf_names_but({{"post_attention_norm", "post_attention_layernorm"},
                                            {"ffn_norm", "pre_feedforward_layernorm"},
                                            {"post_ffw_norm", "post_feedforward_layernorm"}});
    }
    return blueprint;
  }
  // GGUF has no key for the scale; the two models of 27 B do not take 1 / sqrt(head_dim).
  if ((second && config.shape.n_layers == 46) || (third && config.shape.n_layers == 62)) {
    const auto width = static_cast<float>(config.shape.hidden / config.shape.n_heads);
    blueprint.score_scale = 1.0f / std::sqrt(width);
  }
  return blueprint;
}

}  // namespace ropewalk
