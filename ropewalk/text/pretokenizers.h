// How each byte-level tokenizer cuts text into words before it merges anything.
#ifndef ROPEWALK_TEXT_PRETOKENIZERS_H_
#define ROPEWALK_TEXT_PRETOKENIZERS_H_

#include <span>
#include <string>
#include <string_view>

namespace ropewalk {

struct Pretokenizer {
  std::span<const std::string_view> names;     // values of tokenizer.ggml.pre
  std::span<const std::string_view> patterns;  // for RegexSplitter, in order
  bool ignore_merges = false;  // a word that is a token is that token, whatever merges would give
  bool add_bos = false;        // where tokenizer.ggml.add_bos_token is absent
  // Else characters are merged as they are, ' ' is spelled U+2581, and bytes are "<0xHH>".
  bool byte_level = true;
  bool whole_line_breaks = false;  // a run of '\n' that is a token is that token
};

// To add one: a row in pretokenizers.cc.
std::span<const Pretokenizer> known_pretokenizers();

// Returns the row that carries `name`; an empty name is "default".
// Throws Error listing the known names.
const Pretokenizer& find_pretokenizer(std::string_view name);

}  // namespace ropewalk

#endif  // ROPEWALK_TEXT_PRETOKENIZERS_H_
