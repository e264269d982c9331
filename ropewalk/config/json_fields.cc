#include "ropewalk/config/json_fields.h"

#include <cassert>
#include <cmath>
#include <utility>

#include "ropewalk/formats/json_file.h"
#include "ropewalk/formats/printable.h"

namespace ropewalk {
namespace {

constexpr size_t kLongest = 60;  // of a value that is told
constexpr int64_t kLargestSize = int64_t{1} << 53;

}  // namespace

std::string json_text(const nlohmann::ordered_json& value) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    return std::isnan(value.get<double>()) ? "NaN" : "infinity";  // JSON itself has no word
  }
  return printable(dump_json(value), kLongest);
}

JsonFields::JsonFields(const nlohmann::ordered_json& object, std::string file, std::string path)
    : object_(&object), file_(std::move(file)), path_(std::move(path)) {
  assert(object.is_object());
}

std::string JsonFields::name(const std::string& key) const {
  return path_.empty() ? key : path_ + "." + key;
}

std::string JsonFields::place(const std::string& key) const { return file_ + ": " + name(key); }

const nlohmann::ordered_json* JsonFields::find(const std::string& key) const {
  const auto found = object_->find(key);
  return found == object_->end() ? nullptr : &*found;
}

bool JsonFields::has_value(const std::string& key) const {
  const nlohmann::ordered_json* const found = find(key);
  return found != nullptr && !found->is_null();
}

const nlohmann::ordered_json* JsonFields::raw(const std::string& key) {
  mark(key);
  return find(key);
}

std::string JsonFields::spelled(const std::string& key) const {
  const nlohmann::ordered_json* const found = find(key);
  if (found == nullptr) return {};
  return found->is_string() ? printable(found->get<std::string>(), kLongest) : json_text(*found);
}

std::optional<int64_t> JsonFields::size(const std::string& key) {
  const nlohmann::ordered_json* const found = raw(key);
  if (found == nullptr) return std::nullopt;
  if (!found->is_number_integer()) throw wrong(key, "must be an integer", FaultKind::kBadType);
  const bool fits = found->is_number_unsigned()
                        ? found->get<uint64_t>() <= static_cast<uint64_t>(kLargestSize)
                        : found->get<int64_t>() <= kLargestSize;
  if (!fits || found->get<int64_t>() < 1) throw wrong(key, "must be from 1 to 2^53");
  return found->get<int64_t>();
}

std::optional<double> JsonFields::number(const std::string& key) {
  const nlohmann::ordered_json* const found = raw(key);
  if (found == nullptr) return std::nullopt;
  if (!found->is_number()) throw wrong(key, "must be a number", FaultKind::kBadType);
  const double value = found->get<double>();
  if (!std::isfinite(value)) throw wrong(key, "must be finite");
  return value;
}

std::optional<bool> JsonFields::flag(const std::string& key) {
  const nlohmann::ordered_json* const found = raw(key);
  if (found == nullptr) return std::nullopt;
  if (!found->is_boolean()) throw wrong(key, "must be true or false", FaultKind::kBadType);
  return found->get<bool>();
}

std::optional<std::string> JsonFields::text(const std::string& key) {
  const nlohmann::ordered_json* const found = raw(key);
  if (found == nullptr) return std::nullopt;
  if (!found->is_string()) throw wrong(key, "must be a string", FaultKind::kBadType);
  return found->get<std::string>();
}

std::optional<std::vector<double>> JsonFields::numbers(const std::string& key) {
  const nlohmann::ordered_json* const found = raw(key);
  if (found == nullptr) return std::nullopt;
  if (!found->is_array()) throw wrong(key, "must be a list of numbers", FaultKind::kBadType);
  std::vector<double> values;
  for (const nlohmann::ordered_json& entry : *found) {
    const bool good = entry.is_number() && std::isfinite(entry.get<double>());
    if (!good) {
      throw Error(place(key) + "[" + std::to_string(values.size()) + "]", "must be a finite number",
                  json_text(entry))
          .of(FaultKind::kBadType);
    }
    values.push_back(entry.get<double>());
  }
  return values;
}

const nlohmann::ordered_json* JsonFields::object(const std::string& key) {
  const nlohmann::ordered_json* const found = raw(key);
  if (found == nullptr || found->is_null()) return nullptr;
  if (!found->is_object()) throw wrong(key, "must be an object", FaultKind::kBadType);
  return found;
}

const nlohmann::ordered_json* JsonFields::list(const std::string& key) {
  const nlohmann::ordered_json* const found = raw(key);
  if (found == nullptr || found->is_null()) return nullptr;
  if (!found->is_array()) throw wrong(key, "must be a list", FaultKind::kBadType);
  return found;
}

std::string JsonFields::spelling(const std::vector<std::string>& keys) {
  std::string chosen;
  for (const std::string& key : keys) {
    mark(key);
    if (!has_value(key)) continue;
    if (chosen.empty()) {
      chosen = key;
    } else if (*find(key) != *find(chosen)) {
      throw wrong(key, "must agree with " + name(chosen) + " " + spelled(chosen),
                  FaultKind::kConflict);
    }
  }
  return chosen;
}

double JsonFields::required_number(const std::string& key) {
  if (!has(key)) throw missing(key);
  return *number(key);
}

int64_t JsonFields::count(const std::string& key) {
  const nlohmann::ordered_json* const found = raw(key);
  return found != nullptr && *found == 0 && found->is_number_integer() ? 0 : required_size(key);
}

int64_t JsonFields::required_size(const std::string& key) {
  if (!has(key)) throw missing(key);
  return *size(key);
}

std::vector<std::string> JsonFields::unread() const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object_->items()) {
    if (!read_.contains(key)) keys.push_back(key);
  }
  return keys;
}

Error JsonFields::missing(const std::string& key, const std::string& mend) const {
  return Error(place(key), "must be present", {}, mend).of(FaultKind::kMissingKey);
}

Error JsonFields::wrong(const std::string& key, const std::string& rule, FaultKind kind) const {
  const nlohmann::ordered_json* const found = find(key);
  return Error(place(key), rule, found == nullptr ? "nothing" : json_text(*found)).of(kind);
}

}  // namespace ropewalk
