#include "cli/text_layout.h"

#include <algorithm>

#include "cli/terminal_text.h"

namespace ropewalk {
namespace {

// Of UTF-8.
bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

// Characters on the screen.
size_t width_of(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, starts_character));
}

std::string padded(const std::string& text, size_t width) {
  const size_t used = width_of(text);
  return used < width ? text + std::string(width - used, ' ') : text;
}

void end_line(std::string& text) {
  while (!text.empty() && text.back() == ' ') text.pop_back();
  text += '\n';
}

// Bytes of the word up to the last sign that parts names within `room` characters; 0: none is
// there.
size_t head_of(std::string_view word, size_t room) {
  constexpr std::string_view kSigns = ".,/:";
  size_t end = 0;
  size_t width = 0;
  for (size_t k = 0; k < word.size(); ++k) {
    if (starts_character(word[k]) && ++width > room) break;
    if (kSigns.find(word[k]) != std::string_view::npos) end = k + 1;
  }
  return end;
}

bool is_number(char c) { return ('0' <= c && c <= '9') || c == '.' || c == '-' || c == 'e'; }

}  // namespace

std::string paragraph(std::string_view text, std::string_view first, size_t hang, size_t width) {
  const std::string safe = terminal_text(text);
  text = safe;
  std::string out = terminal_text(first);
  size_t used = width_of(out);
  bool line_is_empty = true;
  const auto next_line = [&] {
    end_line(out);
    out += std::string(hang, ' ');
    used = hang;
    line_is_empty = true;
  };
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    if (!line_is_empty && used + 1 + width_of(word) > width) next_line();
    while (line_is_empty && used + width_of(word) > width) {
      const size_t head = head_of(word, width - std::min(used, width));
      if (head == 0 && used <= hang) break;  // no line holds it, and it stays whole
      out += word.substr(0, head);
      word.remove_prefix(head);
      next_line();
    }
    if (!line_is_empty) out += ' ';
    used += width_of(word) + (line_is_empty ? 0 : 1);
    out += word;
    line_is_empty = false;
  }
  end_line(out);
  return out;
}

std::string Table::text() const {
  std::vector<std::vector<std::string>> rows = rows_;
  for (std::vector<std::string>& row : rows) {
    for (std::string& cell : row) cell = terminal_text(cell);
  }
  std::vector<size_t> widths;
  for (const std::vector<std::string>& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (size_t c = 0; c + 1 < row.size(); ++c) {
      const size_t width = width_of(row[c]);
      if (width <= kWidestCell) widths[c] = std::max(widths[c], width);
    }
  }
  std::string out;
  for (const std::vector<std::string>& row : rows) {
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

std::string without_lists(const std::string& text) {
  constexpr size_t kMostNumbers = 6;
  std::string shorter;
  for (size_t k = 0; k < text.size();) {
    size_t end = k;
    while (end < text.size() && (is_number(text[end]) || text[end] == ':')) ++end;
    const std::string run = text.substr(k, std::max<size_t>(end - k, 1));
    if (std::ranges::count(run, ':') >= static_cast<std::ptrdiff_t>(kMostNumbers)) {
      const size_t second = run.find(':', run.find(':') + 1);
      shorter += run.substr(0, second) + ":.." + run.substr(run.rfind(':'));
    } else {
      shorter += run;
    }
    k += run.size();
  }
  return shorter;
}

}  // namespace ropewalk
