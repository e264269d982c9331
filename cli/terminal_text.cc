#include "cli/terminal_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>

#include "ropewalk/formats/printable.h"
#include "ropewalk/text/utf8.h"

namespace ropewalk {

std::string terminal_text(std::string_view text) {
  std::string characters;
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0) {
      characters += fmt::format("\\x{:02x}", static_cast<uint8_t>(text.front()));
    } else {
      characters += text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return printable(characters, characters.size());
}

std::string terminal_lines(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of("\n\t"), text.size());
    lines += terminal_text(text.substr(0, end));
    if (end < text.size()) lines += text[end];
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace ropewalk
