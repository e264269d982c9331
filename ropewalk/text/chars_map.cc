#include "ropewalk/text/chars_map.h"

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

// A unit: bits 0-7 and 31 its label, bit 8 whether a value hangs on it, bits 9-30 where its
// children lie, relative to its own index; a value has bit 31 set.
constexpr uint32_t offset_of(uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); }
constexpr uint32_t label_of(uint32_t unit) { return unit & ((1u << 31) | 0xffu); }
constexpr bool has_value(uint32_t unit) { return ((unit >> 8) & 1) != 0; }
constexpr uint32_t value_of(uint32_t unit) { return unit & ((1u << 31) - 1); }

uint32_t little_endian(std::string_view four) {
  uint32_t value = 0;
  for (size_t i = 4; i-- > 0;) value = value << 8 | static_cast<uint8_t>(four[i]);
  return value;
}

Error damaged(const std::string& what) {
  return Error("precompiled_charsmap", "must point inside itself", what,
               "the file is damaged: convert or fetch it again");
}

}  // namespace

CharsMap::CharsMap(std::string_view blob) {
  if (blob.empty()) return;
  const size_t trie_size = blob.size() < 4 ? 0 : little_endian(blob);
  if (trie_size == 0 || trie_size % 4 != 0 || trie_size > blob.size() - 4) {
    throw damaged("a trie of " + std::to_string(trie_size) + " bytes in " +
                  std::to_string(blob.size()));
  }
  units_.reserve(trie_size / 4);
  for (size_t at = 4; at < 4 + trie_size; at += 4) {
    units_.push_back(little_endian(blob.substr(at, 4)));
  }
  replacements_ = blob.substr(4 + trie_size);
}

uint32_t CharsMap::unit(uint32_t index) const {
  if (index >= units_.size()) throw damaged("unit " + std::to_string(index));
  return units_[index];
}

std::optional<CharsMap::Match> CharsMap::find_longest(std::string_view text) const {
  return find(text, true);
}

std::optional<CharsMap::Match> CharsMap::find_shortest(std::string_view text) const {
  return find(text, false);
}

std::optional<CharsMap::Match> CharsMap::find(std::string_view text, bool longest) const {
  if (units_.empty()) return std::nullopt;
  std::optional<Match> match;
  uint32_t index = offset_of(unit(0));
  for (size_t i = 0; i < text.size() && text[i] != '\0'; ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    index ^= byte;
    // The array ends where its last child does: past it nothing lies.
    if (index >= units_.size()) break;
    const uint32_t node = units_[index];
    if (label_of(node) != byte) break;
    index ^= offset_of(node);
    if (!has_value(node)) continue;
    const uint32_t begin = value_of(unit(index));
    const size_t end = replacements_.find('\0', begin);
    if (end == std::string::npos) throw damaged("replacement " + std::to_string(begin));
    match = Match{i + 1, std::string_view(replacements_).substr(begin, end - begin)};
    if (!longest) break;
  }
  return match;
}

}  // namespace ropewalk
