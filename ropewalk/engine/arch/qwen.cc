// Qwen2, Qwen2.5 (biases of q, k and v), Qwen3 (norms of q and k), and their mixtures of experts.
// Source: Qwen Team 2024 and 2025, arXiv 2407.10671 and 2505.09388.
#include "ropewalk/engine/arch/families.h"

namespace ropewalk {

Blueprint describe_qwen(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = plain_blueprint("Qwen", config);
  if (config.architecture.starts_with("qwen3")) blueprint.qk_norm = Presence::kAlways;
  take_hf(blueprint, keys);
  return blueprint;
}

Blueprint describe_qwen_experts(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = describe_qwen(config, keys);
  blueprint.family = "Qwen MoE";
  blueprint.experts = declared_experts(keys);
  if (!blueprint.experts) return blueprint;
  if (blueprint.experts->ffn == 0)
    blueprint.experts->ffn = config.shape.ffn / blueprint.experts->used;
  const bool second = config.architecture.starts_with("qwen2");
  // Qwen3's are made to sum to 1, Qwen2's are not, unless a key says it.
  if (keys.is_gguf()) blueprint.experts->normalised = !second;
  blueprint.experts->shared_gate = second;
  if (second) {
    blueprint.experts->shared_ffn =
        keys.whole("expert_shared_feed_forward_length", "shared_expert_intermediate_size")
            .value_or(config.shape.ffn);
  }
  if (keys.is_gguf()) return blueprint;
  if (config.architecture == "qwen3_vl_moe_text") {
    // All experts of a layer in one tensor, and no key says that their weights sum to 1.
    const Storage all = {.bare = true, .matrices = blueprint.experts->count, .either_way = true};
    blueprint.experts->normalised = true;
    blueprint.names = usual_hf_names_but({{"ffn_gate_inp", "mlp.gate"},
                                          {"ffn_gate_up_exps", "mlp.experts.gate_up_proj", all},
                                          {"ffn_down_exps", "mlp.experts.down_proj", all}});
    return blueprint;
  }
  const Storage each = each_expert(blueprint.experts->count);
  blueprint.names = usual_hf_names_but({{"ffn_gate_inp", "mlp.gate"},
                                        {"ffn_gate_exps", "mlp.experts.{}.gate_proj", each},
                                        {"ffn_up_exps", "mlp.experts.{}.up_proj", each},
                                        {"ffn_down_exps", "mlp.experts.{}.down_proj", each},
                                        {"ffn_gate_shexp", "mlp.shared_expert.gate_proj"},
                                        {"ffn_up_shexp", "mlp.shared_expert.up_proj"},
                                        {"ffn_down_shexp", "mlp.shared_expert.down_proj"},
                                        {"ffn_gate_inp_shexp", "mlp.shared_expert_gate"}});
  return blueprint;
}

}  // namespace ropewalk
