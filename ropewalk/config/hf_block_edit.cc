#include "ropewalk/config/hf_block_edit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/config/hf_families.h"
#include "ropewalk/config/hf_scaling_block.h"
#include "ropewalk/config/hf_text_model.h"
#include "ropewalk/config/spectrum_form.h"
#include "ropewalk/math/double_double.h"

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kLegacy = "rope_scaling";
constexpr const char* kModern = "rope_parameters";
constexpr const char* kBase = "rope_theta";
constexpr const char* kShare = "partial_rotary_factor";
constexpr const char* kLength = "max_position_embeddings";
constexpr const char* kOriginal = "original_max_position_embeddings";
constexpr const char* kSteps = "llama_4_scaling_beta";

// Keys of a block of each type that change what it means, beside those that it must have. Others are
// never taken out of a block of the same type.
const std::map<std::string, std::vector<std::string>>& telling_keys() {
  static const std::map<std::string, std::vector<std::string>> kKeys = {
      {"yarn",
       {"attention_factor", "attn_factor", "mscale", "mscale_all_dim", "beta_fast", "beta_slow",
        "truncate", "apply_yarn_scaling", "extrapolation_factor"}},
      {"longrope", {"attention_factor", "short_mscale", "long_mscale"}},
      {"dynamic", {"alpha"}},
      {"proportional", {"factor"}},
      {"ntk", {"mixed_b"}}};
  return kKeys;
}

bool has_value(const Json& object, const std::string& key) {
  const auto found = object.find(key);
  return found != object.end() && !found->is_null();
}

bool is_filled(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_object() && !found->empty();
}

std::string spelled_type(const Json& block) {
  for (const char* key : {"rope_type", "type"}) {
    if (has_value(block, key) && block[key].is_string()) return block[key].get<std::string>();
  }
  return "default";
}

// Of types that are spelled in several ways, or that hold the same keys.
std::string same_type(const std::string& type) {
  if (type == "su") return "longrope";
  if (type == "none" || type == "mrope") return "default";
  if (type == "deepseek_yarn") return "yarn";
  return type == "xdrope" ? "dynamic" : type;
}

bool is_label(const std::string& key, const Json& value) {
  return value.is_object() && (key.ends_with("_attention") || key == "main" || key == "compress");
}

bool is_nested(const Json& block) {
  const auto items = block.items();
  return std::any_of(items.begin(), items.end(),
                     [](const auto& item) { return is_label(item.key(), item.value()); });
}

// As engines derive it where no key says it; see hf_yarn.cc.
double derived_amplitude(DoubleDouble factor, int64_t original) {
  if (factor <= 1 || original <= 1) return 1;
  return static_cast<double>(sqrt(1 + log(factor) / log(DoubleDouble(original))));
}

class Editor {
 public:
  Editor(const Json& document, const std::string& place, const ModelConfig& declared,
         const HfForm& form, int64_t target_length)
      : document_(document),
        place_(place),
        declared_(declared),
        lead_(leading_group(declared)),
        form_(form),
        target_length_(target_length) {
    HfTextModel text(document, place);
    family_ = &text.family();
    find_model(text.fields().name("model_type"));
  }

  Json edited() {
    if (!form_.as_declared) {
      add_default_block();
      edit_blocks();
      if (form_.base) set_base(*form_.base);
      edit_top_original();
    }
    for (const auto& [key, value] : form_.top.items()) merge((*model_)[key], value);
    if (form_.step_scale) set_steps(*form_.step_scale);
    if (target_length_ != 0 && !form_.keeps_length) set_length();
    return std::move(document_);
  }

 private:
  void find_model(const std::string& name);
  Json* find_path(const std::string& path);
  void add_default_block();
  void edit_blocks();
  Json& nested_block(Json& parent);
  void rebuild(Json& block) const;
  void set_type(Json& block, const std::string& type) const;
  void drop_derivable(const Json& old, Json& wanted) const;
  void set_base(double base);
  void edit_top_original();
  void set_steps(double scale);
  void set_length();
  const DeclaredField* field(const std::string& name) const;
  int64_t trained() const { return lead_.rotary->source.trained_length; }
  int64_t new_length() const;

  static void merge(Json& target, const Json& value) {
    if (!target.is_object() || !value.is_object()) {
      target = value;
      return;
    }
    for (const auto& [key, entry] : value.items()) target[key] = entry;
  }

  Json document_;
  const std::string& place_;
  const ModelConfig& declared_;
  const LayerGroup& lead_;
  const HfForm& form_;
  const int64_t target_length_;
  const HfFamily* family_ = nullptr;
  Json* model_ = nullptr;      // the object of the text model
  std::vector<Json*> blocks_;  // those that speak of the leading layers
  bool nested_ = false;
};

// ---- where things stand

//   name  of model_type: "text_config.model_type"
void Editor::find_model(const std::string& name) {
  model_ = &document_;
  size_t start = 0;
  for (size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', start)) {
    model_ = &(*model_)[name.substr(start, dot - start)];
    start = dot + 1;
  }
}

// A number that a field was read from; null where it is not told so.
Json* Editor::find_path(const std::string& path) {
  for (Json* object : {&document_, model_}) {
    Json* value = object;
    size_t start = 0;
    while (value != nullptr && start <= path.size()) {
      const size_t dot = std::min(path.find('.', start), path.size());
      std::string key = path.substr(start, dot - start);
      std::optional<size_t> index;
      const size_t bracket = key.find('[');
      if (bracket != std::string::npos) {
        index = std::stoul(key.substr(bracket + 1));
        key.resize(bracket);
      }
      const bool there = value->is_object() && value->contains(key);
      value = there ? &(*value)[key] : nullptr;
      if (value != nullptr && index) {
        value = value->is_array() && *index < value->size() ? &(*value)[*index] : nullptr;
      }
      start = dot + 1;
    }
    if (value != nullptr && value->is_number()) return value;
  }
  return nullptr;
}

const DeclaredField* Editor::field(const std::string& name) const {
  for (const auto* fields : {&lead_.fields, &declared_.fields}) {
    const auto found = std::ranges::find(*fields, name, &DeclaredField::name);
    if (found != fields->end()) return &*found;
  }
  return nullptr;
}

// ---- blocks

// A model type with a block of its own would take that again where the file has none.
void Editor::add_default_block() {
  if (family_->block.empty() || is_filled(*model_, kModern) || is_filled(*model_, kLegacy)) return;
  (*model_)[kModern] = Json::parse(family_->block);
}

Json& Editor::nested_block(Json& parent) {
  nested_ = true;
  const std::string own = lead_.name.substr(0, lead_.name.find(','));
  for (const std::string& label : {own, std::string("full_attention"), std::string("compress")}) {
    if (parent.contains(label) && parent[label].is_object()) return parent[label];
  }
  for (const auto& [key, value] : parent.items()) {
    if (is_label(key, value)) return parent[key];
  }
  return parent;
}

void Editor::edit_blocks() {
  for (const char* key : {kModern, kLegacy}) {
    if (!is_filled(*model_, key)) continue;
    Json& block = (*model_)[key];
    blocks_.push_back(is_nested(block) ? &nested_block(block) : &block);
  }
  if (blocks_.empty()) {
    if (!form_.block.is_null()) (*model_)[kLegacy] = form_.block;
    return;
  }
  for (Json* const block : blocks_) rebuild(*block);
  // Plain RoPE needs no block of the old form that says nothing else, but where the model type
  // would take its own in its place.
  if (!form_.block.is_null() || !is_filled(*model_, kLegacy) || !family_->block.empty()) return;
  Json& legacy = (*model_)[kLegacy];
  const auto items = legacy.items();
  const bool only_type = std::all_of(items.begin(), items.end(), [](const auto& item) {
    return item.key() == "type" || item.key() == "rope_type" || item.value().is_null();
  });
  if (only_type) legacy = nullptr;
}

void Editor::set_type(Json& block, const std::string& type) const {
  if (same_type(spelled_type(block)) == type) return;
  const bool modern = block.contains("rope_type");
  const bool legacy = block.contains("type");
  if (modern || !legacy) block["rope_type"] = type;
  if (legacy) block["type"] = type;
}

// LongRoPE's amplitude, where the file's block left it to be derived and it comes to the same.
void Editor::drop_derivable(const Json& old, Json& wanted) const {
  if (!form_.derivable_amplitude) return;
  for (const char* key : {"attention_factor", "short_mscale", "long_mscale"}) {
    if (has_value(old, key)) return;
  }
  const int64_t original = trained();
  if (original < 1) return;
  DoubleDouble factor = DoubleDouble(new_length()) / DoubleDouble(original);
  if (has_value(old, "factor") && old["factor"].is_number()) factor = old["factor"].get<double>();
  if (derived_amplitude(factor, original) != *form_.derivable_amplitude) return;
  for (const char* key : {"attention_factor", "short_mscale", "long_mscale"}) wanted.erase(key);
}

// The form's keys in place of those that the block has for its own scaling.
void Editor::rebuild(Json& block) const {
  const Json old = block;
  Json wanted = form_.block.is_null() ? Json{{"rope_type", "default"}} : form_.block;
  const auto type = wanted["rope_type"].get<std::string>();
  wanted.erase("rope_type");
  const bool same = same_type(spelled_type(old)) == type;
  if (same) {
    drop_derivable(old, wanted);
    for (const auto& [key, value] : form_.spare.items()) {
      if (has_value(old, key)) wanted[key] = value;
    }
  }
  const auto drop = [&](const std::string& key) {
    if (has_value(block, key) && !wanted.contains(key)) block.erase(key);
  };
  if (!same) {
    for (const HfScalingKey& key : hf_scaling_keys()) {
      if (key.says == HfScalingKey::Says::kScaling) drop(std::string(key.name));
    }
  } else if (const auto found = telling_keys().find(type); found != telling_keys().end()) {
    for (const std::string& key : found->second) drop(key);
  }
  if (!same && spelled_type(old) == "proportional") drop(kShare);
  set_type(block, type);
  // One at the top of the file says it for blocks that left it to that.
  const bool on_top = !nested_ && has_value(*model_, kOriginal) && !has_value(old, kOriginal);
  for (const auto& [key, value] : wanted.items()) {
    if (key == kOriginal && on_top && same) continue;
    block[key] = value;
  }
}

// transformers lets the one on top win.
void Editor::edit_top_original() {
  if (nested_ || !has_value(*model_, kOriginal)) return;
  (*model_)[kOriginal] =
      form_.block.is_object() ? form_.block.value(kOriginal, trained()) : trained();
}

// ---- single keys

void Editor::set_base(double base) {
  if (family_->base_rule == HfFamily::Base::kRatio) {
    (*model_)[std::string(family_->base_keys)] = base / family_->base;
    return;
  }
  const DeclaredField* const from = field("base");
  if (from != nullptr && from->provenance == Provenance::kDerived) {
    throw Error(place_, "must keep its base, which is " + from->from,
                "rope_theta " + std::to_string(base));
  }
  if (family_->base_rule == HfFamily::Base::kFixed) {
    throw Error(place_, "must keep its base: no key of model_type " + std::string(family_->name) +
                            " changes it");
  }
  Json* const own =
      from != nullptr && from->provenance == Provenance::kFile ? find_path(from->from) : nullptr;
  if (own != nullptr) *own = base;
  if (nested_) {
    if (own == nullptr || blocks_.front()->contains(kBase) || model_->contains(kBase)) {
      (*blocks_.front())[kBase] = base;
    }
    return;
  }
  // Others that say the same must go on doing so.
  bool said = own != nullptr;
  for (Json* const block : blocks_) {
    if (block == nullptr || !block->is_object() || !has_value(*block, kBase)) continue;
    (*block)[kBase] = base;
    said = true;
  }
  const bool on_top = has_value(*model_, kBase) && (*model_)[kBase].is_number();
  if (on_top) (*model_)[kBase] = base;
  if (said || on_top) return;
  Json& holder = is_filled(*model_, kModern) ? (*model_)[kModern] : *model_;
  holder[kBase] = base;
}

void Editor::set_steps(double scale) {
  for (const char* key : {kModern, kLegacy}) {
    if (!is_filled(*model_, key)) continue;
    Json& block = (*model_)[key];
    if (has_value(*model_, kSteps) && !has_value(block, kSteps)) continue;
    block[kSteps] = scale;
    return;
  }
  (*model_)[kSteps] = scale;
}

int64_t Editor::new_length() const {
  if (target_length_ != 0 && !form_.keeps_length) return target_length_;
  const DeclaredField* const length = field("context_length");
  return length == nullptr ? trained() : std::stoll(length->value);
}

void Editor::set_length() {
  const DeclaredField* const length = field("context_length");
  Json* const own = length != nullptr && length->provenance == Provenance::kFile
                        ? find_path(length->from)
                        : nullptr;
  (own != nullptr ? *own : (*model_)[kLength]) = target_length_;
}

}  // namespace

Json edited_hf_config(const Json& document, const std::string& place, const ModelConfig& declared,
                      const HfForm& form, int64_t target_length) {
  return Editor(document, place, declared, form, target_length).edited();
}

}  // namespace ropewalk
