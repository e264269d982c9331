#include "ropewalk/study/text_units.h"

#include <gmock/gmock.h>

#include <numeric>
#include <sstream>

namespace ropewalk {
namespace {

// Words with the white space before them, as tokenizers cut a text.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\n';
    const bool begins =
        words.empty() || (space && words.back().back() != ' ' && words.back().back() != '\n');
    if (begins) words.emplace_back();
    words.back() += c;
  }
  return words;
}

// "sentence paragraph chapter" of each word.
std::string places_of(const std::string& text) {
  std::string places;
  for (const TextPlace& place : text_places(words_of(text))) {
    std::ostringstream one;
    one << place.sentence << place.paragraph << place.chapter << ' ';
    places += one.str();
  }
  return places;
}

TEST(TextUnits, SentencesEndBehindTheirSigns) {
  EXPECT_EQ(places_of("A b. C d! E? F"), "000 000 100 100 200 300 ");
  EXPECT_EQ(places_of("\"No!\" he said... Then (yes.) More"), "000 100 100 200 200 300 ");
  EXPECT_EQ(places_of("Mr. A. Smith has 3.5 apples. So"), "000 000 000 000 000 000 100 ");
  EXPECT_EQ(places_of("over a\nline. Next"), "000 000 000 100 ");
}

TEST(TextUnits, WideStopsNeedNoSpace) {
  const std::vector<TextPlace> places = text_places({"\u4f60", "\u3002", "\u597d", "\uff01"});
  EXPECT_EQ(places[1].sentence, 0);
  EXPECT_EQ(places[2].sentence, 1);
  EXPECT_EQ(places[3].sentence, 1);
}

TEST(TextUnits, ParagraphsEndAtBlankLines) {
  EXPECT_EQ(places_of("a\n \nb c.\nd\n\n\ne"), "000 110 110 210 320 ");
}

TEST(TextUnits, ChaptersBeginWithHeadings) {
  EXPECT_EQ(places_of("CHAPTER I\n\na b.\n\nCHAPTER II\nc\n\nPart of it"),
            "000 000 110 110 221 221 331 441 441 441 ");
  EXPECT_EQ(places_of("a\n## Two\nb"), "000 111 111 221 ");
  EXPECT_EQ(places_of("a\nChapter 3"), "000 000 000 ");  // no blank line before it
  EXPECT_EQ(places_of("a\n\nBook Third: of it"), "000 111 111 111 111 ");
  EXPECT_EQ(places_of("a\n\n#tag"), "000 110 ");
}

TEST(TextUnits, TokensOfWhiteSpaceBelongToTheOneBefore) {
  const std::vector<TextPlace> places = text_places({"a.", "\n\n", "b", "", " "});
  EXPECT_EQ(places[1], places[0]);
  EXPECT_EQ(places[2].paragraph, 1);
  EXPECT_EQ(places[3], places[2]);
  EXPECT_EQ(places[4], places[2]);
  EXPECT_TRUE(text_places({}).empty());
}

TEST(TextUnits, RelationIsTheSmallestUnitThatHoldsBoth) {
  EXPECT_EQ(relation({3, 2, 1}, {3, 2, 1}), Relation::kSentence);
  EXPECT_EQ(relation({3, 2, 1}, {2, 2, 1}), Relation::kParagraph);
  EXPECT_EQ(relation({3, 2, 1}, {0, 0, 1}), Relation::kChapter);
  EXPECT_EQ(relation({3, 2, 1}, {0, 0, 0}), Relation::kBeyond);
}

}  // namespace
}  // namespace ropewalk
