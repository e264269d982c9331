// T5: an encoder and a decoder without rows for positions; a learned bias on the scores by buckets of
// distance, scores that are not scaled, RMSNorm. Source: Raffel et al. 2020, arXiv 1910.10683.
#include <cmath>

#include "ropewalk/base/error.h"
#include "ropewalk/config/size_limits.h"
#include "ropewalk/engine/arch/families.h"

namespace ropewalk {
namespace {

TensorNames gguf_names(bool decoder) {
  return {.layer = decoder ? "dec.blk." : "enc.blk.",
          .renames = {{"output_norm", decoder ? "dec.output_norm" : "enc.output_norm"},
                      {"attn_output", "attn_o"}}};
}

// The feed-forward part lies behind the one that looks at the encoder's states.
TensorNames hf_names(bool decoder, bool gated) {
  const std::string stack = decoder ? "decoder." : "encoder.";
  const std::string feed = decoder ? "layer.2." : "layer.1.";
  const std::string inner = feed + "DenseReluDense.";
  return {.layer = stack + "block.",
          .renames = {{"token_embd", "shared"},
                      {"output_norm", stack + "final_layer_norm"},
                      {"output", "lm_head"},
                      {"attn_norm", "layer.0.layer_norm"},
                      {"attn_q", "layer.0.SelfAttention.q"},
                      {"attn_k", "layer.0.SelfAttention.k"},
                      {"attn_v", "layer.0.SelfAttention.v"},
                      {"attn_output", "layer.0.SelfAttention.o"},
                      {"attn_rel_b", "layer.0.SelfAttention.relative_attention_bias"},
                      {"ffn_norm", feed + "layer_norm"},
                      {"ffn_gate", inner + "wi_0"},
                      {"ffn_up", inner + (gated ? "wi_1" : "wi")},
                      {"ffn_down", inner + "wo"}},
          .root = {},
          // The same as the shared one.
          .ignored = {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight"}};
}

// feed_forward_proj: "relu" of version 1.0, "gated-gelu" of 1.1, which means the approximate one.
void take_feed_forward(Blueprint& blueprint, const ModelKeys& keys, bool decoder) {
  constexpr std::string_view kGated = "gated-";
  const std::string key = "feed_forward_proj";
  const std::string form = keys.text(key).value_or("relu");
  blueprint.gated = form.starts_with(kGated);
  blueprint.ungated = {};
  blueprint.activation =
      form == "gated-gelu"
          ? Activation::kGeluTanh
          : activation_of_name(blueprint.gated ? form.substr(kGated.size()) : form, key);
  blueprint.names = hf_names(decoder, blueprint.gated);
}

Blueprint describe_t5(const ModelConfig& config, const ModelKeys& keys, bool decoder) {
  Blueprint blueprint{.family = "T5", .shape = config.shape};
  blueprint.names = gguf_names(decoder);
  // Version 1.1 has a gate, version 1.0 none.
  blueprint.activation = Activation::kGeluTanh;
  blueprint.ungated = Activation::kRelu;
  blueprint.score_scale = 1;
  for (const PositionMechanism& mechanism : config.mechanisms) {
    const auto* const buckets = std::get_if<T5Buckets>(&mechanism);
    if (buckets != nullptr && buckets->bidirectional != decoder) blueprint.buckets = *buckets;
  }
  if (!keys.is_gguf()) take_feed_forward(blueprint, keys, decoder);
  return blueprint;
}

// Of a directory it is a matter of the version: transformers before version 5 says it by
// tie_word_embeddings, and since then by a key of its own, tied or not. mT5 never does.
bool scales_output(const ModelConfig& config, const ModelKeys& keys) {
  if (keys.is_gguf()) return config.shape.tied_output;
  if (config.architecture == "mt5") return false;
  const bool tied = keys.flag("tie_word_embeddings").value_or(true);
  return keys.flag("scale_decoder_outputs").value_or(tied);
}

}  // namespace

Blueprint describe_t5_encoder(const ModelConfig& config, const ModelKeys& keys) {
  return describe_t5(config, keys, false);
}

// Version 1.0 takes the embedding for the output matrix, and its states by 1 / sqrt(hidden).
Blueprint describe_t5_decoder(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = describe_t5(config, keys, true);
  blueprint.shape.n_layers =
      keys.whole("decoder_block_count", "num_decoder_layers").value_or(config.shape.n_layers);
  refuse_above(keys.is_gguf() ? "decoder_block_count" : "num_decoder_layers",
               blueprint.shape.n_layers, kMaxLayers);
  blueprint.shape.tied_output = scales_output(config, keys);
  if (blueprint.shape.tied_output)
    blueprint.logit_scale = 1.0f / std::sqrt(static_cast<float>(config.shape.hidden));
  return blueprint;
}

bool is_t5_encoder_alone(const ModelKeys& keys) {
  if (keys.is_gguf()) return false;
  return !keys.flag("is_encoder_decoder").value_or(true) ||
         keys.text("architectures.0").value_or("").ends_with("EncoderModel");
}

TensorNames t5_cross_names(const ModelKeys& keys) {
  if (keys.is_gguf()) {
    return {.layer = "dec.blk.",
            .renames = {{"attn_norm", "cross_attn_norm"},
                        {"attn_q", "cross_attn_q"},
                        {"attn_k", "cross_attn_k"},
                        {"attn_v", "cross_attn_v"},
                        {"attn_output", "cross_attn_o"},
                        {"attn_rel_b", "cross_attn_rel_b"}}};
  }
  return {.layer = "decoder.block.",
          .renames = {{"attn_norm", "layer.1.layer_norm"},
                      {"attn_q", "layer.1.EncDecAttention.q"},
                      {"attn_k", "layer.1.EncDecAttention.k"},
                      {"attn_v", "layer.1.EncDecAttention.v"},
                      {"attn_output", "layer.1.EncDecAttention.o"},
                      {"attn_rel_b", "layer.1.EncDecAttention.relative_attention_bias"}}};
}

}  // namespace ropewalk
