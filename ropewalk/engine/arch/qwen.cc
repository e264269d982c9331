// Qwen2, Qwen2.5 (biases of q, k and v), Qwen3 (norms of q and k), and their mixtures of experts.
// Source: Qwen Team 2024 and 2025, arXiv 2407.10671 and 2505.09388.
#include "ropewalk/engine/arch/families.h"

namespace ropewalk {

Blueprint describe_qwen(const ModelConfig& config, const ModelKeys&) {
  Blueprint blueprint = plain_blueprint("Qwen", config);
  if (config.architecture.starts_with("qwen3")) blueprint.qk_norm = Presence::kAlways;
  return blueprint;
}

Blueprint describe_qwen_experts(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = describe_qwen(config, keys);
  blueprint.family = "Qwen MoE";
  blueprint.experts = declared_experts(keys);
  if (!blueprint.experts) return blueprint;
  if (blueprint.experts->ffn == 0)
    blueprint.experts->ffn = config.shape.ffn / blueprint.experts->used;
  // Qwen3's are made to sum to 1, Qwen2's are not.
  const bool second = config.architecture == "qwen2moe";
  blueprint.experts->normalised = !second;
  if (second) {
    blueprint.experts->shared_ffn =
        keys.whole("expert_shared_feed_forward_length").value_or(config.shape.ffn);
  }
  return blueprint;
}

}  // namespace ropewalk
