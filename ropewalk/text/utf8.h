// The one UTF-8 question tokenizers ask: where does this character end?
#ifndef ROPEWALK_TEXT_UTF8_H_
#define ROPEWALK_TEXT_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ropewalk {

// Returns the bytes (1 to 4) of the character `text` begins with, or 0 where it begins with none:
// empty, a stray or missing continuation, an overlong form, a surrogate, past U+10FFFF (RFC 3629).
constexpr size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<uint8_t>(text[i]) : uint8_t{0};
  };
  const auto continues = [&](size_t i) { return (byte(i) & 0xc0u) == 0x80u; };
  if (text.empty()) return 0;
  const uint8_t lead = byte(0);
  const uint8_t second = byte(1);
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4 || !continues(1)) return 0;
  if (lead < 0xe0) return 2;
  if (lead < 0xf0) {
    const bool overlong = lead == 0xe0 && second < 0xa0;
    const bool surrogate = lead == 0xed && second > 0x9f;
    return continues(2) && !overlong && !surrogate ? 3 : 0;
  }
  const bool overlong = lead == 0xf0 && second < 0x90;
  const bool too_large = lead == 0xf4 && second > 0x8f;
  return continues(2) && continues(3) && !overlong && !too_large ? 4 : 0;
}

}  // namespace ropewalk

#endif  // ROPEWALK_TEXT_UTF8_H_
