// The "added_tokens" of a tokenizer.json: tokens that are matched in the text before its model sees
// what lies between them. Source: github.com/huggingface/tokenizers, added_vocabulary.rs.
#ifndef ROPEWALK_TEXT_HF_ADDED_TOKENS_H_
#define ROPEWALK_TEXT_HF_ADDED_TOKENS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/text/prefix_table.h"
#include "ropewalk/text/special_tokens.h"

namespace ropewalk {

struct HfAddedToken {
  int32_t id = 0;
  std::string content = {};
  bool single_word = false;  // not inside a word
  bool lstrip = false;       // takes in the white space before it
  bool rstrip = false;       // takes in the white space after it
  bool normalized = false;   // matched after normalisation, in its own normalised spelling
  bool special = false;
};

// Tokens that are matched in one form of the text, raw or normalised. Not movable: views.
class HfAddedTokens {
 public:
  // tokens  content as it is matched; empty ones never are
  explicit HfAddedTokens(std::vector<HfAddedToken> tokens);
  HfAddedTokens(const HfAddedTokens&) = delete;
  HfAddedTokens& operator=(const HfAddedTokens&) = delete;

  // Returns `text` cut at its tokens: the leftmost first, of those the longest. Special ones are
  // skipped, text as they are, unless `parse_special`. No plain fragment is empty.
  std::vector<Fragment> split(std::string_view text, bool parse_special) const;

 private:
  std::vector<HfAddedToken> tokens_;
  PrefixTable table_;  // to indices of tokens_
};

}  // namespace ropewalk

#endif  // ROPEWALK_TEXT_HF_ADDED_TOKENS_H_
