// Where the tokens of a text stand: in which sentence, paragraph and chapter.
//
// The rule, by signs alone:
//   sentence   ends behind . ! ? or an ellipsis, closing quotes and brackets included, where white space
//              follows, and behind the full-width 。！？; not behind the stop of Mr. Mrs. Ms. Dr. St. or
//              of a single capital
//   paragraph  ends at a blank line
//   chapter    begins with a heading: a line of Markdown's # marks, or a line of at most 80 bytes, the
//              first or behind a blank one, whose first word is act, book, canto, chapter, part, scene,
//              section or volume and whose second is a number (3, XIV, three, third)
// An end of the larger ends the smaller.
#ifndef ROPEWALK_STUDY_TEXT_UNITS_H_
#define ROPEWALK_STUDY_TEXT_UNITS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ropewalk {

// How far apart in the text two tokens are.
enum class Relation : uint8_t { kSentence, kParagraph, kChapter, kBeyond };
inline constexpr size_t kRelations = 4;

struct TextPlace {
  int32_t sentence = 0;  // each counted from 0 over the whole text
  int32_t paragraph = 0;
  int32_t chapter = 0;

  bool operator==(const TextPlace&) const = default;
};

// The smallest unit that holds both.
Relation relation(const TextPlace& a, const TextPlace& b);

// The place of each token: that of its first byte that is no white space, or, where there is none,
// of the token before.
//   pieces  bytes of the tokens, one after the other the text; Tokenizer::pieces()
std::vector<TextPlace> text_places(const std::vector<std::string>& pieces);

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_TEXT_UNITS_H_
