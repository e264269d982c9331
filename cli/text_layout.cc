#include "cli/text_layout.h"

#include <algorithm>

namespace ropewalk {
namespace {

// Characters on the screen: bytes of UTF-8 that start one.
size_t width_of(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string padded(const std::string& text, size_t width) {
  const size_t used = width_of(text);
  return used < width ? text + std::string(width - used, ' ') : text;
}

void end_line(std::string& text) {
  while (!text.empty() && text.back() == ' ') text.pop_back();
  text += '\n';
}

// The text with words that no line holds parted behind a sign that parts names, if they have one.
std::string with_parted_words(std::string_view text, size_t room) {
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (word.size() > room) {
      const size_t sign = word.find_last_of(".,/:", room - 1);
      if (sign == std::string_view::npos) break;
      out += std::string(word.substr(0, sign + 1)) + ' ';
      word.remove_prefix(sign + 1);
    }
    out += std::string(word) + ' ';
  }
  return out;
}

}  // namespace

std::string paragraph(std::string_view whole, std::string_view first, size_t hang) {
  const std::string parted = with_parted_words(whole, kLineWidth - hang);
  std::string_view text = parted;
  std::string out(first);
  size_t used = width_of(first);
  bool line_is_empty = true;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    const size_t width = width_of(word);
    if (!line_is_empty && used + 1 + width > kLineWidth) {
      end_line(out);
      out += std::string(hang, ' ');
      used = hang;
      line_is_empty = true;
    }
    if (!line_is_empty) out += ' ';
    used += width + (line_is_empty ? 0 : 1);
    out += word;
    line_is_empty = false;
  }
  end_line(out);
  return out;
}

std::string Table::text() const {
  std::vector<size_t> widths;
  for (const std::vector<std::string>& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (size_t c = 0; c + 1 < row.size(); ++c) {
      const size_t width = width_of(row[c]);
      if (width <= kWidestCell) widths[c] = std::max(widths[c], width);
    }
  }
  std::string out;
  for (const std::vector<std::string>& row : rows_) {
    std::string line(indent_, ' ');
    size_t start = indent_;
    for (size_t c = 0; c + 1 < row.size(); ++c) {
      line += padded(row[c], widths[c]) + "  ";
      start += widths[c] + 2;
      if (width_of(row[c]) <= widths[c]) continue;
      end_line(line);
      out += line;
      line = std::string(start, ' ');
    }
    out += row.empty() ? "\n" : paragraph(row.back(), line, start);
  }
  return out;
}

std::string shortened(const std::string& text, size_t most) {
  if (text.size() <= most) return text;
  const size_t end = (most - 5) / 2;
  return text.substr(0, most - 5 - end) + " ... " + text.substr(text.size() - end);
}

}  // namespace ropewalk
