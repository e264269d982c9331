// Llama and what is built like it: Mistral, Mixtral, InternLM2, SmolLM3, MiniCPM. RMSNorm before each
// half, grouped keys, SwiGLU. Source: Touvron et al. 2023, arXiv 2302.13971 and 2307.09288; grouped
// keys: Ainslie et al. 2023, arXiv 2305.13245; experts: Jiang et al. 2024, arXiv 2401.04088.
#include <cmath>

#include "ropewalk/engine/arch/families.h"

namespace ropewalk {

Blueprint describe_llama(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = plain_blueprint("Llama", config);
  blueprint.score_scale = static_cast<float>(keys.number("attention.scale").value_or(0));
  blueprint.experts = declared_experts(keys);
  if (blueprint.experts) {
    if (blueprint.experts->ffn == 0) blueprint.experts->ffn = config.shape.ffn;
    blueprint.experts->normalised = true;
  }
  take_hf(blueprint, keys);
  if (keys.is_gguf() || !blueprint.experts) return blueprint;
  const Storage each = each_expert(blueprint.experts->count);
  blueprint.names = usual_hf_names_but({{"ffn_gate_inp", "block_sparse_moe.gate"},
                                        {"ffn_gate_exps", "block_sparse_moe.experts.{}.w1", each},
                                        {"ffn_up_exps", "block_sparse_moe.experts.{}.w3", each},
                                        {"ffn_down_exps", "block_sparse_moe.experts.{}.w2", each}});
  return blueprint;
}

// Source: Hu et al. 2024, arXiv 2404.06395. The three factors are the converter's, or, in files that
// lack them, the first model's.
Blueprint describe_minicpm(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = describe_llama(config, keys);
  blueprint.family = "MiniCPM";
  const double layers = static_cast<double>(config.shape.n_layers);
  const double hidden = static_cast<double>(config.shape.hidden);
  const auto number = [&](const char* key, double otherwise) {
    return static_cast<float>(keys.number(key).value_or(otherwise));
  };
  blueprint.embedding_scale = number("embedding_scale", 12);
  blueprint.residual_scale = number("residual_scale", 1.4 / std::sqrt(layers));
  blueprint.logit_scale = 1.0f / number("logit_scale", hidden / 256);
  return blueprint;
}

}  // namespace ropewalk
