// Source: transformers, modeling_rope_utils.py: standardize_rope_params and what came before it.
#include "ropewalk/config/hf_scaling_block.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "ropewalk/config/hf_spelling.h"
#include "ropewalk/formats/printable.h"

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;

using Says = HfScalingKey::Says;

using Rule = HfScalingRule;

constexpr std::array<HfScalingType, 12> kTypes = {{
    {"default", Rule::kPlain},
    {"linear", Rule::kLinear},
    {"dynamic", Rule::kDynamic},
    {"yarn", Rule::kYarn},
    {"llama3", Rule::kLlama3},
    {"longrope", Rule::kLongrope},
    {"ntk", Rule::kNtk},
    {"mrope", Rule::kPlain},
    {"xdrope", Rule::kAlpha},
    {"proportional", Rule::kProportional},
    {"deepseek_yarn", Rule::kYarn},
    {"telechat3-yarn", Rule::kYarn},
}};

constexpr std::array<HfScalingKey, 30> kKeys = {{
    {"rope_type", Says::kBeside},
    {"type", Says::kBeside},
    {"rope_theta", Says::kBeside},
    {"partial_rotary_factor", Says::kBeside},
    {"factor", Says::kScaling},
    {"original_max_position_embeddings", Says::kScaling},
    {"beta_fast", Says::kScaling},
    {"beta_slow", Says::kScaling},
    {"attention_factor", Says::kScaling},
    {"attn_factor", Says::kScaling},
    {"extrapolation_factor", Says::kScaling},
    {"apply_yarn_scaling", Says::kScaling},
    {"truncate", Says::kScaling},
    {"mscale", Says::kScaling},
    {"mscale_all_dim", Says::kScaling},
    {"finetuned", Says::kInformation},
    {"low_freq_factor", Says::kScaling},
    {"high_freq_factor", Says::kScaling},
    {"long_factor", Says::kScaling},
    {"short_factor", Says::kScaling},
    {"long_mscale", Says::kScaling},
    {"short_mscale", Says::kScaling},
    {"alpha", Says::kScaling},
    {"mixed_b", Says::kScaling},
    {"mrope_section", Says::kBeside},
    {"mrope_interleaved", Says::kBeside},
    {"xdrope_section", Says::kBeside},
    {"llama_4_scaling_beta", Says::kBeside},
    {"max_position_embeddings", Says::kInformation},
    {"max_trained_positions", Says::kScaling},
}};

bool is_beside_scaling(const std::string& key) {
  const auto* const found = std::ranges::find(kKeys, key, &HfScalingKey::name);
  return found != kKeys.end() && found->says == Says::kBeside;
}

// Names of the same thing.
std::string canonical_type(const std::string& type) {
  if (type == "su") return "longrope";
  return type == "none" ? "default" : type;
}

bool is_label(const std::string& key, const Json& value) {
  const bool named = key.ends_with("_attention") || key == "main" || key == "compress";
  return named && (value.is_object() || value.is_null());
}

size_t count_labels(const Json& block) {
  const auto items = block.items();
  return static_cast<size_t>(std::count_if(items.begin(), items.end(), [](const auto& item) {
    return is_label(item.key(), item.value());
  }));
}

struct DeclaredType {
  std::string type = "default";
  std::string key;
};

// Sections of a "mrope" block: its frequencies are the default ones.
DeclaredType type_of(JsonFields& block, const HfFamily& family) {
  std::optional<std::string> modern;
  std::optional<std::string> legacy;
  block.mark("rope_type");
  block.mark("type");
  if (block.has_value("rope_type")) modern = block.text("rope_type");
  if (block.has_value("type")) legacy = block.text("type");
  const bool axes_only = modern && legacy && canonical_type(*modern) == "default" &&
                         *legacy == "mrope";  // what transformers 5 writes beside the old one
  if (modern && legacy && !axes_only && canonical_type(*modern) != canonical_type(*legacy)) {
    throw Error(block.place("rope_type"),
                "must agree with " + block.name("type") + " " + printable(*legacy, 60),
                printable(*modern, 60))
        .of(FaultKind::kConflict);
  }
  if (!modern && !legacy) return {};
  const std::string spelled = modern && !axes_only ? *modern : *legacy;
  DeclaredType declared = {canonical_type(spelled), modern && !axes_only ? "rope_type" : "type"};
  if (declared.type == family.plain_type) declared.type = "default";
  std::vector<std::string> names;
  std::string known;
  for (const HfScalingType& type : kTypes) {
    if (type.name == declared.type) return declared;
    known += (known.empty() ? "" : ", ") + names.emplace_back(type.name);
  }
  const std::string nearest = nearest_spelling(spelled, names);
  throw Error(block.place(declared.key), "must be one of " + known + " (su is longrope)",
              printable(spelled, 60), nearest.empty() ? "" : "did you mean " + nearest + "?")
      .of(FaultKind::kUnknownValue);
}

// What a block says of the scaling alone.
Json scaling_only(const Json& block, const std::string& type) {
  Json only = Json::object();
  for (const auto& [key, value] : block.items()) {
    if (!is_beside_scaling(key)) only[key] = value;
  }
  only["rope_type"] = type;
  return only;
}

bool same_fields(const Json& a, const Json& b) {
  return a.size() == b.size() &&
         std::all_of(a.items().begin(), a.items().end(), [&](const auto& item) {
           const auto found = b.find(item.key());
           return found != b.end() && *found == item.value();
         });
}

}  // namespace

std::span<const HfScalingType> hf_scaling_types() { return kTypes; }

std::span<const HfScalingKey> hf_scaling_keys() { return kKeys; }

// ---- one layer type

JsonFields* HfKeys::find(const std::string& key) const {
  JsonFields* found = nullptr;
  for (JsonFields* const fields : holders) {
    fields->mark(key);
    if (!fields->has_value(key)) continue;
    if (found == nullptr || found->is_defaults()) {
      found = fields;
    } else if (must_agree && *fields->raw(key) != *found->raw(key)) {
      throw fields->wrong(key, "must agree with " + found->name(key) + " " + found->spelled(key),
                          FaultKind::kConflict);
    }
  }
  return found;
}

// ---- all

HfBlocks::HfBlocks(HfReading& reading, const HfLayers& layers) : reading_(reading) {
  for (const HfLayer& layer : layers.layers) layer_types_.push_back(layer.type);
  const Json* const legacy = reading.top.object("rope_scaling");
  const Json* const modern = reading.top.object("rope_parameters");
  const bool has_legacy = legacy != nullptr && !legacy->empty();
  const bool has_modern = modern != nullptr && !modern->empty();
  if (!has_legacy && !has_modern) {
    add_defaults();
    return;
  }

  // A nested form says more than a flat one.
  const bool nested_modern = has_modern && count_labels(*modern) != 0;
  path_ = has_legacy && !nested_modern ? "rope_scaling" : "rope_parameters";
  const Json& chosen = path_ == "rope_scaling" ? *legacy : *modern;
  if (count_labels(chosen) != 0) {
    add_nested(chosen);
  } else {
    add_block({}, chosen, reading.top.name(path_));
  }
  if (has_legacy && has_modern) compare_forms(*legacy, *modern);
}

JsonFields* HfBlocks::add(const Json& object, const std::string& path) {
  return &storage_.emplace_back(object, reading_.file, path);
}

void HfBlocks::add_block(const std::string& label, const Json& object, const std::string& path) {
  Block block = {.label = label, .fields = add(object, path)};
  const DeclaredType declared = type_of(*block.fields, reading_.family);
  if (declared.key.empty()) {
    const Json rest = scaling_only(object, "default");
    for (const auto& [key, value] : rest.items()) {
      if (key == "rope_type" || value.is_null()) continue;
      throw block.fields->missing("rope_type", "without it " + key + " would be ignored");
    }
  }
  block.type = declared.type;
  block.type_key = declared.key;
  blocks_.push_back(std::move(block));
}

void HfBlocks::add_nested(const Json& object) {
  nested_ = true;
  const std::string path = reading_.top.name(path_);
  const auto has_type = [&](const std::string& type) {
    return std::ranges::find(layer_types_, type) != layer_types_.end();
  };
  for (const auto& [key, value] : object.items()) {
    if (!is_label(key, value)) {
      if (value.is_null()) continue;
      throw reading_.top.wrong(path_,
                               "must not mix layer types with keys of one block, here " + key,
                               FaultKind::kConflict);
    }
    if (value.is_null()) {
      blocks_.push_back({.label = key});
    } else {
      add_block(key, value, path + "." + key);
      if (key != "main" && key != "compress" && !has_type(key)) {
        reading_.notes.warn(path + "." + key, path + "." + key + " is of no layer of this file",
                            FaultKind::kInconsistent);
      }
    }
  }
}

// Both forms must declare the same scaling; the other one may hold the base.
void HfBlocks::compare_forms(const Json& legacy, const Json& modern) {
  const bool legacy_chosen = path_ == "rope_scaling";
  const Json& chosen = legacy_chosen ? legacy : modern;
  const Json& other = legacy_chosen ? modern : legacy;
  const std::string other_path =
      reading_.top.name(legacy_chosen ? "rope_parameters" : "rope_scaling");
  if (count_labels(other) != 0) {
    compare_labels(chosen, other, other_path);
  } else {
    compare_flat(chosen, other, other_path);
  }
}

Error HfBlocks::forms_differ(const std::string& where) const {
  return reading_.top.wrong("rope_scaling", "must say the same as rope_parameters" + where,
                            FaultKind::kConflict);
}

bool HfBlocks::is_same(const Block& block, const Json& chosen, JsonFields& twin,
                       const Json& other) {
  return same_fields(scaling_only(chosen, block.type),
                     scaling_only(other, type_of(twin, reading_.family).type));
}

// Two nested forms, label by label; a base that both have must agree as well.
void HfBlocks::compare_labels(const Json& chosen, const Json& other,
                              const std::string& other_path) {
  if (chosen.size() != other.size()) throw forms_differ(": the same layer types");
  for (const auto& [label, theirs] : other.items()) {
    const auto own = chosen.find(label);
    const std::string where = " of " + label;
    if (own == chosen.end() || own->is_null() != theirs.is_null()) throw forms_differ(where);
    if (theirs.is_null()) continue;
    JsonFields* const twin = add(theirs, other_path + "." + label);
    const Block& block = *std::ranges::find(blocks_, label, &Block::label);
    if (!is_same(block, *own, *twin, theirs)) throw forms_differ(where);
    for (const auto& [key, value] : theirs.items()) {
      const bool is_type = key == "type" || key == "rope_type";
      const auto twice = own->find(key);
      if (twice == own->end()) continue;
      if (!is_type && *twice != value) throw forms_differ(where + ", here " + key);
      twin->mark(key);
    }
  }
}

// A flat form is the one of full attention, where the other has blocks by layer types.
void HfBlocks::compare_flat(const Json& chosen, const Json& other, const std::string& other_path) {
  JsonFields* const twin = add(other, other_path);
  const Block* const own = find("full_attention");
  if (own == nullptr || own->fields == nullptr) {
    const Json rest = scaling_only(other, type_of(*twin, reading_.family).type);
    if (rest.size() > 1 || rest["rope_type"] != "default") {
      throw forms_differ(": no block of full_attention holds it");
    }
    return;
  }
  if (!is_same(*own, nested_ ? chosen[own->label] : chosen, *twin, other)) {
    throw forms_differ(nested_ ? " of " + own->label : "");
  }
  for (const auto& [key, value] : other.items()) {
    if (!is_beside_scaling(key)) twin->mark(key);
  }
  if (!nested_) {
    twin_ = twin;
    return;
  }
  for (const Block& block : blocks_) {
    if (&block == own || block.fields == nullptr || reading_.family.scaling_on_full_only) continue;
    if (is_same(block, chosen[block.label], *twin, other)) continue;
    reading_.notes.info(other_path, other_path + " is not used for " + block.label +
                                        " layers, which have a block of their own");
  }
}

// The model type's own block, where the file has none.
void HfBlocks::add_defaults() {
  path_ = "rope_parameters";
  if (reading_.family.block.empty()) return;
  defaults_ = Json::parse(reading_.family.block);
  if (count_labels(defaults_) != 0) {
    add_nested(defaults_);
  } else {
    add_block({}, defaults_, path_);
  }
  for (JsonFields& fields : storage_) fields.set_defaults();
  reading_.notes.info(reading_.top.name(path_),
                      "neither rope_scaling nor rope_parameters is there: the model type's "
                      "own block is taken, " +
                          json_text(defaults_));
}

// DeepSeek-V4's blocks go by what a layer does, not by its type.
const HfBlocks::Block* HfBlocks::find(const std::string& layer_type) const {
  const auto labelled = [&](const std::string& label) {
    return std::ranges::find(blocks_, label, &Block::label);
  };
  auto found = labelled(nested_ ? layer_type : std::string());
  if (found == blocks_.end() && nested_) {
    found = labelled(layer_type == "sliding_attention" ? "main" : "compress");
  }
  return found == blocks_.end() ? nullptr : &*found;
}

bool HfBlocks::says_none(const std::string& layer_type) const {
  const Block* const block = find(layer_type);
  return block != nullptr && block->fields == nullptr;
}

HfKeys HfBlocks::keys(const std::string& layer_type) {
  HfKeys keys;
  const Block* const block = find(layer_type);
  if (block == nullptr && nested_) {
    throw Error(reading_.top.place(path_) + "." + layer_type, "must be present", {},
                "null where these layers are not rotated")
        .of(FaultKind::kMissingKey);
  }
  if (block != nullptr && block->fields != nullptr) {
    keys.holders.push_back(block->fields);
    const bool plain =
        !nested_ && reading_.family.scaling_on_full_only && layer_type == "sliding_attention";
    if (!plain) {
      keys.block = block->fields;
      keys.type = block->type;
      keys.type_key = block->type_key;
    }
  }
  if (twin_ != nullptr) keys.holders.push_back(twin_);
  keys.holders.push_back(&reading_.top);
  keys.must_agree = !nested_;
  return keys;
}

void HfBlocks::note_unread() {
  std::vector<std::string> known;
  for (const HfScalingKey& key : kKeys) known.emplace_back(key.name);
  for (JsonFields& fields : storage_) {
    if (fields.is_defaults()) continue;
    for (const std::string& key : fields.unread()) {
      if (!fields.has_value(key)) continue;
      const std::string text = fields.name(key) + " = " + fields.spelled(key) + " is not used";
      if (std::ranges::find(known, key) != known.end()) {
        reading_.notes.info(fields.name(key), text + " by this type");
        continue;
      }
      const std::string nearest = nearest_spelling(key, known);
      reading_.notes.warn(fields.name(key),
                          text + ": no engine knows this key" +
                              (nearest.empty() ? "" : "; did you mean " + nearest + "?"),
                          FaultKind::kUnknownValue);
    }
  }
}

}  // namespace ropewalk
