#include "ropewalk/study/text_units.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "ropewalk/study/space.h"

namespace ropewalk {
namespace {

constexpr std::array<std::string_view, 8> kHeadings = {"act",  "book",  "canto",   "chapter",
                                                       "part", "scene", "section", "volume"};
constexpr std::array<std::string_view, 32> kNumbers = {
    "one",       "two",      "three",    "four",   "five",     "six",      "seven",    "eight",
    "nine",      "ten",      "eleven",   "twelve", "thirteen", "fourteen", "fifteen",  "sixteen",
    "seventeen", "eighteen", "nineteen", "twenty", "first",    "second",   "third",    "fourth",
    "fifth",     "sixth",    "seventh",  "eighth", "ninth",    "tenth",    "eleventh", "twelfth"};
constexpr std::array<std::string_view, 5> kShortened = {"Mr", "Mrs", "Ms", "Dr", "St"};
constexpr std::array<std::string_view, 4> kStops = {".", "!", "?", "\u2026"};
constexpr std::array<std::string_view, 3> kWideStops = {"\u3002", "\uff01", "\uff1f"};
constexpr std::array<std::string_view, 8> kClosers = {"\"",     "'",      ")",      "]",
                                                      "\u201d", "\u2019", "\u00bb", "\u300d"};
constexpr size_t kLongestHeading = 80;

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// The length of the one that stands at `at`; 0: none does.
template <size_t N>
size_t length_of_any(const std::array<std::string_view, N>& signs, std::string_view text,
                     size_t at) {
  for (const std::string_view sign : signs) {
    if (text.substr(at, sign.size()) == sign) return sign.size();
  }
  return 0;
}

template <size_t N>
bool holds(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// The letters or digits that the text begins with, in lower case; they are taken off it.
std::string take_word(std::string_view& text) {
  std::string word;
  while (!text.empty() && (is_letter(text.front()) || is_digit(text.front()))) {
    word += static_cast<char>(std::tolower(static_cast<unsigned char>(text.front())));
    text.remove_prefix(1);
  }
  return word;
}

bool is_number(std::string_view word) {
  return !word.empty() && (std::ranges::all_of(word, is_digit) || holds(kNumbers, word) ||
                           word.find_first_not_of("ivxlcdm") == std::string_view::npos);
}

bool is_heading(std::string_view line, bool behind_blank) {
  line = trimmed(line);
  if (line.starts_with('#')) {
    const size_t marks = line.find_first_not_of('#');
    return marks != std::string_view::npos && marks <= 6 && line[marks] == ' ';
  }
  if (!behind_blank || line.size() > kLongestHeading) return false;
  if (!holds(kHeadings, take_word(line)) || !line.starts_with(' ')) return false;
  line = trimmed(line);
  return is_number(take_word(line));
}

// Whether the stop at `at` only shortens the word before it.
bool shortens(std::string_view text, size_t at) {
  if (text[at] != '.') return false;
  size_t first = at;
  while (first > 0 && is_letter(text[first - 1])) --first;
  const std::string_view word = text.substr(first, at - first);
  return holds(kShortened, word) ||
         (word.size() == 1 && std::isupper(static_cast<unsigned char>(word[0])) != 0);
}

constexpr size_t kLongestRun = 64;  // bytes of stops, or of what closes behind them

// The end of the sentence that a sign at `at` closes; `at` itself where none does.
size_t sentence_end(std::string_view text, size_t at) {
  if (const size_t wide = length_of_any(kWideStops, text, at); wide > 0) {
    size_t end = at + wide;
    while (end < at + kLongestRun) {
      const size_t more = length_of_any(kClosers, text, end);
      if (more == 0) break;
      end += more;
    }
    return end;
  }
  size_t end = at;
  // Bounded, so that a long row of signs is not walked anew from each of them.
  const auto pass_over = [&](const auto& signs) {
    const size_t most = end + kLongestRun;
    while (end < most) {
      const size_t more = length_of_any(signs, text, end);
      if (more == 0) return;
      end += more;
    }
  };
  pass_over(kStops);
  if (end == at || shortens(text, at)) return at;
  pass_over(kClosers);
  return end == text.size() || is_space(text[end]) ? end : at;
}

// Walks over the text, line by line, and hands out the place of each byte.
class Walker {
 public:
  explicit Walker(std::string_view text) : text_(text), places_(text.size()) {
    size_t line = 0;
    while (line < text.size()) {
      const size_t end = std::min(text.find('\n', line), text.size());
      walk_line(line, end);
      line = end + 1;
    }
  }

  const TextPlace& at(size_t byte) const { return places_[byte]; }

 private:
  void walk_line(size_t first, size_t last) {
    const std::string_view line = text_.substr(first, last - first);
    if (trimmed(line).empty()) {
      behind_blank_ = true;
      return;
    }
    const bool heading = is_heading(line, behind_blank_ || nothing_yet_);
    if (!nothing_yet_) {
      if (heading) ++place_.chapter;
      if (heading || behind_blank_ || behind_heading_) ++place_.paragraph;
      if (heading || behind_blank_ || behind_heading_ || sentence_over_) ++place_.sentence;
      sentence_over_ = false;
    }
    nothing_yet_ = behind_blank_ = false;
    behind_heading_ = heading;
    walk_sentences(first, last);
  }

  void walk_sentences(size_t first, size_t last) {
    for (size_t at = first; at < last;) {
      if (!is_space(text_[at]) && sentence_over_) {
        ++place_.sentence;
        sentence_over_ = false;
      }
      const size_t end = std::min(sentence_end(text_, at), last);
      sentence_over_ = sentence_over_ || end > at;
      const size_t next = std::max(end, at + 1);
      std::fill(places_.begin() + static_cast<std::ptrdiff_t>(at),
                places_.begin() + static_cast<std::ptrdiff_t>(next), place_);
      at = next;
    }
  }

  std::string_view text_;
  std::vector<TextPlace> places_;  // (bytes); of white space they say nothing
  TextPlace place_;
  bool nothing_yet_ = true;
  bool behind_blank_ = false;
  bool behind_heading_ = false;
  bool sentence_over_ = false;
};

}  // namespace

Relation relation(const TextPlace& a, const TextPlace& b) {
  if (a.sentence == b.sentence) return Relation::kSentence;
  if (a.paragraph == b.paragraph) return Relation::kParagraph;
  return a.chapter == b.chapter ? Relation::kChapter : Relation::kBeyond;
}

std::vector<TextPlace> text_places(const std::vector<std::string>& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  const Walker walker(text);
  std::vector<TextPlace> places;
  places.reserve(pieces.size());
  size_t first = 0;
  TextPlace place;
  for (const std::string& piece : pieces) {
    const auto seen = std::ranges::find_if(piece, [](char c) { return !is_space(c); });
    if (seen != piece.end()) place = walker.at(first + static_cast<size_t>(seen - piece.begin()));
    places.push_back(place);
    first += piece.size();
  }
  return places;
}

}  // namespace ropewalk
