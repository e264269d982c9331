// Which tokens a directory without tokenizer.json adds to its vocabulary, and which stand for the
// beginning of a text, its end, and so on. Source: transformers, tokenization_utils_base.py.
#ifndef ROPEWALK_TEXT_HF_SPECIAL_TOKENS_H_
#define ROPEWALK_TEXT_HF_SPECIAL_TOKENS_H_

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_map>

namespace ropewalk {

struct HfTokenizerFiles;

// The token id that a key of "added_tokens_decoder" is. Throws Error where it is none, or of more than
// 7 digits: a stray id must not cost gigabytes.
//   where  names the object, for messages
int64_t added_token_id(const std::string& key, const std::string& where);

class HfSpecialTokens {
 public:
  //   vocabulary  ids by token
  //   defaults    what the class has for "bos_token" and so on where the files have none
  //   place       the directory, for messages
  // tokenizer_config.json's "added_tokens_decoder" counts alone; without it special_tokens_map.json
  // and added_tokens.json do. Throws Error on what is no token, and ids that two of them have.
  HfSpecialTokens(const nlohmann::ordered_json& vocabulary, const HfTokenizerFiles& files,
                  const nlohmann::ordered_json& defaults, const std::string& place);

  // As tokenizer.json lists them.
  nlohmann::ordered_json added() const;

  // tokenizer_config.json with what the other files and the class say of special tokens.
  const nlohmann::ordered_json& config() const { return config_; }

  // Of "bos_token" and its like; nothing where there is none.
  std::optional<std::string> named(const std::string& key) const;
  std::optional<int64_t> id_of(const std::string& token) const;

 private:
  void read_decoder(const nlohmann::ordered_json& decoder);
  void read_map(const nlohmann::ordered_json& map);
  void read_added(const nlohmann::ordered_json& added);
  void name_special();
  void add(int64_t id, nlohmann::ordered_json token, bool special, const std::string& where);
  std::string content_of(const nlohmann::ordered_json& token, const std::string& where) const;

  std::string place_;
  nlohmann::ordered_json config_;
  std::unordered_map<std::string, int64_t> ids_;  // of the vocabulary and of what is added
  std::map<int64_t, nlohmann::ordered_json> added_;
  int64_t next_id_ = 0;
};

}  // namespace ropewalk

#endif  // ROPEWALK_TEXT_HF_SPECIAL_TOKENS_H_
