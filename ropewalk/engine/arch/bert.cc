// BERT and RoBERTa: rows for token, position and token type, and norms of each half's sum. Source:
// Devlin et al. 2018, arXiv 1810.04805; Liu et al. 2019, arXiv 1907.11692. nomic-bert: no row for
// the position but rotation, and SwiGLU; Nussbaum et al. 2024, arXiv 2402.01613.
#include "ropewalk/base/error.h"
#include "ropewalk/engine/arch/families.h"

namespace ropewalk {
namespace {

// What reads the states that are given here is of no matter: heads of masked words, of whole texts
// and of spans.
std::vector<std::string> heads_behind() {
  std::vector<std::string> names = {".position_ids", "cls.predictions.bias", "lm_head.bias"};
  for (const char* const part :
       {"pooler.dense", "cls.predictions.decoder", "cls.predictions.transform.dense",
        "cls.predictions.transform.LayerNorm", "cls.predictions.transform.layer_norm",
        "cls.seq_relationship", "lm_head.dense", "lm_head.layer_norm", "lm_head.decoder",
        "classifier", "classifier.dense", "classifier.out_proj", "qa_outputs"}) {
    for (const char* const kind : {".weight", ".bias", ".gamma", ".beta"})
      names.push_back(std::string(part) + kind);
  }
  return names;
}

// RoBERTa's heads have names of their own, and GELU whatever the layers have.
void take_head(Blueprint& blueprint, bool bert) {
  blueprint.head_activation = bert ? blueprint.activation : Activation::kGelu;
  const std::string start = bert ? "cls.predictions" : "lm_head";
  const std::string inner = bert ? start + ".transform" : start;
  for (const Rename& rename :
       std::vector<Rename>{{"head_dense", inner + ".dense"},
                           {"head_norm", inner + (bert ? ".LayerNorm" : ".layer_norm")},
                           {"output", start + ".decoder"},
                           {"output_bias", start}})
    blueprint.names.renames.push_back(rename);
}

TensorNames bert_names() {
  return {.layer = "bert.encoder.layer.",
          .renames = {{"token_embd", "bert.embeddings.word_embeddings"},
                      {"position_embd", "bert.embeddings.position_embeddings"},
                      {"token_types", "bert.embeddings.token_type_embeddings"},
                      {"token_embd_norm", "bert.embeddings.LayerNorm"},
                      {"attn_q", "attention.self.query"},
                      {"attn_k", "attention.self.key"},
                      {"attn_v", "attention.self.value"},
                      {"attn_output", "attention.output.dense"},
                      {"attn_output_norm", "attention.output.LayerNorm"},
                      {"ffn_up", "intermediate.dense"},
                      {"ffn_down", "output.dense"},
                      {"layer_output_norm", "output.LayerNorm"}},
          .root = "bert.",
          .ignored = heads_behind(),
          .other_roots = {"roberta."},
          .other_kinds = {{"weight", "gamma"}, {"bias", "beta"}}};
}

Blueprint norms_behind_sums(const std::string& family, const ModelConfig& config) {
  Blueprint blueprint = plain_blueprint(family, config);
  blueprint.norm = NormKind::kLayer;
  blueprint.attention_norm = "";
  blueprint.ffn_norm = "";
  blueprint.attention_post_norm = "attn_output_norm";
  blueprint.ffn_post_norm = "layer_output_norm";
  blueprint.norms_sums = true;
  return blueprint;
}

// Of the maker's own class, activation_function names gate and all.
Activation gate_of_nomic(const ModelKeys& keys) {
  const std::string name = keys.text("activation_function").value_or("");
  if (name.empty()) return declared_activation(keys, Activation::kSilu);
  if (name == "swiglu") return Activation::kSilu;
  if (name == "geglu") return Activation::kGelu;
  throw Error("activation_function", "must be swiglu or geglu", name).of(FaultKind::kUnknownValue);
}

}  // namespace

Blueprint describe_bert(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = norms_behind_sums("BERT", config);
  blueprint.gated = false;
  // No key of GGUF tells it; every BERT and RoBERTa that was published has it.
  blueprint.activation = Activation::kGelu;
  if (keys.is_gguf()) return blueprint;
  blueprint.activation = declared_activation(keys, Activation::kGelu);
  require_flag(keys, "is_decoder", false);
  require_flag(keys, "add_cross_attention", false);
  if (!blueprint.position_table) {
    throw Error("position_embedding_type", "must be absolute: the others are not run",
                keys.text("position_embedding_type").value_or("nothing"))
        .of(FaultKind::kUnknownValue);
  }
  blueprint.names = bert_names();
  take_head(blueprint, config.architecture == "bert");
  return blueprint;
}

Blueprint describe_nomic_bert(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = norms_behind_sums("nomic-bert", config);
  blueprint.activation = Activation::kSilu;
  if (keys.is_gguf()) return blueprint;
  blueprint.activation = gate_of_nomic(keys);
  for (const char* const flag : {"prenorm", "causal", "parallel_block", "use_rms_norm"})
    require_flag(keys, flag, false);
  blueprint.names = {.layer = "nomic_bert.encoder.layers.",
                     .renames = {{"token_embd", "nomic_bert.embeddings.word_embeddings"},
                                 {"token_types", "nomic_bert.embeddings.token_type_embeddings"},
                                 {"token_embd_norm", "nomic_bert.emb_ln"},
                                 {"attn_qkv", "attn.Wqkv"},
                                 {"attn_output", "attn.out_proj"},
                                 {"attn_output_norm", "norm1"},
                                 {"ffn_gate", "mlp.fc12"},
                                 {"ffn_up", "mlp.fc11"},
                                 {"ffn_down", "mlp.fc2"},
                                 {"layer_output_norm", "norm2"}},
                     .root = "nomic_bert.",
                     .ignored = heads_behind(),
                     .other_roots = {"bert."}};
  return blueprint;
}

}  // namespace ropewalk
