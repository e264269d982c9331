// DeepSeek-V2 and V3: keys and values from one narrow vector, experts with shared ones. MiniCPM 3: the
// same attention, Llama's feed-forward, three factors. Source: DeepSeek-AI 2024, arXiv 2405.04434 and
// 2412.19437; transformers, modeling_minicpm3.py.
#include <cmath>
#include <string>

#include "ropewalk/base/error.h"
#include "ropewalk/engine/arch/families.h"

namespace ropewalk {

namespace {

LatentKnobs read_latent(const ModelKeys& keys, const Blueprint& blueprint) {
  LatentKnobs latent;
  latent.query_rank = keys.whole("attention.q_lora_rank", "q_lora_rank").value_or(0);
  latent.key_value_rank = keys.needed("attention.kv_lora_rank", "kv_lora_rank");
  latent.rotary_dim = keys.needed("rope.dimension_count", "qk_rope_head_dim");
  if (latent.rotary_dim >= blueprint.shape.head_dim) {
    throw Error("rope.dimension_count",
                "must be less than the head's width " + std::to_string(blueprint.shape.head_dim),
                std::to_string(latent.rotary_dim))
        .of(FaultKind::kOutOfRange);
  }
  return latent;
}

// Whatever the cache of the file's own engine has, each head has keys of its own here.
Blueprint latent_blueprint(const std::string& family, const ModelConfig& config,
                           const ModelKeys& keys) {
  Blueprint blueprint = plain_blueprint(family, config);
  blueprint.shape.n_kv_heads = blueprint.shape.n_heads;
  blueprint.latent = read_latent(keys, blueprint);
  const auto value = keys.whole("attention.value_length_mla");
  blueprint.value_dim = value ? *value
                              : keys.whole("attention.value_length", "v_head_dim")
                                    .value_or(config.shape.hidden / config.shape.n_heads);
  if (blueprint.value_dim < 1 || blueprint.value_dim > blueprint.shape.head_dim) {
    throw Error("attention.value_length",
                "must be from 1 to the head's width " + std::to_string(blueprint.shape.head_dim),
                std::to_string(blueprint.value_dim))
        .of(FaultKind::kOutOfRange);
  }
  return blueprint;
}

const std::vector<Rename>& latent_names() {
  static const std::vector<Rename> names = {{"attn_q_a", "self_attn.q_a_proj"},
                                            {"attn_q_a_norm", "self_attn.q_a_layernorm"},
                                            {"attn_q_b", "self_attn.q_b_proj"},
                                            {"attn_kv_a_mqa", "self_attn.kv_a_proj_with_mqa"},
                                            {"attn_kv_a_norm", "self_attn.kv_a_layernorm"},
                                            {"attn_kv_b", "self_attn.kv_b_proj"}};
  return names;
}

// Whether groups of experts are looked at at all is a matter of topk_method.
void take_hf_experts(Blueprint& blueprint, const ModelKeys& keys) {
  ExpertKnobs& experts = *blueprint.experts;
  const std::string method = keys.text("topk_method").value_or("greedy");
  if (method == "greedy") {
    experts.groups = experts.used_groups = 1;
  } else if (method != "group_limited_greedy") {
    throw Error("topk_method", "must be greedy or group_limited_greedy", method)
        .of(FaultKind::kUnknownValue);
  }
  experts.group_best = 1;
  experts.normalised = false;  // norm_topk_prob is not looked at by the maker's class
  const Storage each = each_expert(experts.count);
  for (const Rename& rename :
       std::vector<Rename>{{"ffn_gate_inp", "mlp.gate"},
                           {"ffn_gate_exps", "mlp.experts.{}.gate_proj", each},
                           {"ffn_up_exps", "mlp.experts.{}.up_proj", each},
                           {"ffn_down_exps", "mlp.experts.{}.down_proj", each},
                           {"ffn_gate_shexp", "mlp.shared_experts.gate_proj"},
                           {"ffn_up_shexp", "mlp.shared_experts.up_proj"},
                           {"ffn_down_shexp", "mlp.shared_experts.down_proj"}})
    blueprint.names.renames.push_back(rename);
}

}  // namespace

Blueprint describe_deepseek2(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = latent_blueprint("DeepSeek-V2", config, keys);
  take_hf(blueprint, keys, latent_names());
  blueprint.experts = declared_experts(keys);
  if (blueprint.experts) {
    blueprint.experts->shared_ffn =
        blueprint.experts->ffn * keys.whole("expert_shared_count", "n_shared_experts").value_or(0);
    if (!keys.is_gguf()) take_hf_experts(blueprint, keys);
  }
  return blueprint;
}

Blueprint describe_minicpm3(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = latent_blueprint("MiniCPM 3", config, keys);
  const auto layers = static_cast<float>(config.shape.n_layers);
  const auto hidden = static_cast<float>(config.shape.hidden);
  // GGUF has no keys for these.
  const auto number = [&](const char* key, double otherwise) {
    return keys.is_gguf() ? static_cast<float>(otherwise)
                          : static_cast<float>(keys.number(key).value_or(otherwise));
  };
  blueprint.embedding_scale = number("scale_emb", 12);
  blueprint.residual_scale = number("scale_depth", 1.4) / std::sqrt(layers);
  blueprint.logit_scale = number("dim_model_base", 256) / hidden;
  take_hf(blueprint, keys, latent_names());
  return blueprint;
}

}  // namespace ropewalk
