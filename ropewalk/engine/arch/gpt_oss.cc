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
  return blueprint;
}

}  // namespace ropewalk
