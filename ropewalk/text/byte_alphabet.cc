#include "ropewalk/text/byte_alphabet.h"

#include <array>
#include <cstddef>

namespace ropewalk {
namespace {

constexpr bool stands_for_itself(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte != 0xad);
}

constexpr std::array<uint16_t, 256> characters() {
  std::array<uint16_t, 256> table{};
  uint16_t next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    table[static_cast<size_t>(byte)] =
        stands_for_itself(byte) ? static_cast<uint16_t>(byte) : next++;
  }
  return table;
}

constexpr std::array<uint16_t, 256> kCharacters = characters();
constexpr size_t kEnd = 256 + 68;  // one past the last character

constexpr std::array<int16_t, kEnd> bytes() {
  std::array<int16_t, kEnd> table{};
  table.fill(-1);
  for (size_t byte = 0; byte < 256; ++byte) table[kCharacters[byte]] = static_cast<int16_t>(byte);
  return table;
}

constexpr std::array<int16_t, kEnd> kBytes = bytes();

}  // namespace

std::string to_alphabet(uint8_t byte) {
  const uint16_t character = kCharacters[byte];
  if (character < 0x80) return std::string(1, static_cast<char>(character));
  return {static_cast<char>(0xc0 | (character >> 6)), static_cast<char>(0x80 | (character & 0x3f))};
}

std::optional<std::string> from_alphabet(std::string_view spelling) {
  std::string raw;
  raw.reserve(spelling.size());
  for (size_t i = 0; i < spelling.size(); ++i) {
    size_t character = static_cast<uint8_t>(spelling[i]);
    if (character >= 0x80) {  // all others of the alphabet take two bytes
      if ((character & 0xe0) != 0xc0 || i + 1 == spelling.size()) return std::nullopt;
      const size_t low = static_cast<uint8_t>(spelling[++i]);
      if ((low & 0xc0) != 0x80) return std::nullopt;
      character = ((character & 0x1f) << 6) | (low & 0x3f);
      if (character < 0x80) return std::nullopt;
    }
    if (character >= kEnd || kBytes[character] < 0) return std::nullopt;
    raw += static_cast<char>(kBytes[character]);
  }
  return raw;
}

}  // namespace ropewalk
