// Granite 3: Llama with four factors. Source: transformers, modeling_granite.py.
#include "ropewalk/engine/arch/families.h"

namespace ropewalk {

Blueprint describe_granite(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = describe_llama(config, keys);
  blueprint.family = "Granite";
  const auto number = [&](const char* gguf, const char* hf) {
    return static_cast<float>(keys.number(gguf, hf).value_or(1));
  };
  blueprint.embedding_scale = number("embedding_scale", "embedding_multiplier");
  blueprint.residual_scale = number("residual_scale", "residual_multiplier");
  blueprint.logit_scale = 1.0f / number("logit_scale", "logits_scaling");
  blueprint.score_scale =
      static_cast<float>(keys.number("attention.scale", "attention_multiplier").value_or(0));
  if (!keys.is_gguf() && blueprint.experts) {
    const Storage stacked = {.matrices = blueprint.experts->count};
    blueprint.names =
        usual_hf_names_but({{"ffn_gate_inp", "block_sparse_moe.router.layer"},
                            {"ffn_gate_up_exps", "block_sparse_moe.input_linear", stacked},
                            {"ffn_down_exps", "block_sparse_moe.output_linear", stacked}});
  }
  if (blueprint.experts)
    blueprint.experts->shared_ffn = keys.whole("expert_shared_feed_forward_length").value_or(0);
  return blueprint;
}

}  // namespace ropewalk
