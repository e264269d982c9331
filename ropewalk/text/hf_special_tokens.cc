#include "ropewalk/text/hf_special_tokens.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/text/hf_node.h"
#include "ropewalk/text/hf_plain_files.h"

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kNamed[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                  "pad_token", "cls_token", "mask_token"};
constexpr const char* kMore = "additional_special_tokens";
constexpr const char* kFlags[] = {"single_word", "lstrip", "rstrip", "normalized"};

}  // namespace

int64_t added_token_id(const std::string& key, const std::string& where) {
  constexpr size_t kMaxDigits = 7;
  if (key.empty() || key.size() > kMaxDigits ||
      key.find_first_not_of("0123456789") != std::string::npos) {
    throw Error(where, "must have token ids for keys", "\"" + key + "\"");
  }
  return std::stoll(key);
}

HfSpecialTokens::HfSpecialTokens(const Json& vocabulary, const HfTokenizerFiles& files,
                                 const Json& defaults, const std::string& place)
    : place_(place), config_(files.config.is_object() ? files.config : Json::object()) {
  if (!vocabulary.is_object()) {
    throw Error(place + "/vocab.json", "must be an object", vocabulary.type_name())
        .of(FaultKind::kBadType);
  }
  for (const auto& [token, id] : vocabulary.items()) {
    const int32_t value = HfNode(id, place + "/vocab.json: \"" + token + "\"").count();
    ids_[token] = value;
    next_id_ = std::max<int64_t>(next_id_, value + int64_t{1});
  }
  for (const auto& [key, token] : defaults.items()) {
    if (!config_.contains(key)) config_[key] = token;
  }
  if (config_.contains("added_tokens_decoder")) {
    read_decoder(config_["added_tokens_decoder"]);
  } else {
    read_map(files.special_tokens);
    read_added(files.added_tokens);
  }
  name_special();
}

Json HfSpecialTokens::added() const {
  Json list = Json::array();
  for (const auto& [id, token] : added_) list.push_back(token);
  return list;
}

std::optional<std::string> HfSpecialTokens::named(const std::string& key) const {
  const auto found = config_.find(key);
  if (found == config_.end() || found->is_null()) return {};
  return content_of(*found, place_ + ": " + key);
}

std::optional<int64_t> HfSpecialTokens::id_of(const std::string& token) const {
  const auto found = ids_.find(token);
  return found == ids_.end() ? std::nullopt : std::optional<int64_t>(found->second);
}

// "</s>", or {"content": "</s>", ...}.
std::string HfSpecialTokens::content_of(const Json& token, const std::string& where) const {
  if (token.is_string()) return token.get<std::string>();
  return HfNode(token, where).at("content").string();
}

void HfSpecialTokens::add(int64_t id, Json token, bool special, const std::string& where) {
  const std::string content = content_of(token, where);
  if (content.empty()) return;
  Json entry = {{"id", id}, {"content", content}, {"special", special}};
  for (const char* const key : kFlags) {
    if (!token.is_object()) continue;
    if (const auto node = HfNode(token, where).find(key)) entry[key] = node->boolean();
  }
  const auto [found, is_new] = added_.try_emplace(id, std::move(entry));
  if (!is_new) {
    throw Error(
        where, "must have an id of its own",
        std::to_string(id) + ", which \"" + found->second["content"].get<std::string>() + "\" has")
        .of(FaultKind::kConflict);
  }
  ids_.try_emplace(content, id);
  next_id_ = std::max(next_id_, id + 1);
}

void HfSpecialTokens::read_decoder(const Json& decoder) {
  const std::string where = place_ + "/tokenizer_config.json: added_tokens_decoder";
  if (!decoder.is_object()) throw HfNode(decoder, where).wrong("an object");
  for (const auto& [key, token] : decoder.items()) {
    const int64_t id = added_token_id(key, where);
    const HfNode node(token, where + "." + key);
    add(id, token, node.boolean_or("special", false), node.place());
  }
}

void HfSpecialTokens::read_map(const Json& map) {
  if (map.is_null()) return;
  const std::string where = place_ + "/special_tokens_map.json";
  if (!map.is_object()) throw HfNode(map, where).wrong("an object");
  for (const auto& [key, token] : map.items()) config_[key] = token;
}

void HfSpecialTokens::read_added(const Json& added) {
  if (added.is_null()) return;
  const std::string where = place_ + "/added_tokens.json";
  if (!added.is_object()) throw HfNode(added, where).wrong("an object");
  std::set<std::string> special;
  for (const char* const key : kNamed) {
    if (const auto name = named(key)) special.insert(*name);
  }
  if (const auto more = config_.find(kMore); more != config_.end() && more->is_array()) {
    for (const Json& token : *more) special.insert(content_of(token, place_ + ": " + kMore));
  }
  for (const auto& [token, id] : added.items()) {
    const std::string place = where + ": \"" + token + "\"";
    add(HfNode(id, place).count(), token, special.contains(token), place);
  }
}

// Those that are named and not added yet: of the vocabulary, or behind it.
void HfSpecialTokens::name_special() {
  std::vector<std::pair<Json, std::string>> tokens;
  for (const char* const key : kNamed) {
    if (named(key)) tokens.emplace_back(config_[key], place_ + ": " + key);
  }
  const auto more = config_.find(kMore);
  if (more != config_.end() && !more->is_null()) {
    const HfNode list(*more, place_ + ": " + kMore);
    for (const HfNode& node : list.elements()) tokens.emplace_back(node.json(), node.place());
  }
  std::set<std::string> known;
  for (const auto& [id, token] : added_) known.insert(token["content"].get<std::string>());
  for (auto& [token, where] : tokens) {
    const std::string content = content_of(token, where);
    if (!known.insert(content).second) continue;
    add(id_of(content).value_or(next_id_), std::move(token), true, where);
  }
}

}  // namespace ropewalk
