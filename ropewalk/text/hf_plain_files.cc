#include "ropewalk/text/hf_plain_files.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/text/hf_special_tokens.h"

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;

enum class Kind { kGpt2, kRoberta, kQwen2, kBert };

struct Class {
  const char* name;  // without "Fast"
  Kind kind;
};
constexpr Class kClasses[] = {
    {"BertTokenizer", Kind::kBert},       {"CodeGenTokenizer", Kind::kGpt2},
    {"DistilBertTokenizer", Kind::kBert}, {"ElectraTokenizer", Kind::kBert},
    {"GPT2Tokenizer", Kind::kGpt2},       {"MobileBertTokenizer", Kind::kBert},
    {"BartTokenizer", Kind::kRoberta},    {"Qwen2Tokenizer", Kind::kQwen2},
    {"RobertaTokenizer", Kind::kRoberta},
};

// Of directories whose tokenizer_config.json does not name a class.
constexpr Class kModelTypes[] = {
    {"bart", Kind::kRoberta},    {"bert", Kind::kBert},        {"codegen", Kind::kGpt2},
    {"distilbert", Kind::kBert}, {"electra", Kind::kBert},     {"gpt2", Kind::kGpt2},
    {"gpt_neo", Kind::kGpt2},    {"gptj", Kind::kGpt2},        {"mobilebert", Kind::kBert},
    {"nomic_bert", Kind::kBert}, {"opt", Kind::kGpt2},         {"phi", Kind::kGpt2},
    {"qwen2", Kind::kQwen2},     {"qwen2_5_vl", Kind::kQwen2}, {"qwen2_moe", Kind::kQwen2},
    {"qwen2_vl", Kind::kQwen2},  {"qwen3", Kind::kQwen2},      {"qwen3_moe", Kind::kQwen2},
    {"roberta", Kind::kRoberta},
};

constexpr const char* kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

std::string names_of(const auto& list, bool wordpiece) {
  std::string names;
  for (const Class& one : list) {
    if ((one.kind == Kind::kBert) != wordpiece) continue;
    names += (names.empty() ? "" : ", ") + std::string(one.name);
  }
  return names;
}

Kind kind_of(const HfTokenizerFiles& files, const std::string& place, bool wordpiece) {
  const std::string key = "tokenizer_class";
  const bool named =
      files.config.is_object() && files.config.contains(key) && files.config[key].is_string();
  std::string name = named ? files.config[key].get<std::string>() : files.model_type;
  constexpr std::string_view kFast = "Fast";
  if (named && name.ends_with(kFast)) name.erase(name.size() - kFast.size());
  const auto find = [&](const auto& list) -> std::optional<Kind> {
    for (const Class& one : list) {
      if (name == one.name && (one.kind == Kind::kBert) == wordpiece) return one.kind;
    }
    return {};
  };
  const std::optional<Kind> kind = named ? find(kClasses) : find(kModelTypes);
  if (kind) return *kind;
  if (named) {
    throw Error(place + "/tokenizer_config.json: tokenizer_class",
                std::string("must be a class of ") + (wordpiece ? "vocab.txt" : "vocab.json") +
                    " that we know (" + names_of(kClasses, wordpiece) + ")",
                name, "save it with transformers: that writes a tokenizer.json")
        .of(FaultKind::kUnknownValue);
  }
  throw Error(place + "/tokenizer_config.json: tokenizer_class",
              "must be there where config.json's model_type does not tell it (" +
                  names_of(kModelTypes, wordpiece) + ")",
              name.empty() ? "none" : name)
      .of(FaultKind::kMissingKey);
}

Json defaults_of(Kind kind) {
  switch (kind) {
    case Kind::kGpt2:
      return {{"bos_token", "<|endoftext|>"},
              {"eos_token", "<|endoftext|>"},
              {"unk_token", "<|endoftext|>"}};
    case Kind::kQwen2:
      return {{"eos_token", "<|endoftext|>"},
              {"unk_token", "<|endoftext|>"},
              {"pad_token", "<|endoftext|>"}};
    case Kind::kRoberta:
      return {{"bos_token", "<s>"},
              {"eos_token", "</s>"},
              {"unk_token", "<unk>"},
              {"sep_token", "</s>"},
              {"pad_token", "<pad>"},
              {"cls_token", "<s>"},
              {"mask_token", {{"content", "<mask>"}, {"lstrip", true}}}};
    case Kind::kBert:
      break;
  }
  return {{"unk_token", "[UNK]"},
          {"sep_token", "[SEP]"},
          {"pad_token", "[PAD]"},
          {"cls_token", "[CLS]"},
          {"mask_token", "[MASK]"}};
}

// The setting, `otherwise` where it is absent or null. Throws Error for another type.
bool flag(const Json& config, const std::string& key, bool otherwise, const std::string& place) {
  if (!config.is_object() || !config.contains(key) || config[key].is_null()) return otherwise;
  if (config[key].is_boolean()) return config[key].get<bool>();
  throw Error(place + "/tokenizer_config.json: " + key, "must be true or false",
              config[key].type_name())
      .of(FaultKind::kBadType);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

Json read_merges(std::string_view text, const std::string& place) {
  Json merges = Json::array();
  int64_t number = 0;
  for (std::string_view line : lines_of(text)) {
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || (number == 1 && line.starts_with("#version"))) continue;
    const size_t space = line.find(' ');
    if (space == line.npos || space == 0 || space + 1 == line.size() ||
        line.find(' ', space + 1) != line.npos) {
      throw Error(place + "/merges.txt: line " + std::to_string(number), "must read \"left right\"",
                  "\"" + std::string(line.substr(0, 60)) + "\"");
    }
    merges.push_back(std::string(line));
  }
  return merges;
}

// Ids by token, each the number of its last line.
Json read_words(std::string_view text) {
  std::unordered_map<std::string_view, size_t> ids;
  std::vector<std::string_view> lines = lines_of(text);
  for (size_t id = 0; id < lines.size(); ++id) {
    if (lines[id].ends_with('\r')) lines[id].remove_suffix(1);
    ids[lines[id]] = id;
  }
  Json vocabulary = Json::object();
  auto& entries = vocabulary.get_ref<Json::object_t&>();
  entries.reserve(ids.size());
  // A key is looked for among all others before it is put in: these are told apart already.
  for (size_t id = 0; id < lines.size(); ++id) {
    if (ids.at(lines[id]) == id && !lines[id].empty())
      entries.emplace_back(std::string(lines[id]), id);
  }
  return vocabulary;
}

// [token, id] of a token that the processor puts around a text.
Json named_id(const HfSpecialTokens& special, const std::string& key, const std::string& place) {
  const std::optional<std::string> name = special.named(key);
  const std::optional<int64_t> id = name ? special.id_of(*name) : std::nullopt;
  if (id) return {*name, *id};
  throw Error(place + ": " + key, "must be a token of the vocabulary", name.value_or("none"));
}

HfTokenizerDocument finished(Json document, const HfSpecialTokens& special) {
  document["added_tokens"] = special.added();
  return {.tokenizer = std::move(document), .config = special.config()};
}

}  // namespace

HfTokenizerDocument read_bpe_files(Json vocabulary, std::string_view merges,
                                   const HfTokenizerFiles& files, const std::string& place) {
  const Kind kind = kind_of(files, place, false);
  const HfSpecialTokens special(vocabulary, files, defaults_of(kind), place);
  const bool space = flag(files.config, "add_prefix_space", false, place);
  const Json level = {{"type", "ByteLevel"}, {"add_prefix_space", space}};
  Json document = {{"pre_tokenizer", level}, {"decoder", {{"type", "ByteLevel"}}}};
  if (kind == Kind::kQwen2) {
    document["normalizer"] = {{"type", "NFC"}};
    Json bytes = level;
    bytes["use_regex"] = false;
    const Json split = {{"type", "Split"},
                        {"pattern", {{"Regex", kQwen2Pattern}}},
                        {"behavior", "Isolated"},
                        {"invert", false}};
    document["pre_tokenizer"] = {{"type", "Sequence"},
                                 {"pretokenizers", Json::array({split, bytes})}};
  }
  if (kind == Kind::kRoberta) {
    document["post_processor"] = {{"type", "RobertaProcessing"},
                                  {"sep", named_id(special, "sep_token", place)},
                                  {"cls", named_id(special, "cls_token", place)}};
  }
  document["model"] = {{"type", "BPE"}, {"merges", read_merges(merges, place)}};
  document["model"]["vocab"] = std::move(vocabulary);
  return finished(std::move(document), special);
}

HfTokenizerDocument read_wordpiece_file(std::string_view text, const HfTokenizerFiles& files,
                                        const std::string& place) {
  kind_of(files, place, true);
  if (!flag(files.config, "do_basic_tokenize", true, place)) {
    throw Error(place + "/tokenizer_config.json: do_basic_tokenize", "must be true", "false",
                "save it with transformers: that writes a tokenizer.json");
  }
  Json vocabulary = read_words(text);
  const HfSpecialTokens special(vocabulary, files, defaults_of(Kind::kBert), place);
  Json document = {
      {"normalizer",
       {{"type", "BertNormalizer"},
        {"clean_text", true},
        {"handle_chinese_chars", flag(files.config, "tokenize_chinese_chars", true, place)},
        {"strip_accents", nullptr},
        {"lowercase", flag(files.config, "do_lower_case", true, place)}}},
      {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
      {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}},
      {"post_processor",
       {{"type", "BertProcessing"},
        {"sep", named_id(special, "sep_token", place)},
        {"cls", named_id(special, "cls_token", place)}}}};
  if (files.config.is_object() && files.config.contains("strip_accents") &&
      !files.config["strip_accents"].is_null()) {
    document["normalizer"]["strip_accents"] = flag(files.config, "strip_accents", true, place);
  }
  document["model"] = {{"type", "WordPiece"},
                       {"unk_token", special.named("unk_token").value_or("")},
                       {"continuing_subword_prefix", "##"}};
  document["model"]["vocab"] = std::move(vocabulary);
  return finished(std::move(document), special);
}

}  // namespace ropewalk
