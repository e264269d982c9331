// What both tokenizer models share: the vocabulary, judged; BOS and EOS; special tokens.
#ifndef ROPEWALK_TEXT_TOKENIZER_BASE_H_
#define ROPEWALK_TEXT_TOKENIZER_BASE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/text/special_tokens.h"
#include "ropewalk/text/tokenizer.h"

namespace ropewalk {

// The values llama.cpp uses where a file is silent.
struct TokenizerDefaults {
  std::optional<int32_t> bos = {};
  std::optional<int32_t> eos = {};
  std::optional<int32_t> unknown = {};
  bool add_bos = false;
  bool add_eos = false;
};

class TokenizerBase : public Tokenizer {
 public:
  std::vector<int32_t> encode(std::string_view text, EncodeOptions options) const final;
  TokenType type(int32_t id) const final;
  size_t size() const final { return tokens_.size(); }
  std::optional<int32_t> bos() const final { return bos_; }
  std::optional<int32_t> eos() const final { return eos_; }
  bool adds_bos() const final { return add_bos_; }
  bool adds_eos() const final { return add_eos_; }

  // Not movable: lookups hold views of tokens_.
  TokenizerBase(const TokenizerBase&) = delete;
  TokenizerBase& operator=(const TokenizerBase&) = delete;

 protected:
  // Throws Error as make_tokenizer does, for all that does not depend on the model.
  TokenizerBase(const Vocabulary& vocabulary, const TokenizerDefaults& defaults);

  // Appends the ids of a stretch of text that holds no special token.
  //   text  not empty, any bytes
  //   ids   appended to
  virtual void encode_text(std::string_view text, std::vector<int32_t>& ids) const = 0;

  // The types a model may build out of text; the others come from SpecialTokens or byte fallback.
  static bool spells_text(TokenType type);

  // Throws Error on an id outside [0, size()).
  void check_id(int32_t id) const;

  // Throws Error unless there is one score a token, each a number.
  void check_scores(std::span<const float> scores) const;

  // The byte that a token of type kByte stands for. Throws Error if it is not spelled "<0xHH>".
  uint8_t checked_byte(int32_t id) const;

  // What SentencePiece's tokens spell: U+2581 as a space, byte tokens as bytes, other special tokens
  // as they are. Each stretch between special tokens is decoded as a whole, for a vocabulary may
  // spell U+2581 in bytes.
  //   strip_prefix  the space that begins a stretch is left out
  std::string decode_stretches(std::span<const int32_t> ids, DecodeOptions options,
                               bool strip_prefix) const;

  // A control token, an unknown one: decode() leaves it out unless asked.
  bool is_hidden(int32_t id) const;

  const std::string& spelling(int32_t id) const { return tokens_[static_cast<size_t>(id)]; }
  TokenType type_of(int32_t id) const { return types_[static_cast<size_t>(id)]; }
  std::optional<int32_t> unknown() const { return unknown_; }

 private:
  std::vector<std::string> tokens_;
  std::vector<TokenType> types_;
  std::optional<int32_t> bos_, eos_, unknown_;
  bool add_bos_ = false;
  bool add_eos_ = false;
  SpecialTokens special_tokens_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_TEXT_TOKENIZER_BASE_H_
