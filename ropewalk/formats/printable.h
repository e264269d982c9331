// A stranger's text inside our messages.
#ifndef ROPEWALK_FORMATS_PRINTABLE_H_
#define ROPEWALK_FORMATS_PRINTABLE_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace ropewalk {

// `text` cut to `longest` bytes with control characters as \xNN, so that it can neither flood nor
// garble a terminal. Bytes of UTF-8 pass.
inline std::string printable(std::string_view text, size_t longest = 80) {
  constexpr std::string_view kHex = "0123456789abcdef";
  const bool cut = text.size() > longest;
  if (cut) {
    // Not within a character of several bytes.
    while (longest > 0 && (static_cast<unsigned char>(text[longest]) & 0xc0) == 0x80) --longest;
    text = text.substr(0, longest);
  }
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  return cut ? out + "..." : out;
}

}  // namespace ropewalk

#endif  // ROPEWALK_FORMATS_PRINTABLE_H_
