// The declared configuration of GGUF files. Source: llama.cpp, llama-model.cpp (load_hparams).
#include <algorithm>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/config/gguf_architectures.h"
#include "ropewalk/config/gguf_keys.h"
#include "ropewalk/config/gguf_layers.h"
#include "ropewalk/config/gguf_mechanisms.h"
#include "ropewalk/config/gguf_remarks.h"
#include "ropewalk/config/gguf_rope.h"
#include "ropewalk/config/model_config.h"
#include "ropewalk/config/size_limits.h"
#include "ropewalk/formats/printable.h"

namespace ropewalk {
namespace {

using Positions = GgufArchitecture::Positions;

constexpr int64_t kLongest = int64_t{1} << 31;  // as GgufKeys reads

GgufArchitecture known_architecture(const GgufFile& file, const std::string& name) {
  const GgufArchitecture* const known = find_gguf_architecture(name);
  if (known == nullptr) {
    throw Error(file.name() + ": general.architecture",
                "must be one whose positions are known (" + known_gguf_architectures() + ")",
                printable(name, 60))
        .of(FaultKind::kUnknownValue);
  }
  return *known;
}

[[noreturn]] void refuse_value_length(const std::string& place, int64_t head_dim, int64_t found) {
  throw Error(place, "must equal the key's head width " + std::to_string(head_dim),
              std::to_string(found))
      .of(FaultKind::kInconsistent);
}

// One pass over a file, in the order in which `show` prints.
class Reader {
 public:
  explicit Reader(const GgufFile& file)
      : file_(file), keys_(file), architecture_(known_architecture(file, keys_.architecture())) {
    config_.architecture = keys_.architecture();
  }

  ModelConfig read() {
    read_sizes();
    decide_by_layer_count();
    if (architecture_.positions == Positions::kRotary) {
      read_rotary();
    } else {
      set_single_group(config_, config_.shape.n_layers, {});
    }
    config_.mechanisms = read_gguf_mechanisms(
        file_, keys_, architecture_,
        {.n_heads = config_.shape.n_heads, .context_length = context_length_}, report_);
    config_.fields = std::move(report_.fields);
    config_.findings = std::move(report_.findings);
    add_gguf_remarks(file_, keys_, architecture_, context_length_, config_);
    return std::move(config_);
  }

 private:
  // A size of at most so much, that may be absent: 0 then.
  int64_t size(const std::string& name, std::string_view suffix, int64_t most) {
    const std::optional<int64_t> found =
        architecture_.positions == Positions::kNone ? keys_.count(suffix) : keys_.size(suffix);
    if (found) report_.field_of_key(keys_, name, suffix);
    refuse_above(keys_.place(suffix), found.value_or(0), most);
    return found.value_or(0);
  }

  void read_sizes();
  void read_heads();
  void read_heads_by_layer();
  void read_head_dim();
  void read_vocabulary();

  void decide_by_layer_count();
  void read_rotary();

  const GgufFile& file_;
  GgufKeys keys_;
  GgufArchitecture architecture_;
  ModelConfig config_;
  GgufReport report_;
  int64_t first_heads_ = 0;  // of the layer that llama.cpp makes the head's width from
  int64_t context_length_ = 0;
};

// ---- sizes

void Reader::read_sizes() {
  ModelShape& shape = config_.shape;
  shape.n_layers = size("layers", "block_count", kMaxLayers);
  shape.hidden = size("hidden", "embedding_length", kMaxWidth);
  read_heads();
  read_head_dim();
  if (keys_.is_list("feed_forward_length")) {
    keys_.mark("feed_forward_length");
  } else {
    shape.ffn = size("ffn", "feed_forward_length", kMaxWidth);
  }
  read_vocabulary();
  for (const std::string_view epsilon :
       {"attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon"}) {
    const std::optional<double> found = keys_.number(epsilon);
    if (!found) continue;
    if (*found < 0) {
      throw Error(keys_.place(epsilon), "must not be negative", keys_.spelled(epsilon))
          .of(FaultKind::kOutOfRange);
    }
    shape.norm_epsilon = *found;
    report_.field_of_key(keys_, "norm_epsilon", epsilon);
  }
  shape.tied_output = file_.find_tensor("output.weight") == nullptr;
  context_length_ = size("context_length", "context_length", kLongest);
  config_.context_length = context_length_;
}

void Reader::read_heads() {
  ModelShape& shape = config_.shape;
  if (keys_.is_list("attention.head_count") || keys_.is_list("attention.head_count_kv")) {
    read_heads_by_layer();
    return;
  }
  shape.n_heads = first_heads_ = size("heads", "attention.head_count", kMaxHeads);
  shape.n_kv_heads = size("kv_heads", "attention.head_count_kv", kMaxHeads);
  if (shape.n_kv_heads == 0 && shape.n_heads != 0) {
    shape.n_kv_heads = shape.n_heads;
    report_.field("kv_heads", std::to_string(shape.n_heads), Provenance::kFamilyDefault,
                  keys_.key("attention.head_count_kv") + " is absent: as many as heads");
  }
  if (shape.n_heads != 0 && shape.n_heads % shape.n_kv_heads != 0) {
    throw Error(keys_.place("attention.head_count_kv"),
                "must divide the " + std::to_string(shape.n_heads) + " heads",
                std::to_string(shape.n_kv_heads))
        .of(FaultKind::kNotDivisible);
  }
}

// Layers of several widths, or without attention: the largest counts stand for all.
void Reader::read_heads_by_layer() {
  const auto largest = [&](const std::string& name, std::string_view suffix) {
    const auto counts = keys_.counts(suffix, config_.shape.n_layers);
    if (!counts || counts->empty()) return int64_t{0};
    const auto [least, most] = std::ranges::minmax(*counts);
    refuse_above(keys_.place(suffix), most, kMaxHeads);
    report_.field(name,
                  least == most ? std::to_string(most)
                                : std::to_string(least) + " to " + std::to_string(most),
                  Provenance::kFile, keys_.key(suffix));
    if (suffix == "attention.head_count") {
      first_heads_ = counts->front() != 0 ? counts->front() : most;
    }
    return most;
  };
  config_.shape.n_heads = largest("heads", "attention.head_count");
  config_.shape.n_kv_heads = largest("kv_heads", "attention.head_count_kv");
}

void Reader::read_head_dim() {
  ModelShape& shape = config_.shape;
  const std::string_view latent = "attention.key_length_mla";
  const std::string_view suffix =
      architecture_.latent && keys_.has(latent) ? latent : "attention.key_length";
  shape.head_dim = size("head_dim", suffix, kMaxHeadDim);
  if (suffix == latent) keys_.mark("attention.key_length");  // of the cache
  if (shape.head_dim == 0 && shape.hidden != 0 && first_heads_ != 0) {
    if (shape.hidden % first_heads_ != 0) {
      throw Error(keys_.place("attention.head_count"),
                  "must divide embedding_length " + std::to_string(shape.hidden) +
                      ", as attention.key_length is absent",
                  std::to_string(first_heads_))
          .of(FaultKind::kNotDivisible);
    }
    shape.head_dim = shape.hidden / first_heads_;
    report_.field("head_dim", std::to_string(shape.head_dim), Provenance::kDerived,
                  "embedding_length / head_count");
  }
  refuse_above(keys_.place(suffix), shape.head_dim, kMaxHeadDim);
  const std::optional<int64_t> value_length = keys_.count("attention.value_length");
  if (architecture_.equal_widths && value_length && *value_length != shape.head_dim) {
    refuse_value_length(keys_.place("attention.value_length"), shape.head_dim, *value_length);
  }
}

void Reader::read_vocabulary() {
  const std::string_view list = "tokenizer.ggml.tokens";
  int64_t n_tokens = 0;
  if (file_.metadata().contains(list)) {
    n_tokens = static_cast<int64_t>(file_.metadata().get_string_array(list).size());
  }
  const int64_t declared = keys_.size("vocab_size").value_or(0);
  refuse_above(keys_.place("vocab_size"), declared, kMaxVocabulary);
  const TensorInfo* const embedding = file_.find_tensor("token_embd.weight");
  const int64_t rows = embedding == nullptr ? 0 : static_cast<int64_t>(row_count(*embedding));

  int64_t& vocabulary = config_.shape.vocabulary;
  if (rows != 0) {
    vocabulary = rows;
    report_.field("vocabulary", std::to_string(rows), Provenance::kFile,
                  "rows of token_embd.weight");
  } else if (declared != 0) {
    vocabulary = declared;
    report_.field_of_key(keys_, "vocabulary", "vocab_size");
  } else if (n_tokens != 0) {
    vocabulary = n_tokens;
    report_.field("vocabulary", std::to_string(n_tokens), Provenance::kFile,
                  "length of " + std::string(list));
  }
  if (n_tokens != 0 && n_tokens != vocabulary) {
    throw Error(file_.name() + ": " + std::string(list),
                "must have one token for each of the " + std::to_string(vocabulary) + " embeddings",
                std::to_string(n_tokens))
        .of(FaultKind::kWrongLength);
  }
  if (declared != 0 && declared != vocabulary) {
    report_.warn(FaultKind::kInconsistent, keys_.key("vocab_size"),
                 keys_.key("vocab_size") + " is " + std::to_string(declared) +
                     ", but the embedding has " + std::to_string(vocabulary) +
                     " rows: the rows count");
  }
}

// ---- positions

// Baichuan's two models go by one name.
void Reader::decide_by_layer_count() {
  if (!architecture_.by_layer_count) return;
  const int64_t n_layers = config_.shape.n_layers;
  if (n_layers == 0) {
    throw Error(keys_.place("block_count"), "must be present: 32 layers are rotary, 40 have ALiBi")
        .of(FaultKind::kMissingKey);
  }
  if (n_layers == 32) return;
  architecture_.positions = n_layers == 40 ? Positions::kAlibi : Positions::kNone;
  if (n_layers != 40) {
    report_.warn(FaultKind::kInconsistent, keys_.key("block_count"),
                 keys_.key("block_count") + " = " + std::to_string(n_layers) +
                     ": llama.cpp knows the models of 32 (rotary) and 40 layers (ALiBi), and gives "
                     "this one no positions");
  }
}

void Reader::read_rotary() {
  const ModelShape& shape = config_.shape;
  if (shape.head_dim == 0) {
    throw Error(keys_.place("attention.key_length"),
                "must be present, or embedding_length and attention.head_count")
        .of(FaultKind::kMissingKey);
  }
  if (context_length_ == 0) {
    throw Error(keys_.place("context_length"), "must be present").of(FaultKind::kMissingKey);
  }
  const auto before = std::ssize(report_.fields);
  const GgufLayers found = read_gguf_layers(keys_, architecture_, shape.n_layers, report_);
  const GgufGroupOf group_of = read_gguf_rope(
      file_, keys_, architecture_,
      {.head_dim = shape.head_dim, .context_length = context_length_, .window = found.window},
      report_);

  const bool alike = std::ranges::all_of(
      found.layers, [&](const GgufLayer& layer) { return layer == found.layers.front(); });
  if (alike) {
    LayerGroup group = group_of(found.layers.front());
    report_.fields.insert(report_.fields.begin() + before, group.fields.begin(),
                          group.fields.end());
    group.fields.clear();
    set_single_group(config_, shape.n_layers, std::move(group));
    return;
  }
  std::vector<std::string> names;
  for (const GgufLayer& layer : found.layers) names.push_back(layer_name(architecture_, layer));
  set_groups(config_, names, [&](const std::string& name) {
    return group_of(found.layers[std::ranges::find(names, name) - names.begin()]);
  });
  if (found.told) return;
  for (LayerGroup& group : config_.groups) group.layers.clear();
  config_.group_of_layer.assign(1, 0);
}

// ---- what running needs

void require(const GgufFile& file, const std::string& key, bool present) {
  if (present) return;
  throw Error(file.name() + ": " + key, "must be present").of(FaultKind::kMissingKey);
}

void require_runnable(const GgufFile& file, const ModelConfig& config) {
  const std::string prefix = config.architecture + ".";
  const ModelShape& shape = config.shape;
  require(file, prefix + "block_count", shape.n_layers != 0);
  require(file, prefix + "embedding_length", shape.hidden != 0);
  require(file, prefix + "attention.head_count", shape.n_heads != 0);
  for (const char* const list : {"attention.head_count", "attention.head_count_kv"}) {
    const GgufValue* const value = file.metadata().find(prefix + list);
    if (value == nullptr || value->type != GgufType::kArray) continue;
    throw Error(file.name() + ": " + prefix + list, "must be one number for all layers",
                value->describe());
  }
  require(file, prefix + "feed_forward_length", shape.ffn != 0);
  require(file,
          prefix + "attention.layer_norm_rms_epsilon or " + prefix + "attention.layer_norm_epsilon",
          file.metadata().contains(prefix + "attention.layer_norm_rms_epsilon") ||
              file.metadata().contains(prefix + "attention.layer_norm_epsilon"));
  if (file.is_part()) {
    throw Error(
        file.name() + ": split.count", "must be 1: a part of a model is not run without the others",
        std::to_string(file.metadata().get_u64("split.count")), "put all parts into one directory");
  }
  const std::string value_length = prefix + "attention.value_length";
  const GgufArchitecture& architecture = known_architecture(file, config.architecture);
  const auto width = file.metadata().find_i64(value_length);
  if (!architecture.latent && width && *width != shape.head_dim)
    refuse_value_length(file.name() + ": " + value_length, shape.head_dim, *width);
  require(file, "token_embd.weight", file.find_tensor("token_embd.weight") != nullptr);
  if (!file.has_data()) {
    throw Error(file.name(), "must hold the data of its tensors: it ends before they do");
  }

  const std::string causal = prefix + "attention.causal";
  if (!architecture.runs_both_ways && !file.metadata().find_bool(causal).value_or(true)) {
    throw Error(file.name() + ": " + causal, "must be true: only causal attention is run", "false");
  }
}

}  // namespace

ModelConfig read_gguf_positions(const GgufFile& file) {
  refuse_later_part(file);
  return Reader(file).read();
}

ModelConfig read_gguf_config(const GgufFile& file) {
  ModelConfig config = read_gguf_positions(file);
  require_runnable(file, config);
  return config;
}

}  // namespace ropewalk
