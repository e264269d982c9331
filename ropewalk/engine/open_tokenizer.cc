#include "ropewalk/engine/open_tokenizer.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "ropewalk/base/error.h"
#include "ropewalk/engine/vocabulary.h"
#include "ropewalk/formats/gguf.h"
#include "ropewalk/formats/json_file.h"
#include "ropewalk/formats/mapped_file.h"
#include "ropewalk/text/hf_plain_files.h"
#include "ropewalk/text/hf_special_tokens.h"
#include "ropewalk/text/hf_tokenizer.h"
#include "ropewalk/text/sentencepiece_file.h"

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;

Json load_if_there(const std::filesystem::path& path) {
  return std::filesystem::exists(path) ? load_json(path.string()) : Json();
}

std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

std::optional<bool> find_bool(const Json& config, const char* key) {
  if (!config.is_object() || !config.contains(key) || !config[key].is_boolean()) return {};
  return config[key].get<bool>();
}

// "added_tokens_decoder": {"32000": {"content": "<pad>", "special": true, ...}}, beyond the model's
// own tokens and instead of some.
void add_tokens(const Json& config, const std::string& place, Vocabulary& vocabulary) {
  if (!config.is_object() || !config.contains("added_tokens_decoder")) return;
  const Json& added = config["added_tokens_decoder"];
  const std::string where = place + ": added_tokens_decoder";
  if (!added.is_object()) throw Error(where, "must be an object", added.type_name());
  for (const auto& [key, token] : added.items()) {
    const auto id = static_cast<size_t>(added_token_id(key, where));
    if (!token.is_object() || !token.contains("content") || !token["content"].is_string()) {
      throw Error(where + "." + key, "must have a \"content\"");
    }
    if (id >= vocabulary.tokens.size()) {
      vocabulary.tokens.resize(id + 1);
      vocabulary.scores.resize(id + 1);
      vocabulary.token_types.resize(id + 1, static_cast<int32_t>(TokenType::kUnused));
    }
    const bool special = find_bool(token, "special").value_or(false);
    int32_t& type = vocabulary.token_types[id];
    if (type != static_cast<int32_t>(TokenType::kUnknown)) {
      type = static_cast<int32_t>(special ? TokenType::kControl : TokenType::kUserDefined);
    }
    vocabulary.tokens[id] = token["content"].get<std::string>();
  }
}

std::unique_ptr<Tokenizer> open_sentencepiece(const std::string& path, const Json& config,
                                              const std::string& config_place) {
  const MappedFile file = MappedFile::open(path);
  Vocabulary vocabulary = read_sentencepiece(text_of(file), path);
  add_tokens(config, config_place, vocabulary);
  const bool unigram = vocabulary.model == "t5";
  vocabulary.add_bos =
      find_bool(config, "add_bos_token").value_or(!unigram && vocabulary.bos.has_value());
  vocabulary.add_eos =
      find_bool(config, "add_eos_token").value_or(unigram && vocabulary.eos.has_value());
  return make_tokenizer(vocabulary);
}

HfTokenizerFiles files_beside(const std::filesystem::path& directory, const Json& config) {
  HfTokenizerFiles files{.config = config,
                         .special_tokens = load_if_there(directory / "special_tokens_map.json"),
                         .added_tokens = load_if_there(directory / "added_tokens.json"),
                         .model_type = {}};
  const Json model = load_if_there(directory / "config.json");
  if (model.is_object() && model.contains("model_type") && model["model_type"].is_string())
    files.model_type = model["model_type"].get<std::string>();
  return files;
}

// Of directories from before tokenizer.json; null where there is none of these files.
std::unique_ptr<Tokenizer> open_plain_files(const std::filesystem::path& directory,
                                            const Json& config) {
  const std::filesystem::path ids = directory / "vocab.json", merges = directory / "merges.txt";
  const std::filesystem::path words = directory / "vocab.txt";
  const std::string place = directory.string();
  if (std::filesystem::exists(ids)) {
    if (!std::filesystem::exists(merges)) {
      throw Error(merges.string(), "must be there beside vocab.json").of(FaultKind::kMissingKey);
    }
    const MappedFile text = MappedFile::open(merges.string());
    const HfTokenizerDocument document = read_bpe_files(load_json(ids.string()), text_of(text),
                                                        files_beside(directory, config), place);
    return make_hf_tokenizer(document.tokenizer, document.config, ids.string());
  }
  if (!std::filesystem::exists(words)) return nullptr;
  const MappedFile text = MappedFile::open(words.string());
  const HfTokenizerDocument document =
      read_wordpiece_file(text_of(text), files_beside(directory, config), place);
  return make_hf_tokenizer(document.tokenizer, document.config, words.string());
}

}  // namespace

std::unique_ptr<Tokenizer> open_directory_tokenizer(const std::filesystem::path& directory) {
  const std::string config_path = (directory / "tokenizer_config.json").string();
  const Json config = load_if_there(config_path);
  const std::filesystem::path json = directory / "tokenizer.json";
  if (std::filesystem::exists(json)) {
    return make_hf_tokenizer(load_json(json.string()), config, json.string());
  }
  const std::filesystem::path model = directory / "tokenizer.model";
  if (std::filesystem::exists(model)) {
    return open_sentencepiece(model.string(), config, config_path);
  }
  if (std::unique_ptr<Tokenizer> plain = open_plain_files(directory, config)) return plain;
  throw Error(directory.string(), "brings no tokenizer",
              "no tokenizer.json, tokenizer.model, vocab.json or vocab.txt",
              "put one of them there");
}

std::unique_ptr<Tokenizer> open_tokenizer(const std::string& path) {
  std::error_code failed;
  if (std::filesystem::is_directory(path, failed)) return open_directory_tokenizer(path);
  return make_tokenizer(read_vocabulary(GgufFile::open(path, GgufData::kOptional).metadata()));
}

}  // namespace ropewalk
