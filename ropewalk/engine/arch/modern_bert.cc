// ModernBERT: rotary, layers that see a window on both sides between layers that see all, GeGLU,
// norms before each half but for the first. Source: Warner et al. 2024, arXiv 2412.13663.
#include "ropewalk/base/error.h"
#include "ropewalk/engine/arch/families.h"

namespace ropewalk {
namespace {

// Tokens that a layer of the group sees on each side.
int64_t side_of_gguf(const LayerGroup& group, const ModelKeys& keys) {
  const int64_t window = keys.whole("attention.sliding_window").value_or(0);
  return group.name == "sliding_attention" && window != 0 ? window / 2 : kUnbounded;
}

// The window of the group's scheme has the query's own token.
int64_t side_of_hf(const LayerGroup& group) {
  const int64_t window = group.rotary ? group.rotary->visibility.window : kUnbounded;
  return window == kUnbounded ? kUnbounded : window - 1;
}

}  // namespace

Blueprint describe_modern_bert(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = plain_blueprint("ModernBERT", config);
  blueprint.norm = NormKind::kLayer;
  blueprint.activation = declared_activation(keys, Activation::kGelu);
  blueprint.bare_first = true;
  for (int64_t n = 0; n < config.shape.n_layers; ++n) {
    const size_t entry = config.group_of_layer.size() == 1 ? 0 : static_cast<size_t>(n);
    const LayerGroup& group = config.groups[static_cast<size_t>(config.group_of_layer[entry])];
    blueprint.side_window.push_back(keys.is_gguf() ? side_of_gguf(group, keys) : side_of_hf(group));
  }
  if (keys.is_gguf()) return blueprint;
  blueprint.names = {
      .layer = "model.layers.",
      .renames = {{"token_embd", "model.embeddings.tok_embeddings"},
                  {"token_embd_norm", "model.embeddings.norm"},
                  {"output_norm", "model.final_norm"},
                  {"attn_qkv", "attn.Wqkv"},
                  {"attn_output", "attn.Wo"},
                  {"ffn_norm", "mlp_norm"},
                  {"ffn_up", "mlp.Wi"},
                  {"ffn_down", "mlp.Wo"},
                  {"head_dense", "head.dense"},
                  {"head_norm", "head.norm"},
                  {"output", "decoder"}},
      .root = "model.",
      .ignored = {"head.dense.weight", "head.dense.bias", "head.norm.weight", "head.norm.bias",
                  "decoder.weight", "decoder.bias", "classifier.weight", "classifier.bias"}};
  blueprint.head_activation = activation_of_name(
      keys.text("classifier_activation").value_or("gelu"), "classifier_activation");
  return blueprint;
}

}  // namespace ropewalk
