// Llama-4, text: experts in some layers, queries and keys of rotated layers without a length, chunks.
// Source: transformers, modeling_llama4.py.
#include <utility>
#include <vector>

#include "ropewalk/engine/arch/families.h"

namespace ropewalk {

namespace {

Blueprint describe_llama4_directory(Blueprint blueprint, const ModelKeys& keys) {
  take_hf(blueprint, keys,
          {{"ffn_gate", "feed_forward.gate_proj"},
           {"ffn_up", "feed_forward.up_proj"},
           {"ffn_down", "feed_forward.down_proj"}});
  blueprint.chunk = keys.whole("attention_chunk_size").value_or(0);
  blueprint.qk_unit_length = keys.flag("use_qk_norm").value_or(true);
  blueprint.experts = declared_experts(keys);
  if (!blueprint.experts) return blueprint;
  ExpertKnobs& experts = *blueprint.experts;
  experts.ffn = experts.shared_ffn = blueprint.shape.ffn;
  experts.gate = ExpertKnobs::Gate::kSigmoid;
  experts.weigh_input = true;
  blueprint.shape.ffn = keys.needed("intermediate_size_mlp");
  const Storage turned = {.bare = true, .matrices = experts.count, .transposed = true};
  for (const Rename& rename :
       std::vector<Rename>{{"ffn_gate_inp", "feed_forward.router"},
                           {"ffn_gate_up_exps", "feed_forward.experts.gate_up_proj", turned},
                           {"ffn_down_exps", "feed_forward.experts.down_proj", turned},
                           {"ffn_gate_shexp", "feed_forward.shared_expert.gate_proj"},
                           {"ffn_up_shexp", "feed_forward.shared_expert.up_proj"},
                           {"ffn_down_shexp", "feed_forward.shared_expert.down_proj"}})
    blueprint.names.renames.push_back(rename);
  return blueprint;
}

}  // namespace

Blueprint describe_llama4(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = plain_blueprint("Llama-4", config);
  if (!keys.is_gguf()) return describe_llama4_directory(std::move(blueprint), keys);
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
