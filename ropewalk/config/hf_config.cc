// The declared configuration of config.json. Source: transformers, configuration_llama.py and its
// kin.
#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "ropewalk/config/hf_families.h"
#include "ropewalk/config/hf_rope.h"
#include "ropewalk/config/json_fields.h"
#include "ropewalk/config/model_config.h"
#include "ropewalk/schemes/registry.h"

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kNormEpsilon = 1e-6;  // where rms_norm_eps is absent

std::string known_families() {
  std::string names;
  for (const HfFamily& family : hf_families()) {
    names += (names.empty() ? "" : ", ") + std::string(family.name);
  }
  return names;
}

// Whether a key that nobody read may have meant to say something of positions.
bool is_position_key(const std::string& key) {
  constexpr std::array<std::string_view, 12> kHints = {"rope",   "rotary", "position",    "sliding",
                                                       "window", "alibi",  "ntk",         "logn",
                                                       "yarn",   "chunk",  "layer_types", "seq"};
  return std::ranges::any_of(kHints,
                             [&](std::string_view hint) { return key.find(hint) != key.npos; });
}

class Reader {
 public:
  Reader(const Json& config, const std::string& place) : place_(place), top_(config, place) {
    if (!top_.has_value("model_type")) throw top_.missing("model_type");
    config_.architecture = *top_.text("model_type");
    const HfFamily* const family = find_hf_family(config_.architecture);
    if (family == nullptr) {
      throw top_.wrong("model_type",
                       "must be one whose positions are known (" + known_families() + ")");
    }
    family_ = *family;
  }

  ModelConfig read() {
    read_sizes();
    read_layer_types();
    DeclaredRope rope = read_hf_rope(place_, top_, family_, config_.shape.head_dim);
    std::ranges::move(rope.fields, std::back_inserter(config_.fields));
    std::ranges::move(rope.findings, std::back_inserter(config_.findings));
    LayerGroup group = {.rotary = std::move(rope.rotary), .scheme = std::move(rope.scheme)};
    set_single_group(config_, config_.shape.n_layers, std::move(group));
    for (const std::string& key : top_.unread()) {
      if (!is_position_key(key) || !top_.has_value(key)) continue;
      config_.findings.push_back(
          {.key = key, .text = key + " = " + top_.spelled(key) + " is not used"});
    }
    return std::move(config_);
  }

 private:
  void field(std::string name, std::string value, Provenance provenance, std::string from) {
    config_.fields.push_back({std::move(name), std::move(value), provenance, std::move(from)});
  }

  // A size that may be absent: 0 then.
  int64_t size(const std::string& name, const std::string& key) {
    top_.mark(key);
    if (!top_.has(key)) return 0;
    field(name, top_.spelled(key), Provenance::kFile, key);
    return *top_.size(key);
  }

  void read_sizes();
  void read_heads();
  void read_head_dim();
  void derive_head_dim();
  void read_layer_types();

  const std::string& place_;
  JsonFields top_;
  HfFamily family_;
  ModelConfig config_;
};

void Reader::read_sizes() {
  ModelShape& shape = config_.shape;
  shape.n_layers = size("layers", "num_hidden_layers");
  if (shape.n_layers > kMaxLayers) {
    throw top_.wrong("num_hidden_layers", "must not exceed " + std::to_string(kMaxLayers));
  }
  shape.hidden = size("hidden", "hidden_size");
  read_heads();
  read_head_dim();
  shape.ffn = size("ffn", "intermediate_size");
  shape.vocabulary = size("vocabulary", "vocab_size");

  const std::string epsilon = "rms_norm_eps";
  shape.norm_epsilon = top_.number(epsilon).value_or(kNormEpsilon);
  if (shape.norm_epsilon < 0) throw top_.wrong(epsilon, "must not be negative");
  if (top_.has(epsilon)) {
    field("norm_epsilon", top_.spelled(epsilon), Provenance::kFile, epsilon);
  } else {
    field("norm_epsilon", to_text(kNormEpsilon), Provenance::kFamilyDefault,
          epsilon + " is absent");
  }
  const std::string tied = "tie_word_embeddings";
  shape.tied_output = top_.has_value(tied) && *top_.flag(tied);
}

void Reader::read_heads() {
  ModelShape& shape = config_.shape;
  const std::string heads = "num_attention_heads";
  shape.n_heads = top_.required_size(heads);
  field("heads", top_.spelled(heads), Provenance::kFile, heads);

  const std::string kv_heads = "num_key_value_heads";
  if (top_.has_value(kv_heads)) {
    shape.n_kv_heads = size("kv_heads", kv_heads);
  } else {
    shape.n_kv_heads = shape.n_heads;
    field("kv_heads", std::to_string(shape.n_heads), Provenance::kFamilyDefault,
          kv_heads + " is absent: as many as heads");
  }
  if (shape.n_heads % shape.n_kv_heads != 0) {
    throw top_.wrong(kv_heads, "must divide num_attention_heads " + std::to_string(shape.n_heads));
  }
}

void Reader::read_head_dim() {
  ModelShape& shape = config_.shape;
  const std::string head_dim = "head_dim";
  top_.mark(head_dim);
  if (top_.has_value(head_dim)) {
    shape.head_dim = size("head_dim", head_dim);
  } else if (family_.head_dim != 0) {
    shape.head_dim = family_.head_dim;
    field("head_dim", std::to_string(shape.head_dim), Provenance::kFamilyDefault,
          head_dim + " is absent");
  } else {
    derive_head_dim();
  }
  if (shape.head_dim > kMaxHeadDim) {
    throw Error(top_.place(head_dim), "must not exceed " + std::to_string(kMaxHeadDim),
                std::to_string(shape.head_dim));
  }
}

void Reader::derive_head_dim() {
  ModelShape& shape = config_.shape;
  if (shape.hidden == 0) throw top_.missing("hidden_size");
  if (shape.hidden % shape.n_heads != 0) {
    throw top_.wrong(
        "num_attention_heads",
        "must divide hidden_size " + std::to_string(shape.hidden) + ", as head_dim is absent");
  }
  shape.head_dim = shape.hidden / shape.n_heads;
  field("head_dim", std::to_string(shape.head_dim), Provenance::kDerived,
        "hidden_size / num_attention_heads");
}

// Only lists that say the same of every layer are read.
void Reader::read_layer_types() {
  const std::string key = "layer_types";
  const Json* const types = top_.raw(key);
  if (types == nullptr || types->is_null()) return;
  if (!types->is_array()) throw top_.wrong(key, "must be a list of strings");
  const int64_t n_layers = config_.shape.n_layers;
  if (n_layers != 0 && static_cast<int64_t>(types->size()) != n_layers) {
    throw Error(place_ + ": " + key,
                "must have one entry for each of " + std::to_string(n_layers) + " layers",
                std::to_string(types->size()) + " entries");
  }
  for (const Json& type : *types) {
    if (type == "full_attention") continue;
    throw Error(place_ + ": " + key,
                "must hold full_attention only: layers that differ are not read yet",
                json_text(type));
  }
}

// ---- what running needs

void require_runnable(const Json& document, const std::string& place) {
  JsonFields top(document, place);
  const HfFamily* const family = find_hf_family(*top.text("model_type"));
  if (!family->runs) {
    throw top.wrong("model_type", "must be one that the engine runs (llama, mistral)");
  }
  for (const char* key : {"num_hidden_layers", "hidden_size", "intermediate_size", "vocab_size"}) {
    top.required_size(key);
  }
  const std::string activation = "hidden_act";
  if (top.has(activation) && *top.text(activation) != "silu") {
    throw top.wrong(activation, "must be silu: no other is run");
  }
  for (const char* bias : {"attention_bias", "mlp_bias"}) {
    if (top.has_value(bias) && *top.flag(bias)) {
      throw top.wrong(bias, "must be false: biases are not run yet");
    }
  }
}

}  // namespace

ModelConfig read_hf_positions(const Json& config, const std::string& place) {
  if (!config.is_object()) throw Error(place, "must hold a JSON object", json_text(config));
  return Reader(config, place).read();
}

ModelConfig read_hf_config(const Json& config, const std::string& place) {
  ModelConfig result = read_hf_positions(config, place);
  require_runnable(config, place);
  return result;
}

}  // namespace ropewalk
