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
  latent.query_rank = keys.whole("attention.q_lora_rank").value_or(0);
  latent.key_value_rank = keys.needed("attention.kv_lora_rank");
  latent.rotary_dim = keys.needed("rope.dimension_count");
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
                              : keys.whole("attention.value_length")
                                    .value_or(config.shape.hidden / config.shape.n_heads);
  if (blueprint.value_dim < 1 || blueprint.value_dim > blueprint.shape.head_dim) {
    throw Error("attention.value_length",
                "must be from 1 to the head's width " + std::to_string(blueprint.shape.head_dim),
                std::to_string(blueprint.value_dim))
        .of(FaultKind::kOutOfRange);
  }
  return blueprint;
}

}  // namespace

Blueprint describe_deepseek2(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = latent_blueprint("DeepSeek-V2", config, keys);
  blueprint.experts = declared_experts(keys);
  if (blueprint.experts) {
    blueprint.experts->shared_ffn =
        blueprint.experts->ffn * keys.whole("expert_shared_count").value_or(0);
  }
  return blueprint;
}

Blueprint describe_minicpm3(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = latent_blueprint("MiniCPM 3", config, keys);
  const auto layers = static_cast<float>(config.shape.n_layers);
  const auto hidden = static_cast<float>(config.shape.hidden);
  blueprint.embedding_scale = 12;
  blueprint.residual_scale = 1.4f / std::sqrt(layers);
  blueprint.logit_scale = 256 / hidden;
  return blueprint;
}

}  // namespace ropewalk
