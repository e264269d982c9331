// A stranger's text inside our messages.
#ifndef ROPEWALK_FORMATS_PRINTABLE_H_
#define ROPEWALK_FORMATS_PRINTABLE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ropewalk {

// Control characters, and what turns the direction of the text after it.
constexpr bool garbles(uint32_t character) {
  const auto within = [&](uint32_t first, uint32_t last) {
    return character >= first && character <= last;
  };
  return within(0, 0x1f) || within(0x7f, 0x9f) || character == 0x61c || within(0x200e, 0x200f) ||
         within(0x2028, 0x202e) || within(0x2066, 0x2069);
}

// `text` cut to `longest` bytes with control characters as \xNN, or \uNNNN past ASCII, so that it can
// neither flood nor garble a terminal. Other bytes pass.
inline std::string printable(std::string_view text, size_t longest = 80) {
  constexpr std::string_view kHex = "0123456789abcdef";
  const bool cut = text.size() > longest;
  if (cut) {
    // Not within a character of several bytes.
    while (longest > 0 && (static_cast<unsigned char>(text[longest]) & 0xc0) == 0x80) --longest;
    text = text.substr(0, longest);
  }
  const auto bits = [&](size_t at, unsigned mask) {
    return at < text.size() ? static_cast<unsigned char>(text[at]) & mask : 0U;
  };
  std::string out;
  for (size_t k = 0; k < text.size();) {
    // All that garble have three bytes at most.
    const bool has_two = bits(k, 0xe0) == 0xc0 && bits(k + 1, 0xc0) == 0x80;
    const bool has_three =
        bits(k, 0xf0) == 0xe0 && bits(k + 1, 0xc0) == 0x80 && bits(k + 2, 0xc0) == 0x80;
    const size_t length = has_three ? 3 : has_two ? 2 : 1;
    const uint32_t character =
        has_three ? bits(k, 0x0f) << 12 | bits(k + 1, 0x3f) << 6 | bits(k + 2, 0x3f)
        : has_two ? bits(k, 0x1f) << 6 | bits(k + 1, 0x3f)
                  : bits(k, 0xff);
    if (garbles(character) && (length > 1 || character < 0x80)) {
      out += length > 1 ? "\\u" : "\\x";
      for (int shift = length > 1 ? 12 : 4; shift >= 0; shift -= 4)
        out += kHex[character >> shift & 15];
    } else {
      out += text.substr(k, length);
    }
    k += length;
  }
  return cut ? out + "..." : out;
}

}  // namespace ropewalk

#endif  // ROPEWALK_FORMATS_PRINTABLE_H_
