#include "ropewalk/text/hf_tokenizer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/text/hf_added_tokens.h"
#include "ropewalk/text/hf_decoders.h"
#include "ropewalk/text/hf_models.h"
#include "ropewalk/text/hf_node.h"
#include "ropewalk/text/hf_normalizers.h"
#include "ropewalk/text/hf_pretokenizers.h"
#include "ropewalk/text/sentencepiece_spelling.h"

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;

std::vector<HfAddedToken> read_added_tokens(const HfNode& document) {
  std::vector<HfAddedToken> tokens;
  const auto list = document.find("added_tokens");
  if (!list) return tokens;
  for (const HfNode& node : list->elements()) {
    const bool special = node.boolean_or("special", false);
    tokens.push_back({.id = node.at("id").count(),
                      .content = node.at("content").string(),
                      .single_word = node.boolean_or("single_word", false),
                      .lstrip = node.boolean_or("lstrip", false),
                      .rstrip = node.boolean_or("rstrip", false),
                      .normalized = node.boolean_or("normalized", !special),
                      .special = special});
  }
  return tokens;
}

// What comes before and after a text.
struct Ends {
  std::vector<int32_t> before;
  std::vector<int32_t> after;
};

// ["</s>", 2]
int32_t named_id(const HfNode& node) {
  const std::vector<HfNode> parts = node.elements();
  if (parts.size() != 2) throw node.wrong("[token, id]");
  return parts[1].count();
}

void read_template(const HfNode& node, Ends& ends) {
  const HfNode known = node.at("special_tokens");
  bool seen_text = false;
  for (const HfNode& step : node.at("single").elements()) {
    const auto special = step.find("SpecialToken");
    if (!special) {
      step.at("Sequence");
      if (std::exchange(seen_text, true)) {
        throw Error(step.place(), "must be the only text of \"single\"");
      }
      continue;
    }
    std::vector<int32_t>& to = seen_text ? ends.after : ends.before;
    for (const HfNode& id : known.at(special->at("id").string()).at("ids").elements()) {
      to.push_back(id.count());
    }
  }
  if (!seen_text) throw Error(node.place() + ".single", "must have a place for the text");
}

// Each processor puts its tokens around what the one before left.
void read_ends(const HfNode& node, Ends& ends) {
  const std::string type = node.type();
  if (type == "Sequence") {
    for (const HfNode& step : node.at("processors").elements()) read_ends(step, ends);
  } else if (type == "TemplateProcessing") {
    Ends more;
    read_template(node, more);
    ends.before.insert(ends.before.begin(), more.before.begin(), more.before.end());
    ends.after.insert(ends.after.end(), more.after.begin(), more.after.end());
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    ends.before.insert(ends.before.begin(), named_id(node.at("cls")));
    ends.after.push_back(named_id(node.at("sep")));
  } else if (type != "ByteLevel") {  // which moves offsets only
    throw node.unknown_type(
        "Sequence, TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel");
  }
}

// "</s>", or {"content": "</s>", ...}; empty where there is none.
std::string named_token(const Json& config, const char* key) {
  if (!config.is_object()) return "";
  const auto found = config.find(key);
  if (found == config.end()) return "";
  if (found->is_string()) return found->get<std::string>();
  if (!found->is_object() || !found->contains("content")) return "";
  const Json& content = (*found)["content"];
  return content.is_string() ? content.get<std::string>() : "";
}

std::optional<bool> stated(const Json& config, const char* key) {
  if (!config.is_object() || !config.contains(key) || !config[key].is_boolean()) {
    return std::nullopt;
  }
  return config[key].get<bool>();
}

// Whether each stretch between special tokens begins with a space that was not in the text.
bool prefixes_stretches(const HfNode& node) {
  const std::string type = node.type();
  if (type == "Prepend") return true;
  if (type == "Metaspace") {
    const bool prefix = node.boolean_or("add_prefix_space", true);
    return node.string_or("prepend_scheme", prefix ? "always" : "never") == "always";
  }
  if (type != "Sequence") return false;
  for (const char* const steps : {"normalizers", "pretokenizers"}) {
    const auto list = node.find(steps);
    if (!list) continue;
    for (const HfNode& step : list->elements()) {
      if (prefixes_stretches(step)) return true;
    }
  }
  return false;
}

// Takes `ids` to hold `token` and no other, or nothing, as `wanted` says.
void overrule(std::optional<bool> wanted, std::optional<int32_t> token, std::vector<int32_t>& ids) {
  if (!wanted || !token || ids.size() > 1) return;
  if (*wanted && ids.empty()) ids.push_back(*token);
  if (!*wanted && ids.size() == 1 && ids[0] == *token) ids.clear();
}

class HfTokenizer final : public Tokenizer {
 public:
  HfTokenizer(const HfNode& document, const Json& config);

  std::vector<int32_t> encode(std::string_view text, EncodeOptions options) const override;
  std::string decode(std::span<const int32_t> ids, DecodeOptions options) const override;
  std::string piece(int32_t id) const override;
  TokenType type(int32_t id) const override { return types_[checked(id)]; }
  size_t size() const override { return spellings_.size(); }
  std::optional<int32_t> bos() const override { return bos_; }
  std::optional<int32_t> eos() const override { return eos_; }
  bool adds_bos() const override { return ends_.before.size() == 1; }
  bool adds_eos() const override { return ends_.after.size() == 1; }

 private:
  void add_tokens(std::vector<HfAddedToken> tokens);
  void set_types(const std::vector<HfAddedToken>& added);
  void set_ends(const HfNode& document, const Json& config);
  std::optional<int32_t> find(const std::string& spelling) const;
  size_t checked(int32_t id) const;
  bool is_hidden(int32_t id) const {
    return types_[static_cast<size_t>(id)] == TokenType::kControl;
  }
  void encode_text(std::string_view text, bool begins_input, std::vector<int32_t>& ids) const;

  std::unique_ptr<HfModel> model_;
  std::unique_ptr<HfNormalizer> normalizer_;
  std::unique_ptr<HfPretokenizer> pretokenizer_;
  std::unique_ptr<HfDecoder> decoder_;
  std::unique_ptr<HfAddedTokens> raw_tokens_;
  std::unique_ptr<HfAddedTokens> normalized_tokens_;
  std::vector<std::string> spellings_;  // (size), added tokens too
  std::vector<TokenType> types_;
  std::unordered_map<std::string, int32_t> added_ids_;
  Ends ends_;
  bool decodes_stretches_ = false;  // by themselves: each has a prefix to take off
  std::optional<int32_t> bos_, eos_;
};

HfTokenizer::HfTokenizer(const HfNode& document, const Json& config) {
  std::vector<HfAddedToken> added = read_added_tokens(document);
  std::unordered_set<std::string> special;
  for (const HfAddedToken& token : added) {
    if (token.special) special.insert(token.content);
  }
  model_ = make_hf_model(document.at("model"), special);
  if (const auto node = document.find("normalizer")) {
    normalizer_ = make_hf_normalizer(*node);
    decodes_stretches_ = prefixes_stretches(*node);
  }
  if (const auto node = document.find("pre_tokenizer")) {
    pretokenizer_ = make_hf_pretokenizer(*node);
    decodes_stretches_ = decodes_stretches_ || prefixes_stretches(*node);
  }
  if (const auto node = document.find("decoder")) decoder_ = make_hf_decoder(*node);
  add_tokens(std::move(added));
  set_ends(document, config);
}

void HfTokenizer::add_tokens(std::vector<HfAddedToken> tokens) {
  constexpr int32_t kMaxId = (1 << 24) - 1;
  spellings_ = model_->vocabulary().spellings();
  for (HfAddedToken& token : tokens) {
    // Where the model has the spelling itself, its id holds.
    token.id = model_->vocabulary().find(token.content).value_or(token.id);
    if (token.id > kMaxId) {
      throw Error("added_tokens", "must have ids up to " + std::to_string(kMaxId),
                  std::to_string(token.id));
    }
    const auto index = static_cast<size_t>(token.id);
    if (index >= spellings_.size()) spellings_.resize(index + 1);
    spellings_[index] = token.content;
    added_ids_.emplace(token.content, token.id);
  }
  set_types(tokens);
  std::vector<HfAddedToken> raw, normalized;
  for (HfAddedToken& token : tokens) {
    if (token.normalized) {
      if (normalizer_) token.content = normalizer_->normalize(token.content);
      normalized.push_back(std::move(token));
    } else {
      raw.push_back(std::move(token));
    }
  }
  raw_tokens_ = std::make_unique<HfAddedTokens>(std::move(raw));
  normalized_tokens_ = std::make_unique<HfAddedTokens>(std::move(normalized));
}

void HfTokenizer::set_types(const std::vector<HfAddedToken>& added) {
  types_.assign(spellings_.size(), TokenType::kNormal);
  if (model_->spells_bytes()) {
    for (const int32_t id : model_->vocabulary().byte_ids()) {
      if (id >= 0) types_[static_cast<size_t>(id)] = TokenType::kByte;
    }
  }
  if (const auto unknown = model_->unknown()) {
    types_[static_cast<size_t>(*unknown)] = TokenType::kUnknown;
  }
  for (const HfAddedToken& token : added) {
    types_[static_cast<size_t>(token.id)] =
        token.special ? TokenType::kControl : TokenType::kUserDefined;
  }
}

void HfTokenizer::set_ends(const HfNode& document, const Json& config) {
  if (const auto node = document.find("post_processor")) read_ends(*node, ends_);
  for (const std::vector<int32_t>& ids : {ends_.before, ends_.after}) {
    for (const int32_t id : ids) {
      if (static_cast<size_t>(id) >= size()) {
        throw Error("post_processor", "must add tokens of the vocabulary", std::to_string(id));
      }
    }
  }
  bos_ = find(named_token(config, "bos_token"));
  eos_ = find(named_token(config, "eos_token"));
  overrule(stated(config, "add_bos_token"), bos_, ends_.before);
  overrule(stated(config, "add_eos_token"), eos_, ends_.after);
  if (adds_bos()) bos_ = ends_.before[0];
  if (adds_eos()) eos_ = eos_ ? eos_ : std::optional<int32_t>(ends_.after[0]);
}

std::optional<int32_t> HfTokenizer::find(const std::string& spelling) const {
  if (spelling.empty()) return std::nullopt;
  if (const auto added = added_ids_.find(spelling); added != added_ids_.end()) {
    return added->second;
  }
  return model_->vocabulary().find(spelling);
}

size_t HfTokenizer::checked(int32_t id) const {
  if (id < 0 || static_cast<size_t>(id) >= size()) {
    throw Error("token id", "must be in [0, " + std::to_string(size()) + ")", std::to_string(id));
  }
  return static_cast<size_t>(id);
}

std::vector<int32_t> HfTokenizer::encode(std::string_view text, EncodeOptions options) const {
  if (text.size() > kMaxTextBytes) {
    throw Error("text", "must not exceed " + std::to_string(kMaxTextBytes) + " bytes",
                std::to_string(text.size()));
  }
  std::vector<int32_t> body;
  for (const Fragment& outer : raw_tokens_->split(text, options.parse_special)) {
    if (outer.token >= 0) {
      body.push_back(outer.token);
      continue;
    }
    const bool begins_input = outer.text.data() == text.data();
    const std::string normal =
        normalizer_ ? normalizer_->normalize(outer.text) : std::string(outer.text);
    for (const Fragment& inner : normalized_tokens_->split(normal, options.parse_special)) {
      if (inner.token >= 0) {
        body.push_back(inner.token);
      } else {
        encode_text(inner.text, begins_input && inner.text.data() == normal.data(), body);
      }
    }
  }
  if (!options.add_special) return body;
  const bool begins_with_bos = adds_bos() && !body.empty() && body[0] == ends_.before[0];
  std::vector<int32_t> ids;
  if (!begins_with_bos) ids = ends_.before;
  ids.insert(ids.end(), body.begin(), body.end());
  ids.insert(ids.end(), ends_.after.begin(), ends_.after.end());
  return ids;
}

void HfTokenizer::encode_text(std::string_view text, bool begins_input,
                              std::vector<int32_t>& ids) const {
  std::vector<HfWord> words = {{std::string(text), begins_input}};
  if (pretokenizer_) pretokenizer_->apply(words);
  for (const HfWord& word : words) {
    if (!word.text.empty()) model_->encode(word.text, ids);
  }
}

std::string HfTokenizer::decode(std::span<const int32_t> ids, DecodeOptions options) const {
  std::string text;
  std::vector<std::string> tokens;
  const auto flush = [&] {
    if (tokens.empty()) return;
    if (decoder_) decoder_->decode(tokens, options.strip_space_prefix);
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (!decoder_ && i > 0) text += ' ';  // words, as far as anyone has said
      text += tokens[i];
    }
    tokens.clear();
  };
  for (const int32_t id : ids) {
    const std::string& spelling = spellings_[checked(id)];
    const TokenType type = types_[static_cast<size_t>(id)];
    const bool added = type == TokenType::kControl || type == TokenType::kUserDefined;
    const bool shown = type != TokenType::kControl || options.show_control;
    if (added && decodes_stretches_) {
      flush();
      if (shown) text += spelling;
    } else if (shown) {
      tokens.push_back(spelling);
    }
  }
  flush();
  return text;
}

std::string HfTokenizer::piece(int32_t id) const {
  std::vector<std::string> tokens = {spellings_[checked(id)]};
  if (decoder_ && !is_hidden(id)) decoder_->decode(tokens, false);
  return tokens.empty() ? std::string() : tokens[0];
}

}  // namespace

std::unique_ptr<Tokenizer> make_hf_tokenizer(const Json& tokenizer, const Json& config,
                                             const std::string& place) {
  try {
    return std::make_unique<HfTokenizer>(HfNode(tokenizer, ""), config);
  } catch (const Error& error) {
    throw Error(place + ": " + error.place(), error.rule(), error.value(), error.mend())
        .of(error.kind());
  }
}

}  // namespace ropewalk
