#include "ropewalk/text/regex_splitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

using testing::ElementsAre;

RegexSplitter splitter(std::vector<std::string_view> patterns) { return RegexSplitter(patterns); }

TEST(RegexSplitter, KeepsMatchesAndWhatLiesBetween) {
  EXPECT_THAT(splitter({"[0-9]+"}).split("ab12c3"), ElementsAre("ab", "12", "c", "3"));
  EXPECT_THAT(splitter({"[0-9]+"}).split("abc"), ElementsAre("abc"));
  EXPECT_TRUE(splitter({"[0-9]+"}).split("").empty());
}

TEST(RegexSplitter, CutsThePiecesOfThePatternBefore) {
  // The look-ahead of the second pattern ends where the first one cut.
  EXPECT_THAT(splitter({"x", R"( +(?!\S))"}).split("a  x"), ElementsAre("a", "  ", "x"));
  EXPECT_THAT(splitter({R"( +(?!\S))"}).split("a  x"), ElementsAre("a", " ", " x"));
}

TEST(RegexSplitter, CutsAtEmptyMatches) {
  EXPECT_THAT(splitter({"b*"}).split("a\xc3\xa9"
                                     "bb"
                                     "c"),
              ElementsAre("a", "\xc3\xa9", "bb", "c"));
  EXPECT_THAT(splitter({R"((?=(\d{3})+(?!\d)))"}).split("x12345"), ElementsAre("x12", "345"));
}

TEST(RegexSplitter, TakesInvalidBytesOneByOne) {
  EXPECT_THAT(splitter({R"(\p{L}+)"})
                  .split("ab\xff\xfe"
                         "c\xc3\xa9\xe2\x82"),
              ElementsAre("ab", "\xff", "\xfe", "c\xc3\xa9", "\xe2", "\x82"));
}

TEST(RegexSplitter, SpaceIsUnicodeWhiteSpace) {
  const RegexSplitter spaces = splitter({R"(\s+)"});
  for (const std::string_view space :
       {"\t", "\v", "\r", " ", "\xc2\x85", "\xc2\xa0", "\xe2\x80\x83", "\xe3\x80\x80"}) {
    EXPECT_EQ(spaces.split("a" + std::string(space) + "b").size(), 3u)
        << testing::PrintToString(space);
  }
  // U+180E and U+200B are format characters, U+001F a control.
  for (const std::string_view other : {"\xe1\xa0\x8e", "\xe2\x80\x8b", "\x1f"}) {
    EXPECT_EQ(spaces.split("a" + std::string(other) + "b").size(), 1u)
        << testing::PrintToString(other);
  }
  EXPECT_THAT(splitter({R"([^\sa]+|\S)"}).split("a b"), ElementsAre("a", " ", "b"));
}

TEST(RegexSplitter, StopsAPatternThatBacktracksWithoutBound) {
  const std::string text = std::string(5000, 'a') + 'd';
  EXPECT_THROW(splitter({"(a+)+[bc]"}).split(text), Error);
}

TEST(RegexSplitter, NamesAPatternThatDoesNotCompile) {
  try {
    splitter({"(a"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("(a"));
  }
}

}  // namespace
}  // namespace ropewalk
