// Llama-4, text: experts in some layers, queries and keys of rotated layers without a length, chunks.
// Source: transformers, modeling_llama4.py.
#include "ropewalk/engine/arch/families.h"

namespace ropewalk {

Blueprint describe_llama4(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = plain_blueprint("Llama-4", config);
  constexpr int64_t kLayersWithoutUnitLength = 48;  // of 128 experts: the model that does not norm
  blueprint.experts = declared_experts(keys);
  blueprint.chunk = keys.whole("attention.sliding_window").value_or(8192);
  if (blueprint.experts) {
    blueprint.experts->gate = ExpertKnobs::Gate::kSigmoid;
    blueprint.experts->normalised = false;
    blueprint.experts->weigh_input = true;
    blueprint.experts->shared_ffn = blueprint.experts->ffn;
    blueprint.qk_unit_length =
        blueprint.experts->count != 128 || config.shape.n_layers != kLayersWithoutUnitLength;
  }
  return blueprint;
}

}  // namespace ropewalk
