#include "ropewalk/text/sentencepiece_spelling.h"

#include <algorithm>

#include "ropewalk/text/utf8.h"

namespace ropewalk {

std::string escape_spaces(std::string_view text, bool prefix) {
  std::string escaped;
  escaped.reserve(text.size() + text.size() / 2);
  if (prefix) escaped += kSpelledSpace;
  for (const char c : text) {
    if (c == ' ') {
      escaped += kSpelledSpace;
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string unescape_spaces(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const bool space = text.substr(at).starts_with(kSpelledSpace);
    plain += space ? ' ' : text[at];
    at += space ? kSpelledSpace.size() : 1;
  }
  return plain;
}

int byte_spelled(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return -1;
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
  };
  const int high = digit(text[3]);
  const int low = digit(text[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

std::string spell_byte(uint8_t byte) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  return {'<', '0', 'x', kDigits[byte >> 4], kDigits[byte & 15], '>'};
}

std::string_view first_character(std::string_view text) {
  return text.substr(0, std::max<size_t>(utf8_length(text), 1));
}

}  // namespace ropewalk
