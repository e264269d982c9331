// One node of a tokenizer.json, with the way to it for messages.
#ifndef ROPEWALK_TEXT_HF_NODE_H_
#define ROPEWALK_TEXT_HF_NODE_H_

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/base/error.h"

namespace ropewalk {

class HfNode {
 public:
  // json  must outlive the node
  HfNode(const nlohmann::ordered_json& json, std::string place)
      : json_(&json), place_(std::move(place)) {}

  const nlohmann::ordered_json& json() const { return *json_; }
  const std::string& place() const { return place_; }

  // Nothing where the key is absent or null, which tokenizer.json does not tell apart.
  // Throws Error if this is no object.
  std::optional<HfNode> find(const std::string& key) const {
    if (!json_->is_object()) throw wrong("an object");
    const auto member = json_->find(key);
    if (member == json_->end() || member->is_null()) return std::nullopt;
    return HfNode(*member, place_.empty() ? key : place_ + "." + key);
  }

  // The rest throws Error naming the place where the type is another, or what must be is not there.
  HfNode at(const std::string& key) const {
    const std::optional<HfNode> member = find(key);
    if (!member) throw Error(place_ + "." + key, "must be there").of(FaultKind::kMissingKey);
    return *member;
  }
  std::vector<HfNode> elements() const {
    if (!json_->is_array()) throw wrong("an array");
    std::vector<HfNode> nodes;
    nodes.reserve(json_->size());
    for (size_t i = 0; i < json_->size(); ++i) {
      nodes.emplace_back((*json_)[i], place_ + "[" + std::to_string(i) + "]");
    }
    return nodes;
  }
  const std::string& string() const {
    if (!json_->is_string()) throw wrong("a string");
    return json_->get_ref<const std::string&>();
  }
  bool boolean() const {
    if (!json_->is_boolean()) throw wrong("true or false");
    return json_->get<bool>();
  }
  int32_t count() const {
    if (!json_->is_number_integer() || *json_ < 0 || *json_ > std::numeric_limits<int32_t>::max()) {
      throw wrong("a whole number from 0 to 2^31 - 1");
    }
    return json_->get<int32_t>();
  }
  double number() const {
    if (!json_->is_number()) throw wrong("a number");
    return json_->get<double>();
  }

  std::string string_or(const std::string& key, const std::string& absent) const {
    const std::optional<HfNode> member = find(key);
    return member ? member->string() : absent;
  }
  bool boolean_or(const std::string& key, bool absent) const {
    const std::optional<HfNode> member = find(key);
    return member ? member->boolean() : absent;
  }
  std::string type() const { return at("type").string(); }

  Error unknown_type(const std::string& known) const {
    return Error(place_ + ".type", "must be one we know", "\"" + type() + "\"", "known: " + known)
        .of(FaultKind::kUnknownValue);
  }
  Error wrong(const std::string& wanted) const {
    return Error(place_, "must be " + wanted, json_->type_name()).of(FaultKind::kBadType);
  }

 private:
  const nlohmann::ordered_json* json_;
  std::string place_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_TEXT_HF_NODE_H_
