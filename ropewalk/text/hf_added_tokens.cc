#include "ropewalk/text/hf_added_tokens.h"

#include <algorithm>
#include <utility>

#include "ropewalk/text/hf_pattern.h"
#include "ropewalk/text/unicode.h"

namespace ropewalk {
namespace {

constexpr bool continues(char c) { return (static_cast<uint8_t>(c) & 0xc0) == 0x80; }

// Where the last character of `text` begins.
//   text  not empty
size_t last_character(std::string_view text) {
  size_t at = text.size() - 1;
  while (at > 0 && text.size() - at < 4 && continues(text[at])) --at;
  return decode_character(text.substr(at)).size == text.size() - at ? at : text.size() - 1;
}

bool ends_in_white_space(std::string_view text) {
  return !text.empty() && is_white_space(decode_character(text.substr(last_character(text))).code);
}

bool begins_with_white_space(std::string_view text) {
  return !text.empty() && is_white_space(decode_character(text).code);
}

bool is_word_character(std::string_view character) {
  static const HfPattern kWord =
      HfPattern::regex(R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200c}\x{200d}])");
  const std::vector<Stretch> stretches = kWord.stretches(character);
  return !stretches.empty() && stretches.front().matched;
}

// Neither side of text[begin, end) is the inside of a word.
bool stands_alone(std::string_view text, size_t begin, size_t end) {
  const std::string_view before = text.substr(0, begin);
  if (!before.empty() && is_word_character(before.substr(last_character(before)))) return false;
  const std::string_view after = text.substr(end);
  return after.empty() || !is_word_character(after.substr(0, decode_character(after).size));
}

}  // namespace

HfAddedTokens::HfAddedTokens(std::vector<HfAddedToken> tokens) : tokens_(std::move(tokens)) {
  std::vector<PrefixTable::Entry> entries;
  for (size_t i = 0; i < tokens_.size(); ++i) {
    if (!tokens_[i].content.empty()) {
      entries.push_back({tokens_[i].content, static_cast<int32_t>(i)});
    }
  }
  table_ = PrefixTable(std::move(entries));
}

std::vector<Fragment> HfAddedTokens::split(std::string_view text, bool parse_special) const {
  std::vector<Fragment> fragments;
  size_t done = 0;
  for (size_t at = 0; at < text.size();) {
    size_t size = 0;
    int32_t index = -1;
    table_.find(text.substr(at), [&](size_t longer, int32_t found) {
      size = longer;
      index = found;
    });
    if (index < 0) {
      ++at;
      continue;
    }
    const HfAddedToken& token = tokens_[static_cast<size_t>(index)];
    size_t begin = at;
    size_t end = at + size;
    at = end;  // what a match takes in is not looked at again, even where it is turned down
    if (token.special && !parse_special) continue;
    if (token.single_word && !stands_alone(text, begin, end)) continue;
    if (token.lstrip) {
      while (begin > done && ends_in_white_space(text.substr(done, begin - done))) {
        begin = done + last_character(text.substr(done, begin - done));
      }
    }
    while (token.rstrip && begins_with_white_space(text.substr(end))) {
      end += decode_character(text.substr(end)).size;
    }
    if (begin > done) fragments.push_back({.text = text.substr(done, begin - done)});
    // A token that took white space in may hide the beginning of this one.
    begin = std::max(begin, done);
    fragments.push_back(
        {.text = text.substr(begin, std::max(end, begin) - begin), .token = token.id});
    done = std::max(end, begin);
  }
  if (done < text.size()) fragments.push_back({.text = text.substr(done)});
  return fragments;
}

}  // namespace ropewalk
