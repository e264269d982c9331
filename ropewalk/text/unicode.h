// Unicode as tokenizers need it: characters, their classes, normal forms. The tables are utf8proc's.
#ifndef ROPEWALK_TEXT_UNICODE_H_
#define ROPEWALK_TEXT_UNICODE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ropewalk {

inline constexpr char32_t kReplacementCharacter = 0xfffd;

struct Character {
  char32_t code;  // U+FFFD for a byte that belongs to no character
  size_t size;    // in bytes
};

// The character `text` begins with.
//   text  not empty
Character decode_character(std::string_view text);

// Appends `code` as UTF-8.
void append_character(char32_t code, std::string& text);

enum class NormalForm { kNfc, kNfd, kNfkc, kNfkd };

// Bytes that belong to no character stay as they are, here and below.
std::string to_normal_form(std::string_view text, NormalForm form);

// Each character by itself, without regard to its neighbours (a capital sigma is always U+03C3).
std::string to_lower_case(std::string_view text);

bool is_white_space(char32_t code);      // the property White_Space
bool is_nonspacing_mark(char32_t code);  // category Mn
bool is_other(char32_t code);            // categories C*: controls, formats, unassigned
bool is_punctuation(char32_t code);      // categories P*
bool is_combining_mark(char32_t code);   // categories M*

}  // namespace ropewalk

#endif  // ROPEWALK_TEXT_UNICODE_H_
