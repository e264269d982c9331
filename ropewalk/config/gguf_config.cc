// The declared configuration of GGUF files. Source: llama.cpp, llama-model.cpp (load_hparams).
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/config/gguf_architectures.h"
#include "ropewalk/config/gguf_keys.h"
#include "ropewalk/config/gguf_rope.h"
#include "ropewalk/config/model_config.h"

namespace ropewalk {
namespace {

std::string known_architectures() {
  std::string names;
  for (const GgufArchitecture& known : gguf_architectures()) {
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  }
  return names;
}

// One pass over a file, in the order in which `show` prints.
class Reader {
 public:
  explicit Reader(const GgufFile& file) : file_(file), keys_(file) {
    const GgufArchitecture* const known = find_gguf_architecture(keys_.architecture());
    if (known == nullptr) {
      throw Error(file.name() + ": general.architecture",
                  "must be one whose positions are known (" + known_architectures() + ")",
                  keys_.architecture());
    }
    architecture_ = *known;
    config_.architecture = keys_.architecture();
  }

  ModelConfig read() {
    read_sizes();
    LayerGroup group;
    if (architecture_.positions == GgufArchitecture::Positions::kRotary) {
      read_rotary(group);
    } else {
      note_positions_without_rotation();
    }
    set_single_group(config_, config_.shape.n_layers, std::move(group));
    note_unread();
    return std::move(config_);
  }

 private:
  void field(std::string name, std::string value, Provenance provenance, std::string from) {
    config_.fields.push_back({std::move(name), std::move(value), provenance, std::move(from)});
  }
  void field_of_key(std::string name, std::string_view suffix) {
    field(std::move(name), keys_.spelled(suffix), Provenance::kFile, keys_.key(suffix));
  }
  void note(std::string text) { config_.findings.push_back({.text = std::move(text)}); }

  // A size that may be absent: 0 then.
  int64_t size(const std::string& name, std::string_view suffix) {
    const std::optional<int64_t> found = keys_.size(suffix);
    if (found) field_of_key(name, suffix);
    return found.value_or(0);
  }

  void read_sizes();
  void read_vocabulary();
  void read_head_dim();

  void read_rotary(LayerGroup& group);
  void note_positions_without_rotation();
  void note_unread();

  const GgufFile& file_;
  GgufKeys keys_;
  GgufArchitecture architecture_;
  ModelConfig config_;
  int64_t context_length_ = 0;
};

// ---- sizes

void Reader::read_sizes() {
  ModelShape& shape = config_.shape;
  shape.n_layers = size("layers", "block_count");
  if (shape.n_layers > kMaxLayers) {
    throw Error(keys_.place("block_count"), "must not exceed " + std::to_string(kMaxLayers),
                std::to_string(shape.n_layers));
  }
  shape.hidden = size("hidden", "embedding_length");
  shape.n_heads = size("heads", "attention.head_count");
  shape.n_kv_heads = size("kv_heads", "attention.head_count_kv");
  if (shape.n_kv_heads == 0 && shape.n_heads != 0) {
    shape.n_kv_heads = shape.n_heads;
    field("kv_heads", std::to_string(shape.n_heads), Provenance::kFamilyDefault,
          keys_.key("attention.head_count_kv") + " is absent: as many as heads");
  }
  if (shape.n_heads != 0 && shape.n_heads % shape.n_kv_heads != 0) {
    throw Error(keys_.place("attention.head_count_kv"),
                "must divide the " + std::to_string(shape.n_heads) + " heads",
                std::to_string(shape.n_kv_heads));
  }
  read_head_dim();
  shape.ffn = size("ffn", "feed_forward_length");
  read_vocabulary();
  for (const std::string_view epsilon :
       {"attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon"}) {
    const std::optional<double> found = keys_.number(epsilon);
    if (!found) continue;
    if (*found < 0)
      throw Error(keys_.place(epsilon), "must not be negative", keys_.spelled(epsilon));
    shape.norm_epsilon = *found;
    field_of_key("norm_epsilon", epsilon);
  }
  shape.tied_output = file_.find_tensor("output.weight") == nullptr;
  context_length_ = size("context_length", "context_length");
}

void Reader::read_head_dim() {
  ModelShape& shape = config_.shape;
  shape.head_dim = size("head_dim", "attention.key_length");
  if (shape.head_dim == 0 && shape.hidden != 0 && shape.n_heads != 0) {
    if (shape.hidden % shape.n_heads != 0) {
      throw Error(keys_.place("attention.head_count"),
                  "must divide embedding_length " + std::to_string(shape.hidden) +
                      ", as attention.key_length is absent",
                  std::to_string(shape.n_heads));
    }
    shape.head_dim = shape.hidden / shape.n_heads;
    field("head_dim", std::to_string(shape.head_dim), Provenance::kDerived,
          "embedding_length / head_count");
  }
  if (shape.head_dim > kMaxHeadDim) {
    throw Error(keys_.place("attention.key_length"),
                "must not exceed " + std::to_string(kMaxHeadDim), std::to_string(shape.head_dim));
  }
  const std::optional<int64_t> value_length = keys_.size("attention.value_length");
  if (value_length && *value_length != shape.head_dim) {
    throw Error(keys_.place("attention.value_length"),
                "must equal the key's head width " + std::to_string(shape.head_dim),
                std::to_string(*value_length));
  }
}

void Reader::read_vocabulary() {
  const std::string_view list = "tokenizer.ggml.tokens";
  int64_t n_tokens = 0;
  if (file_.metadata().contains(list)) {
    n_tokens = static_cast<int64_t>(file_.metadata().get_string_array(list).size());
  }
  const int64_t declared = keys_.size("vocab_size").value_or(0);
  const TensorInfo* const embedding = file_.find_tensor("token_embd.weight");
  const int64_t rows = embedding == nullptr ? 0 : static_cast<int64_t>(row_count(*embedding));

  int64_t& vocabulary = config_.shape.vocabulary;
  if (rows != 0) {
    vocabulary = rows;
    field("vocabulary", std::to_string(rows), Provenance::kFile, "rows of token_embd.weight");
  } else if (declared != 0) {
    vocabulary = declared;
    field_of_key("vocabulary", "vocab_size");
  } else if (n_tokens != 0) {
    vocabulary = n_tokens;
    field("vocabulary", std::to_string(n_tokens), Provenance::kFile,
          "length of " + std::string(list));
  }
  if (n_tokens != 0 && n_tokens != vocabulary) {
    throw Error(file_.name() + ": " + std::string(list),
                "must have one token for each of the " + std::to_string(vocabulary) + " embeddings",
                std::to_string(n_tokens));
  }
  if (declared != 0 && declared != vocabulary) {
    note(keys_.key("vocab_size") + " is " + std::to_string(declared) + ", but the embedding has " +
         std::to_string(vocabulary) + " rows: the rows count");
  }
}

// ---- positions

void Reader::read_rotary(LayerGroup& group) {
  if (config_.shape.head_dim == 0) {
    throw Error(keys_.place("attention.key_length"),
                "must be present, or embedding_length and attention.head_count");
  }
  if (context_length_ == 0) throw Error(keys_.place("context_length"), "must be present");
  DeclaredRope rope =
      read_gguf_rope(file_, keys_, architecture_,
                     {.head_dim = config_.shape.head_dim, .context_length = context_length_});
  std::ranges::move(rope.fields, std::back_inserter(config_.fields));
  std::ranges::move(rope.findings, std::back_inserter(config_.findings));
  group.scheme = std::move(rope.scheme);
  group.rotary = std::move(rope.rotary);
}

void Reader::note_positions_without_rotation() {
  note(architecture_.positions == GgufArchitecture::Positions::kLearned
           ? "no rotary positions: a learned table is added to the embeddings and ends at "
             "context_length"
           : "no rotary positions: ALiBi, a bias on the scores that falls with distance");
}

void Reader::note_unread() {
  for (const std::string& key : keys_.unread({"rope.", "attention."})) {
    note(key + " is not used");
  }
}

// ---- what running needs

void require(const GgufFile& file, const std::string& key, bool present) {
  if (!present) throw Error(file.name() + ": " + key, "must be present");
}

void require_runnable(const GgufFile& file, const ModelConfig& config) {
  const std::string prefix = config.architecture + ".";
  const GgufArchitecture* const architecture = find_gguf_architecture(config.architecture);
  if (architecture == nullptr || !architecture->runs) {
    throw Error(file.name() + ": general.architecture", "must be one that the engine runs (llama)",
                config.architecture);
  }
  const ModelShape& shape = config.shape;
  require(file, prefix + "block_count", shape.n_layers != 0);
  require(file, prefix + "embedding_length", shape.hidden != 0);
  require(file, prefix + "attention.head_count", shape.n_heads != 0);
  require(file, prefix + "feed_forward_length", shape.ffn != 0);
  require(file, prefix + "attention.layer_norm_rms_epsilon",
          file.metadata().contains(prefix + "attention.layer_norm_rms_epsilon"));
  require(file, "token_embd.weight", file.find_tensor("token_embd.weight") != nullptr);

  const std::string experts = prefix + "expert_count";
  if (file.metadata().find_u64(experts).value_or(0) != 0) {
    throw Error(file.name() + ": " + experts,
                "must be absent or 0: mixtures of experts are not run",
                std::to_string(file.metadata().get_u64(experts)));
  }
  const std::string causal = prefix + "attention.causal";
  if (!file.metadata().find_bool(causal).value_or(true)) {
    throw Error(file.name() + ": " + causal, "must be true: only causal attention is run", "false");
  }
}

}  // namespace

ModelConfig read_gguf_positions(const GgufFile& file) { return Reader(file).read(); }

ModelConfig read_gguf_config(const GgufFile& file) {
  ModelConfig config = read_gguf_positions(file);
  require_runnable(file, config);
  return config;
}

}  // namespace ropewalk
