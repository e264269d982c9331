// Tables and paragraphs for a terminal: aligned, and no line over kLineWidth characters where words
// can be parted.
#ifndef ROPEWALK_CLI_TEXT_LAYOUT_H_
#define ROPEWALK_CLI_TEXT_LAYOUT_H_

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace ropewalk {

inline constexpr size_t kLineWidth = 110;

// How a page's columns are shared out: names of settings left, curves or numbers right.
struct PageWidth {
  size_t line = kLineWidth;  // characters; at least 72

  size_t name() const { return std::clamp<size_t>(line - 52, 20, 40); }
  size_t curve() const { return std::min<size_t>(line - name() - 8, 64); }
};

// The text in lines of at most `width` characters, parted at spaces; the first behind `first`,
// the others behind as many spaces as `hang` says. A word that is too long for a line is parted
// behind a . , / or : in it, or stays whole.
std::string paragraph(std::string_view text, std::string_view first, size_t hang,
                      size_t width = kLineWidth);

// Rows of cells; all columns but the last as wide as their widest cell (at most kWidestCell), the
// last one wrapped beneath itself. Cells that are too wide for their column push the rest of the
// row to a line of its own.
class Table {
 public:
  static constexpr size_t kWidestCell = 44;

  explicit Table(size_t indent = 2) : indent_(indent) {}

  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  std::string text() const;

 private:
  size_t indent_;
  std::vector<std::vector<std::string>> rows_;
};

// The text, cut in the middle where it is longer than `most`.
std::string shortened(const std::string& text, size_t most);

// The text with lists of more than six numbers cut to their ends: "1:1.08:..:4".
std::string without_lists(const std::string& text);

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_TEXT_LAYOUT_H_
