#include "ropewalk/engine/model_keys.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "ropewalk/base/error.h"

namespace ropewalk {

ModelKeys ModelKeys::of(const GgufFile& file) {
  ModelKeys keys;
  keys.is_gguf_ = true;
  const std::string prefix = std::string(file.metadata().get_string("general.architecture")) + ".";
  keys.place_ = file.name() + ": " + prefix;
  const auto value_of = [](const GgufValue& value) -> Value {
    if (value.type == GgufType::kArray) return List();
    if (const auto* const flag = std::get_if<bool>(&value.scalar)) return *flag;
    if (const auto* const text = std::get_if<std::string_view>(&value.scalar))
      return std::string(*text);
    if (const auto* const number = std::get_if<double>(&value.scalar)) return *number;
    if (const auto* const number = std::get_if<int64_t>(&value.scalar))
      return static_cast<double>(*number);
    return static_cast<double>(std::get<uint64_t>(value.scalar));
  };
  for (const GgufEntry& entry : file.metadata().entries()) {
    if (!entry.key.starts_with(prefix)) continue;
    keys.values_.emplace(entry.key.substr(prefix.size()), value_of(entry.value));
  }
  return keys;
}

ModelKeys ModelKeys::of(const nlohmann::ordered_json& config, const std::string& place,
                        const std::string& path) {
  ModelKeys keys;
  keys.place_ = place + ": " + (path.empty() ? "" : path + ".");
  const auto put = [&keys](const std::string& key, const nlohmann::ordered_json& value) {
    if (value.is_null()) return;
    if (value.is_boolean()) {
      keys.values_.emplace(key, value.get<bool>());
    } else if (value.is_number()) {
      keys.values_.emplace(key, value.get<double>());
    } else if (value.is_string()) {
      keys.values_.emplace(key, value.get<std::string>());
    } else {
      keys.values_.emplace(key, List());
    }
  };
  for (const auto& [key, value] : config.items()) {
    put(key, value);
    if (value.is_null()) keys.nulls_.insert(key);
    if (value.is_array() && !value.empty()) put(key + ".0", value.front());
    if (!value.is_object()) continue;
    for (const auto& [inner, inner_value] : value.items()) put(key + "." + inner, inner_value);
  }
  return keys;
}

const std::string& ModelKeys::name(const std::string& gguf, const std::string& hf) const {
  return is_gguf_ || hf.empty() ? gguf : hf;
}

const ModelKeys::Value* ModelKeys::find(const std::string& gguf, const std::string& hf) const {
  const auto found = values_.find(name(gguf, hf));
  return found == values_.end() ? nullptr : &found->second;
}

void ModelKeys::refuse(const std::string& key, const std::string& rule) const {
  const auto found = values_.find(key);
  std::string value = "nothing";
  if (found != values_.end()) {
    if (const auto* const flag = std::get_if<bool>(&found->second))
      value = *flag ? "true" : "false";
    if (const auto* const number = std::get_if<double>(&found->second))
      value = std::to_string(*number);
    if (const auto* const text = std::get_if<std::string>(&found->second)) value = *text;
    if (std::holds_alternative<List>(found->second)) value = "a list";
  }
  throw Error(place_ + key, rule, value).of(FaultKind::kBadType);
}

std::optional<double> ModelKeys::number(const std::string& gguf, const std::string& hf) const {
  const Value* const value = find(gguf, hf);
  if (value == nullptr) return {};
  const auto* const number = std::get_if<double>(value);
  if (number == nullptr || !std::isfinite(*number)) refuse(name(gguf, hf), "must be a number");
  return *number;
}

std::optional<int64_t> ModelKeys::whole(const std::string& gguf, const std::string& hf) const {
  const std::optional<double> found = number(gguf, hf);
  if (!found) return {};
  if (*found < 0 || *found > 0x1p31 || *found != std::floor(*found))
    refuse(name(gguf, hf), "must be a whole number from 0 to 2^31");
  return static_cast<int64_t>(*found);
}

std::optional<bool> ModelKeys::flag(const std::string& gguf, const std::string& hf) const {
  const Value* const value = find(gguf, hf);
  if (value == nullptr) return {};
  const auto* const flag = std::get_if<bool>(value);
  if (flag == nullptr) refuse(name(gguf, hf), "must be true or false");
  return *flag;
}

std::optional<std::string> ModelKeys::text(const std::string& gguf, const std::string& hf) const {
  const Value* const value = find(gguf, hf);
  if (value == nullptr) return {};
  const auto* const text = std::get_if<std::string>(value);
  if (text == nullptr) refuse(name(gguf, hf), "must be a string");
  return *text;
}

int64_t ModelKeys::needed(const std::string& gguf, const std::string& hf) const {
  const std::optional<int64_t> found = whole(gguf, hf);
  if (!found) throw Error(place_ + name(gguf, hf), "must be present").of(FaultKind::kMissingKey);
  return *found;
}

}  // namespace ropewalk
