#include "ropewalk/text/tokenizer_base.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ropewalk/base/error.h"
#include "ropewalk/text/sentencepiece_spelling.h"

namespace ropewalk {
namespace {

std::vector<TokenType> checked_types(const std::vector<int32_t>& types, size_t n_tokens) {
  constexpr const char* kKey = "tokenizer.ggml.token_type";
  if (types.empty()) return std::vector<TokenType>(n_tokens, TokenType::kNormal);
  if (types.size() != n_tokens) {
    throw Error(kKey, "must hold one type per token (" + std::to_string(n_tokens) + ")",
                std::to_string(types.size()));
  }
  std::vector<TokenType> checked;
  checked.reserve(n_tokens);
  for (const int32_t type : types) {
    if (type < static_cast<int32_t>(TokenType::kNormal) ||
        type > static_cast<int32_t>(TokenType::kByte)) {
      throw Error(kKey, "must be 1 to 6", std::to_string(type));
    }
    checked.push_back(static_cast<TokenType>(type));
  }
  return checked;
}

// A default that the vocabulary is too small for is no token; a stated one is an error.
std::optional<int32_t> checked_id(const char* key, std::optional<int32_t> stated,
                                  std::optional<int32_t> fallback, size_t n_tokens) {
  const auto exists = [&](int32_t id) { return id >= 0 && static_cast<size_t>(id) < n_tokens; };
  if (stated && !exists(*stated)) {
    throw Error(key, "must be an id below " + std::to_string(n_tokens), std::to_string(*stated));
  }
  if (stated) return stated;
  return fallback && exists(*fallback) ? fallback : std::nullopt;
}

bool checked_addition(const char* key, std::optional<bool> stated, bool fallback,
                      std::optional<int32_t> token) {
  if (stated.value_or(false) && !token) {
    throw Error(key, "needs the id of the token to add", "true and no such token");
  }
  return stated.value_or(fallback) && token;
}

}  // namespace

TokenizerBase::TokenizerBase(const Vocabulary& vocabulary, const TokenizerDefaults& defaults)
    : tokens_(vocabulary.tokens) {
  const size_t n_tokens = tokens_.size();
  if (n_tokens == 0 || n_tokens > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    throw Error("tokenizer.ggml.tokens", "must hold 1 to 2^31 - 1 tokens",
                std::to_string(n_tokens));
  }
  types_ = checked_types(vocabulary.token_types, n_tokens);
  bos_ = checked_id("tokenizer.ggml.bos_token_id", vocabulary.bos, defaults.bos, n_tokens);
  eos_ = checked_id("tokenizer.ggml.eos_token_id", vocabulary.eos, defaults.eos, n_tokens);
  unknown_ =
      checked_id("tokenizer.ggml.unknown_token_id", vocabulary.unknown, defaults.unknown, n_tokens);
  add_bos_ =
      checked_addition("tokenizer.ggml.add_bos_token", vocabulary.add_bos, defaults.add_bos, bos_);
  add_eos_ =
      checked_addition("tokenizer.ggml.add_eos_token", vocabulary.add_eos, defaults.add_eos, eos_);
  // A file without types, or with careless ones, would print these and let text spell them.
  for (const std::optional<int32_t> id : {bos_, eos_}) {
    if (id) types_[static_cast<size_t>(*id)] = TokenType::kControl;
  }
  special_tokens_ = SpecialTokens(tokens_, types_);
}

std::vector<int32_t> TokenizerBase::encode(std::string_view text, EncodeOptions options) const {
  if (text.size() > kMaxTextBytes) {
    throw Error("text", "must not exceed " + std::to_string(kMaxTextBytes) + " bytes",
                std::to_string(text.size()));
  }
  const std::vector<Fragment> fragments = special_tokens_.split(text, options.parse_special);
  const bool begins_with_bos = bos_ && !fragments.empty() && fragments[0].token == *bos_;

  std::vector<int32_t> ids;
  if (options.add_special && add_bos_ && !begins_with_bos) ids.push_back(*bos_);
  for (const Fragment& fragment : fragments) {
    if (fragment.token >= 0) {
      ids.push_back(fragment.token);
    } else {
      encode_text(fragment.text, ids);
    }
  }
  if (options.add_special && add_eos_) ids.push_back(*eos_);
  return ids;
}

TokenType TokenizerBase::type(int32_t id) const {
  check_id(id);
  return type_of(id);
}

bool TokenizerBase::spells_text(TokenType type) {
  return type == TokenType::kNormal || type == TokenType::kUserDefined ||
         type == TokenType::kUnused;
}

void TokenizerBase::check_id(int32_t id) const {
  if (id < 0 || static_cast<size_t>(id) >= tokens_.size()) {
    throw Error("token id", "must be in [0, " + std::to_string(tokens_.size()) + ")",
                std::to_string(id));
  }
}

void TokenizerBase::check_scores(std::span<const float> scores) const {
  constexpr const char* kKey = "tokenizer.ggml.scores";
  if (scores.size() != size()) {
    throw Error(kKey, "must hold one score per token (" + std::to_string(size()) + ")",
                std::to_string(scores.size()));
  }
  if (std::any_of(scores.begin(), scores.end(), [](float score) { return std::isnan(score); })) {
    throw Error(kKey, "must be numbers", "nan");
  }
}

uint8_t TokenizerBase::checked_byte(int32_t id) const {
  const int byte = byte_spelled(spelling(id));
  if (byte < 0) {
    throw Error("tokenizer.ggml.tokens", "a byte token must read \"<0xHH>\"",
                "\"" + spelling(id) + "\" as token " + std::to_string(id));
  }
  return static_cast<uint8_t>(byte);
}

std::string TokenizerBase::decode_stretches(std::span<const int32_t> ids, DecodeOptions options,
                                            bool strip_prefix) const {
  std::string text;
  std::string escaped;  // one stretch between special tokens, as encode_text() saw it
  const auto flush = [&] {
    std::string plain = unescape_spaces(escaped);
    text += strip_prefix && plain.starts_with(' ') ? plain.substr(1) : plain;
    escaped.clear();
  };
  for (const int32_t id : ids) {
    check_id(id);
    const TokenType type = type_of(id);
    if (type == TokenType::kByte) {
      escaped += static_cast<char>(checked_byte(id));
    } else if (type == TokenType::kNormal || type == TokenType::kUnused) {
      escaped += spelling(id);
    } else {
      flush();
      if (!is_hidden(id) || options.show_control) text += spelling(id);
    }
  }
  flush();
  return text;
}

bool TokenizerBase::is_hidden(int32_t id) const {
  return type_of(id) == TokenType::kControl || type_of(id) == TokenType::kUnknown;
}

}  // namespace ropewalk
