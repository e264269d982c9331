// How SentencePiece vocabularies spell spaces and bytes.
#ifndef ROPEWALK_TEXT_SENTENCEPIECE_SPELLING_H_
#define ROPEWALK_TEXT_SENTENCEPIECE_SPELLING_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace ropewalk {

inline constexpr std::string_view kSpelledSpace = "\xe2\x96\x81";  // U+2581

// Returns `text` with each ' ' as U+2581, and one more before it if `prefix`.
std::string escape_spaces(std::string_view text, bool prefix);

// Returns `text` with each U+2581 as ' '.
std::string unescape_spaces(std::string_view text);

// Returns the byte that "<0xHH>" spells, or -1.
int byte_spelled(std::string_view text);

// Returns "<0xHH>".
std::string spell_byte(uint8_t byte);

// The character `text` begins with: a valid one, or a single byte of what is none.
//   text  not empty
std::string_view first_character(std::string_view text);

}  // namespace ropewalk

#endif  // ROPEWALK_TEXT_SENTENCEPIECE_SPELLING_H_
