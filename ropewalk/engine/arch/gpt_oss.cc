// gpt-oss: experts with biases and clamped gates, a learned sink for each head. Source: OpenAI 2025,
// arXiv 2508.10925.
#include "ropewalk/engine/arch/families.h"

namespace ropewalk {

Blueprint describe_gpt_oss(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = plain_blueprint("gpt-oss", config);
  blueprint.ffn_norm = "post_attention_norm";
  blueprint.sinks = true;
  blueprint.experts = declared_experts(keys);
  if (blueprint.experts) blueprint.experts->gate = ExpertKnobs::Gate::kSoftmaxOfUsed;
  blueprint.clamp = 7;
  blueprint.gate_slope = 1.702f;
  blueprint.up_offset = 1;
  if (keys.is_gguf()) return blueprint;
  blueprint.clamp = static_cast<float>(keys.number("swiglu_limit").value_or(7));
  blueprint.gate_slope = static_cast<float>(keys.number("swiglu_alpha").value_or(1.702));
  if (!blueprint.experts) return blueprint;
  const int64_t ffn = blueprint.experts->ffn = config.shape.ffn, count = blueprint.experts->count;
  const Storage bare = {.bare = true};
  const bool mxfp4 = keys.text("quantization_config.quant_method") == "mxfp4";  // as published
  const Storage down = {.bare = true, .matrices = count, .transposed = !mxfp4, .mxfp4 = mxfp4};
  Storage gate_up = down;  // rows of gate and up in turn
  gate_up.parts = {ffn, ffn};
  gate_up.groups = ffn;
  blueprint.names = usual_hf_names_but({{"post_attention_norm", "post_attention_layernorm"},
                                        {"attn_sinks", "self_attn.sinks", bare},
                                        {"ffn_gate_inp", "mlp.router"},
                                        {"ffn_gate_up_exps", "mlp.experts.gate_up_proj", gate_up},
                                        {"ffn_down_exps", "mlp.experts.down_proj", down}});
  return blueprint;
}

}  // namespace ropewalk
