// T5: an encoder and a decoder without rows for positions; a learned bias on the scores by buckets of
// distance, scores that are not scaled, RMSNorm. Source: Raffel et al. 2020, arXiv 1910.10683.
#include <cmath>

#include "ropewalk/engine/arch/families.h"

namespace ropewalk {
namespace {

Blueprint describe_t5(const ModelConfig& config, const ModelKeys&, bool decoder) {
  Blueprint blueprint{.family = "T5", .shape = config.shape};
  blueprint.names.layer = decoder ? "dec.blk." : "enc.blk.";
  blueprint.names.renames = {{"output_norm", decoder ? "dec.output_norm" : "enc.output_norm"},
                             {"attn_output", "attn_o"}};
  // Version 1.1 has a gate, version 1.0 none.
  blueprint.activation = Activation::kGeluTanh;
  blueprint.ungated = Activation::kRelu;
  blueprint.score_scale = 1;
  for (const PositionMechanism& mechanism : config.mechanisms) {
    const auto* const buckets = std::get_if<T5Buckets>(&mechanism);
    if (buckets != nullptr && buckets->bidirectional != decoder) blueprint.buckets = *buckets;
  }
  return blueprint;
}

}  // namespace

Blueprint describe_t5_encoder(const ModelConfig& config, const ModelKeys& keys) {
  return describe_t5(config, keys, false);
}

// Version 1.0 takes the embedding for the output matrix, and its states by 1 / sqrt(hidden).
Blueprint describe_t5_decoder(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = describe_t5(config, keys, true);
  blueprint.shape.n_layers = keys.whole("decoder_block_count").value_or(config.shape.n_layers);
  if (config.shape.tied_output)
    blueprint.logit_scale = 1.0f / std::sqrt(static_cast<float>(config.shape.hidden));
  return blueprint;
}

TensorNames t5_cross_names() {
  return {.layer = "dec.blk.",
          .renames = {{"attn_norm", "cross_attn_norm"},
                      {"attn_q", "cross_attn_q"},
                      {"attn_k", "cross_attn_k"},
                      {"attn_v", "cross_attn_v"},
                      {"attn_output", "cross_attn_o"},
                      {"attn_rel_b", "cross_attn_rel_b"}}};
}

}  // namespace ropewalk
