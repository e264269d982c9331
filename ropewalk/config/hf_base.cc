// Source: transformers, configuration_<model type>.py: the names of the base, and its defaults.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "ropewalk/config/hf_width.h"
#include "ropewalk/schemes/registry.h"

namespace ropewalk {
namespace {

class BaseReader {
 public:
  BaseReader(HfReading& reading, const HfKeys& keys, HfNotes& notes)
      : reading_(reading), top_(reading.top), family_(reading.family), keys_(keys), notes_(notes) {}

  double read(const std::string& layer_type) {
    if (family_.base_rule == HfFamily::Base::kFixed) {
      notes_.field("base", to_text(family_.base), Provenance::kFamilyDefault,
                   "no key of model_type " + std::string(family_.name) + " changes it");
      return family_.base;
    }
    if (family_.base_rule == HfFamily::Base::kRatio) return by_ratio();
    if (family_.layers == HfFamily::Layers::kRatios && layer_type != "sliding_attention") {
      return compressed();
    }
    const bool sliding = layer_type == "sliding_attention" && family_.sliding_base != 0;
    return sliding ? of_sliding() : of_all(layer_type);
  }

 private:
  double checked(JsonFields& fields, const std::string& key) {
    const double base = *fields.number(key);
    if (base <= 1) throw fields.wrong(key, "must be above 1");
    notes_.field_of_key("base", fields, key);
    return base;
  }

  double by_ratio() {
    const std::string key(family_.base_keys);
    if (!top_.has_value(key)) {
      top_.mark(key);
      notes_.field("base", to_text(family_.base), Provenance::kFamilyDefault, key + " is absent");
      return family_.base;
    }
    const double ratio = *top_.number(key);
    const double base = family_.base * ratio;
    if (!(base > 1) || std::isinf(base)) {
      throw top_.wrong(key, "must make a base above 1: " + to_text(family_.base) + " times it");
    }
    notes_.field("base", to_text(base), Provenance::kDerived,
                 to_text(family_.base) + " * " + key + " " + top_.spelled(key));
    return base;
  }

  // DeepSeek-V4's layers that look at compressed keys.
  double compressed() {
    const std::string key = "compress_rope_theta";
    notes_.info(key,
                "the scaling is taken for sliding layers and compressed ones alike; "
                "transformers 5 scales the compressed ones alone, with amplitude 1");
    if (!keys_.must_agree && keys_.block != nullptr && keys_.block->has_value("rope_theta")) {
      return checked(*keys_.block, "rope_theta");
    }
    if (top_.has_value(key)) return checked(top_, key);
    top_.mark(key);
    notes_.field("base", "160000", Provenance::kFamilyDefault, key + " is absent");
    return 160000;
  }

  double of_sliding() {
    if (!keys_.must_agree && keys_.block != nullptr) {
      keys_.block->mark("rope_theta");
      if (keys_.block->has_value("rope_theta")) return checked(*keys_.block, "rope_theta");
    }
    const std::string key = top_.spelling(spellings(family_.sliding_base_keys));
    if (!key.empty()) return checked(top_, key);
    const std::string absent = family_.sliding_base_keys.empty()
                                   ? "rope_theta of sliding layers"
                                   : spellings(family_.sliding_base_keys).front();
    notes_.field("base", to_text(family_.sliding_base), Provenance::kFamilyDefault,
                 absent + " is absent");
    return family_.sliding_base;
  }

  double of_all(const std::string& layer_type);
  std::optional<double> by_own_key(JsonFields* general);
  double default_base(bool is_null);

  HfReading& reading_;
  JsonFields& top_;
  const HfFamily& family_;
  const HfKeys& keys_;
  HfNotes& notes_;
};

// The base under the family's own names, which must agree with rope_theta where both are there.
std::optional<double> BaseReader::by_own_key(JsonFields* general) {
  const std::string key = family_.base_keys.find('.') != std::string_view::npos
                              ? std::string()
                              : top_.spelling(spellings(family_.base_keys));
  if (key.empty()) return std::nullopt;
  if (general != nullptr && *general->number("rope_theta") != *top_.number(key)) {
    throw top_.wrong(
        key,
        "must agree with " + general->name("rope_theta") + " " + general->spelled("rope_theta"),
        FaultKind::kConflict);
  }
  return checked(top_, key);
}

double BaseReader::of_all(const std::string& layer_type) {
  const std::string key = "rope_theta";
  const nlohmann::ordered_json* const raw = top_.raw(key);
  if (raw != nullptr && raw->is_array() && family_.lists_by_layer) {
    const HfLayerValue value = value_of_hf_layers(top_, key, layer_type);
    if (value.number <= 1) {
      throw Error(top_.place(value.entry), "must be above 1", to_text(value.number))
          .of(FaultKind::kOutOfRange);
    }
    notes_.field("base", to_text(value.number), Provenance::kFile, value.entry);
    return value.number;
  }
  const bool is_null = raw != nullptr && raw->is_null();
  JsonFields* const fields = keys_.find(key);
  if (const std::optional<double> own = by_own_key(fields)) return *own;
  if (fields != nullptr) return checked(*fields, key);
  const size_t dot = family_.base_keys.find('.');
  if (dot != std::string_view::npos) {
    const std::string parent(family_.base_keys.substr(0, dot));
    const std::string child(family_.base_keys.substr(dot + 1));
    const nlohmann::ordered_json* const object = top_.object(parent);
    if (object != nullptr && object->contains(child)) {
      JsonFields inner(*object, reading_.file, top_.name(parent));
      return checked(inner, child);
    }
  }
  return default_base(is_null);
}

double BaseReader::default_base(bool is_null) {
  const std::string key = "rope_theta";
  notes_.field("base", to_text(family_.base), Provenance::kFamilyDefault,
               key + (is_null ? " is null" : " is absent"));
  if (is_null) {
    notes_.warn(key,
                "rope_theta is null: " + to_text(family_.base) +
                    ", the model type's default, is taken; transformers may fail on it",
                FaultKind::kAssumedValue);
  }
  if (family_.base_in_4 != 0) {
    notes_.warn(key,
                "rope_theta is absent: transformers 5 takes " + to_text(family_.base) +
                    ", versions before it took " + to_text(family_.base_in_4),
                FaultKind::kAssumedValue);
  }
  return family_.base;
}

}  // namespace

HfLayerValue value_of_hf_layers(JsonFields& top, const std::string& key,
                                const std::string& layer_type) {
  const std::vector<double> values = *top.numbers(key);
  std::optional<size_t> at;
  if (values.size() == 2) {
    at = layer_type == "sliding_attention" ? 1 : 0;
  } else if (const nlohmann::ordered_json* const types = top.list("layer_types")) {
    for (size_t i = 0; i < std::min(types->size(), values.size()); ++i) {
      if ((*types)[i] != layer_type) continue;
      if (!at) at = i;
      if (values[*at] == values[i]) continue;
      throw Error(top.place(key) + "[" + std::to_string(i) + "]",
                  "must be the same for all layers of type " + layer_type, to_text(values[i]))
          .of(FaultKind::kInconsistent);
    }
  }
  if (!at) {
    throw top.wrong(key, "must hold [full, sliding], or a number for each of layer_types",
                    FaultKind::kWrongLength);
  }
  return {values[*at], key + "[" + std::to_string(*at) + "]"};
}

double read_hf_base(HfReading& reading, const HfKeys& keys, const std::string& layer_type,
                    HfNotes& notes) {
  return BaseReader(reading, keys, notes).read(layer_type);
}

}  // namespace ropewalk
