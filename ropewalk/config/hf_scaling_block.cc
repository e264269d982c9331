// Source: transformers, modeling_rope_utils.py: standardize_rope_params and what came before it.
#include "ropewalk/config/hf_scaling_block.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 6> kTypes = {"default", "linear", "dynamic",
                                                    "yarn",    "llama3", "longrope"};

// Null where the key is absent, null or {}.
const Json* block_named(const std::string& key, JsonFields& top) {
  const Json* const block = top.raw(key);
  if (block == nullptr || block->is_null()) return nullptr;
  if (!block->is_object()) throw top.wrong(key, "must be an object");
  return block->empty() ? nullptr : block;
}

// Names of the same thing.
std::string canonical_type(const std::string& type) {
  if (type == "su") return "longrope";
  return type == "none" ? "default" : type;
}

// rope_parameters of transformers 5 may hold one block per layer type.
void refuse_layer_types(const Json& block, const std::string& key, const JsonFields& top) {
  const auto is_layer_type = [](const auto& item) {
    return item.key().ends_with("_attention") && item.value().is_object();
  };
  const auto items = block.items();
  const auto n_types = std::count_if(items.begin(), items.end(), is_layer_type);
  if (n_types == 0) return;
  if (static_cast<size_t>(n_types) != block.size()) {
    throw top.wrong(key, "must not mix layer types with keys of one block");
  }
  throw top.wrong(key, "must be one block: positions that differ by layer type are not read yet");
}

struct DeclaredType {
  std::string type;
  std::string key;
};

DeclaredType type_of(JsonFields& block) {
  std::optional<std::string> modern;
  std::optional<std::string> legacy;
  block.mark("rope_type");
  block.mark("type");
  if (block.has_value("rope_type")) modern = block.text("rope_type");
  if (block.has_value("type")) legacy = block.text("type");
  if (modern && legacy && canonical_type(*modern) != canonical_type(*legacy)) {
    throw Error(block.place("rope_type"), "must agree with " + block.name("type") + " " + *legacy,
                *modern);
  }
  if (!modern && !legacy) return {};
  return {canonical_type(modern ? *modern : *legacy), modern ? "rope_type" : "type"};
}

// Sections that give axes to pairs: what is wrong with them is said first.
void refuse_mrope(JsonFields& block, const std::string& key) {
  const std::string sections_key = "mrope_section";
  const std::optional<std::vector<double>> sections = block.numbers(sections_key);
  if (!sections) throw block.missing(sections_key);
  if (sections->size() != 3 && sections->size() != 4) {
    throw block.wrong(sections_key, "must hold 3 or 4 numbers");
  }
  for (size_t i = 0; i < sections->size(); ++i) {
    if ((*sections)[i] < 0) {
      throw Error(block.place(sections_key) + "[" + std::to_string(i) + "]", "must not be negative",
                  std::to_string((*sections)[i]));
    }
  }
  throw block.wrong(key, "must be a type of one axis: mrope is not read yet");
}

void check_type(JsonFields& block, const DeclaredType& declared) {
  if (declared.type == "mrope") refuse_mrope(block, declared.key);
  if (std::ranges::find(kTypes, declared.type) != kTypes.end()) return;
  std::string known;
  for (const std::string_view type : kTypes)
    known += (known.empty() ? "" : ", ") + std::string(type);
  throw block.wrong(declared.key, "must be one of " + known + " (su is longrope)");
}

// What a block says apart from the base and the rotated share, which have keys of their own.
Json scaling_only(const Json& block, const std::string& type) {
  Json only = block;
  for (const char* key : {"rope_type", "type", "rope_theta", "partial_rotary_factor"})
    only.erase(key);
  only["rope_type"] = type.empty() ? "default" : type;
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

HfScalingBlock find_hf_scaling(const std::string& file, JsonFields& top) {
  const Json* const legacy = block_named("rope_scaling", top);
  const Json* const modern = block_named("rope_parameters", top);
  for (const auto& [block, key] :
       {std::pair{legacy, "rope_scaling"}, {modern, "rope_parameters"}}) {
    if (block != nullptr) refuse_layer_types(*block, key, top);
  }
  const Json* const chosen = legacy != nullptr ? legacy : modern;
  HfScalingBlock result;
  if (chosen == nullptr) return result;

  result.fields.emplace(*chosen, file, legacy != nullptr ? "rope_scaling" : "rope_parameters");
  const DeclaredType declared = type_of(*result.fields);
  if (legacy != nullptr && modern != nullptr) {
    JsonFields& twin = result.twin.emplace(*modern, file, "rope_parameters");
    if (!same_fields(scaling_only(*legacy, declared.type),
                     scaling_only(*modern, type_of(twin).type))) {
      throw top.wrong("rope_scaling", "must say the same as rope_parameters");
    }
  }
  if (declared.key.empty()) {
    const Json rest = scaling_only(*chosen, {});
    if (rest.size() > 1) {  // more than the type just put in
      throw result.fields->missing("rope_type",
                                   "without it " + rest.begin().key() + " would be ignored");
    }
    return result;
  }
  check_type(*result.fields, declared);
  result.type = declared.type;
  result.type_key = declared.key;
  return result;
}

}  // namespace ropewalk
