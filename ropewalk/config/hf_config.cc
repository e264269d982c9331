// The declared configuration of config.json. Source: transformers, configuration_llama.py and its
// kin.
#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "ropewalk/config/hf_families.h"
#include "ropewalk/config/hf_layers.h"
#include "ropewalk/config/hf_mechanisms.h"
#include "ropewalk/config/hf_rope.h"
#include "ropewalk/config/hf_scaling_block.h"
#include "ropewalk/config/hf_shape.h"
#include "ropewalk/config/hf_text_model.h"
#include "ropewalk/config/hf_unread.h"
#include "ropewalk/config/json_fields.h"
#include "ropewalk/config/model_config.h"
#include "ropewalk/formats/printable.h"

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;

class Reader {
 public:
  Reader(const Json& config, const std::string& place)
      : text_(config, place),
        reading_{.file = place,
                 .top = text_.fields(),
                 .family = text_.family(),
                 .notes = notes_,
                 .class_sizes =
                     text_.is_wrapped() ? find_hf_class_sizes(text_.family().name) : nullptr} {
    config_.architecture = printable(text_.model_type(), 60);
  }

  ModelConfig read() {
    text_.refuse_other_than_flags();
    if (text_.is_wrapped()) text_.note_outside(notes_);
    config_.shape = read_hf_shape(reading_);
    HfMechanisms found = read_hf_mechanisms(reading_, config_.shape);
    config_.mechanisms = std::move(found.mechanisms);
    if (found.rotary) {
      read_rotary();
    } else {
      set_single_group(config_, config_.shape.n_layers, {});
      read_unrotated(found);
    }
    if (reading_.length) config_.context_length = reading_.length->positions;
    note_unread_keys(reading_.top, notes_);
    std::ranges::move(notes_.findings, std::back_inserter(config_.findings));
    config_.fields.insert(config_.fields.begin(), notes_.fields.begin(), notes_.fields.end());
    return std::move(config_);
  }

 private:
  void read_unrotated(const HfMechanisms& found);
  void read_rotary();
  LayerGroup read_group(const HfLayer& layer);
  LayerGroup read_still_group(const std::string& layer_type);
  void name_layers(const HfLayers& layers);
  void read_usable();

  HfNotes notes_;
  HfTextModel text_;
  HfReading reading_;
  ModelConfig config_;
  std::unique_ptr<HfBlocks> blocks_;
  std::vector<std::string> names_;  // of groups, by layer
  std::map<std::string, HfLayer> layer_of_name_;
};

void Reader::read_unrotated(const HfMechanisms& found) {
  config_.usable_length = found.usable_length;
  config_.usable_reason = found.usable_reason;
  if (config_.mechanisms.empty()) {
    config_.usable_reason = "nothing tells positions apart but the model's causal order";
  }
}

// A type of which some layers are rotated and some are not is two groups.
void Reader::name_layers(const HfLayers& layers) {
  const auto count = [&](const HfLayer& layer, bool rotates) {
    return std::ranges::count_if(layers.layers, [&](const HfLayer& other) {
      return other.type == layer.type && other.rotates == rotates;
    });
  };
  const bool alike = std::ranges::all_of(layers.layers, [&](const HfLayer& layer) {
    return layer.type == layers.layers[0].type && layer.rotates == layers.layers[0].rotates;
  });
  for (const HfLayer& layer : layers.layers) {
    const bool mixed = count(layer, true) != 0 && count(layer, false) != 0;
    std::string name = alike ? std::string() : layer.type;
    if (mixed && !layer.rotates) name += ", not rotated";
    layer_of_name_[name] = layer;
    names_.push_back(std::move(name));
  }
}

void Reader::read_rotary() {
  const HfLayers layers = read_hf_layers(reading_, config_.shape.n_layers);
  if (layers.counted) config_.shape.n_layers = static_cast<int64_t>(layers.layers.size());
  blocks_ = std::make_unique<HfBlocks>(reading_, layers);
  name_layers(layers);
  set_groups(config_, names_,
             [&](const std::string& name) { return read_group(layer_of_name_.at(name)); });
  if (config_.groups.size() == 1) {
    // What holds for the one group holds for all layers.
    std::ranges::move(config_.groups[0].fields, std::back_inserter(config_.fields));
    config_.groups[0].fields.clear();
  }
  if (!layers.counted) {
    for (LayerGroup& group : config_.groups) group.layers.clear();
    config_.group_of_layer.assign(1, 0);
  }
  blocks_->note_unread();
  read_usable();
}

LayerGroup Reader::read_still_group(const std::string& layer_type) {
  LayerGroup group;
  if (!has_attention(layer_type)) return group;
  HfNotes notes;
  group.temperature = read_hf_still_temperature(reading_, notes);
  group.fields = std::move(notes.fields);
  return group;
}

LayerGroup Reader::read_group(const HfLayer& layer) {
  if (layer.rotates && blocks_->says_none(layer.type)) {
    const std::string key = reading_.top.name("rope_parameters." + layer.type);
    notes_.info(key, key + " is null: these layers are not rotated");
    return read_still_group(layer.type);
  }
  if (!layer.rotates) return read_still_group(layer.type);
  HfRope rope =
      read_hf_rope(reading_, *blocks_, config_.shape, read_hf_length(reading_), layer.type);
  if (config_.shape.head_dim == 0) config_.shape.head_dim = rope.head.dim;
  for (const Finding& finding : rope.notes.findings) notes_.add(finding);
  rope.group.fields = std::move(rope.notes.fields);
  if (rope.usable_length > config_.usable_length) {
    config_.usable_length = rope.usable_length;
    config_.usable_reason = rope.usable_reason;
  }
  return std::move(rope.group);
}

void Reader::read_usable() {
  if (config_.usable_length != 0 || trained_length(config_) == 0) return;
  const HfLength& length = read_hf_length(reading_);
  config_.usable_length = length.positions;
  config_.usable_reason =
      length.is_default() ? "the model type's default of max_position_embeddings" : length.key;
}

// ---- what running needs

std::string first_spelling(std::string_view keys) {
  return keys.empty() ? std::string() : spellings(keys).front();
}

void require_runnable(const Json& document, const std::string& place, ModelShape& shape) {
  HfTextModel text(document, place);
  text.require_text_alone();
  JsonFields& top = text.fields();
  const HfSizes& sizes = text.family().sizes;
  const auto require = [&](bool there, std::string_view key) {
    if (!there) throw top.missing(std::string(key));
  };
  require(shape.n_layers != 0, "num_hidden_layers");
  require(shape.hidden != 0, "hidden_size");
  require(shape.n_heads != 0, "num_attention_heads");
  require(shape.n_kv_heads != 0, "num_key_value_heads");
  if (!sizes.head_key.empty()) require(shape.head_dim != 0, sizes.head_key);
  require(shape.ffn != 0, first_spelling(sizes.ffn_key));
  require(shape.vocabulary != 0, "vocab_size");
  require(shape.norm_epsilon != 0 || !top.spelling(spellings(sizes.norm_key)).empty(),
          first_spelling(sizes.norm_key));
  if (shape.head_dim != 0) return;  // 0: nothing is rotated
  if (shape.hidden % shape.n_heads != 0) {
    throw top.wrong("num_attention_heads",
                    "must divide the hidden width " + std::to_string(shape.hidden),
                    FaultKind::kNotDivisible);
  }
  shape.head_dim = shape.hidden / shape.n_heads;
}

}  // namespace

ModelConfig read_hf_positions(const Json& config, const std::string& place) {
  if (!config.is_object()) throw Error(place, "must hold a JSON object", json_text(config));
  return Reader(config, place).read();
}

ModelConfig read_hf_config(const Json& config, const std::string& place) {
  ModelConfig result = read_hf_positions(config, place);
  require_runnable(config, place, result.shape);
  return result;
}

}  // namespace ropewalk
