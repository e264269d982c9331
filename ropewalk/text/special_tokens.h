// Tokens that are matched in the raw text, before any tokenizer sees what lies between them.
#ifndef ROPEWALK_TEXT_SPECIAL_TOKENS_H_
#define ROPEWALK_TEXT_SPECIAL_TOKENS_H_

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/text/tokenizer.h"

namespace ropewalk {

// Either a stretch of plain text (token < 0) or one special token.
struct Fragment {
  std::string_view text;
  int32_t token = -1;
};

// Immutable; holds views of the spellings it was made from.
class SpecialTokens {
 public:
  SpecialTokens() = default;

  // tokens  (n_tokens) spellings; must outlive this object
  // types   (n_tokens)
  SpecialTokens(std::span<const std::string> tokens, std::span<const TokenType> types);

  // Returns `text` cut at its special tokens: user-defined ones always, control and unknown ones if
  // `parse_special`. Where matches overlap the longest wins, then the lower id, then the leftmost:
  // llama.cpp's order, with its unspecified tie settled. No fragment is empty.
  std::vector<Fragment> split(std::string_view text, bool parse_special) const;

 private:
  struct Entry {
    std::string_view text;
    int32_t id;
    bool always;
  };
  struct Match {
    size_t begin;
    size_t size;
    int32_t id;
  };

  std::vector<Match> find_all(std::string_view text, bool parse_special) const;

  std::vector<Entry> entries_;  // by text
  std::bitset<256> first_bytes_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_TEXT_SPECIAL_TOKENS_H_
