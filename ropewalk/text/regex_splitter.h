// Cuts text by a list of regular expressions, one after the other.
#ifndef ROPEWALK_TEXT_REGEX_SPLITTER_H_
#define ROPEWALK_TEXT_REGEX_SPLITTER_H_

#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace ropewalk {

// A piece of a text and whether it is a match of the pattern or what lies between two matches.
struct Stretch {
  std::string_view text;
  bool matched;
};

// Immutable once made: one object may serve any number of threads.
class RegexSplitter {
 public:
  // patterns  Perl syntax, UTF-8. `\s` means Unicode White_Space, as in the tokenizers these come
  //           from (PCRE2's own \s differs in U+180E). `$` is the very end of a piece.
  // Throws Error if one does not compile.
  explicit RegexSplitter(std::span<const std::string_view> patterns);
  ~RegexSplitter();
  RegexSplitter(RegexSplitter&&) noexcept;
  RegexSplitter& operator=(RegexSplitter&&) noexcept;

  // Returns the pieces of `text` in order; together they are `text`, and none is empty.
  // Each pattern cuts every piece the one before left: its matches are pieces, and so is the text
  // between two matches; an empty match cuts where it stands. A pattern sees one piece at a time,
  // so its look-ahead ends there.
  //   text  any bytes; a byte that is no valid UTF-8 is a piece of its own, seen by no pattern
  // Throws Error if a pattern needs more than a bounded amount of memory or steps.
  std::vector<std::string_view> split(std::string_view text) const;

  // The same by the first pattern alone, telling matches from the rest.
  std::vector<Stretch> stretches(std::string_view text) const;

 private:
  struct Pattern;
  std::vector<std::unique_ptr<const Pattern>> patterns_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_TEXT_REGEX_SPLITTER_H_
