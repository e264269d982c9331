// GPT-2's alphabet: every byte is written as one printable character, so that vocabularies and
// merges are plain text. Source: Radford et al. 2019, encoder.py, bytes_to_unicode.
#ifndef ROPEWALK_TEXT_BYTE_ALPHABET_H_
#define ROPEWALK_TEXT_BYTE_ALPHABET_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ropewalk {

// Returns the character that stands for `byte`, as UTF-8: '!' to '~' and U+00A1 to U+00FF but
// U+00AD stand for themselves; the 68 others, in order, are U+0100 and on.
std::string to_alphabet(uint8_t byte);

// Returns the bytes that `spelling` stands for; nothing if it holds any other character.
std::optional<std::string> from_alphabet(std::string_view spelling);

}  // namespace ropewalk

#endif  // ROPEWALK_TEXT_BYTE_ALPHABET_H_
