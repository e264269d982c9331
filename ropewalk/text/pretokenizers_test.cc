#include "ropewalk/text/pretokenizers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/text/regex_splitter.h"

namespace ropewalk {
namespace {

using testing::ElementsAre;

std::vector<std::string_view> words(std::string_view pre, std::string_view text) {
  return RegexSplitter(find_pretokenizer(pre).patterns).split(text);
}

TEST(Pretokenizers, CutAsTheirModelsDo) {
  constexpr std::string_view kText = "I'LL pay $1234  \n now";
  EXPECT_THAT(words("gpt-2", kText),
              ElementsAre("I", "'", "LL", " pay", " $", "1234", "  \n", " now"));
  EXPECT_THAT(words("smollm", kText),
              ElementsAre("I", "'", "LL", " pay", " $", "1", "2", "3", "4", "  \n", " now"));
  EXPECT_THAT(words("llama-bpe", kText),
              ElementsAre("I", "'LL", " pay", " $", "123", "4", "  \n", " now"));
  EXPECT_THAT(words("qwen2", kText),
              ElementsAre("I", "'LL", " pay", " $", "1", "2", "3", "4", "  \n", " now"));
  EXPECT_THAT(words("falcon", "a`1234"), ElementsAre("a", "`", "123", "4"));
  EXPECT_THAT(words("default", "a=12345"), ElementsAre("a", "=", "123", "45"));
  EXPECT_THAT(words("tekken", "aB/c\n/"), ElementsAre("a", "B", "/c", "\n", "/"));
  EXPECT_THAT(words("gpt-4o", "HTTPServer's"), ElementsAre("HTTPServer's"));
  EXPECT_THAT(words("gpt-4o", "camelCase"), ElementsAre("camel", "Case"));
  EXPECT_THAT(words("deepseek-coder", "ab\ncd, 12"),
              ElementsAre("ab", "\n", "cd", ",", " ", "1", "2"));
  EXPECT_THAT(words("bloom", "a b, c"), ElementsAre("a", " b", ",", " c"));
  EXPECT_THAT(words("viking", "a12"), ElementsAre("a", "1", "2"));
  EXPECT_THAT(words("superbpe", "a1234567"), ElementsAre("a", "1", "234", "567"));
  EXPECT_THAT(words("tiny_aya", "1234567 1234x"),
              ElementsAre("1", "234", "567", " ", "123", "4", "x"));
  EXPECT_THAT(words("exaone-moe", "two words, 12"), ElementsAre("two words", ",", " ", "1", "2"));
  EXPECT_THAT(words("chameleon", "IMGIMGABZ    a"), ElementsAre("IMGIMGABZ", "    ", "a"));
  EXPECT_THAT(words("deepseek-llm", "a1!\xef\xbc\x81\n"),
              ElementsAre("a", "1", "!\xef\xbc\x81", "\n"));
  EXPECT_THAT(words("afmoe",
                    "a1234567 \xe6\x97\xa5"
                    "b"),
              ElementsAre("a", "1", "234", "567", " ", "\xe6\x97\xa5", "b"));
  EXPECT_THAT(words("kimi-k2", "aB\xe6\x97\xa5we're 1234"),
              ElementsAre("a", "B", "\xe6\x97\xa5", "we're", " ", "123", "4"));
  EXPECT_THAT(words("seed-coder", "ab 1.\n"), ElementsAre("ab", " ", "1", ".", "\n"));
  EXPECT_THAT(words("gemma4", "a b\n\nc"), ElementsAre("a b", "\n\n", "c"));
}

TEST(Pretokenizers, HaveDistinctNames) {
  std::set<std::string_view> seen;
  for (const Pretokenizer& row : known_pretokenizers()) {
    EXPECT_FALSE(row.names.empty());
    for (const std::string_view name : row.names) EXPECT_TRUE(seen.insert(name).second) << name;
  }
}

TEST(Pretokenizers, ListTheKnownNamesForAnUnknownOne) {
  EXPECT_EQ(&find_pretokenizer(""), &find_pretokenizer("default"));
  try {
    find_pretokenizer("nonesuch");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("nonesuch"));
    EXPECT_THAT(error.what(), testing::HasSubstr("smollm"));
  }
}

// A quadratic pattern would need 10^11 steps here, and one that recurses would exhaust its stack.
TEST(Pretokenizers, TakeTimeInProportionToTheText) {
  constexpr size_t kBytes = 1 << 18;
  const std::vector<std::string> units = {"a",
                                          "A",
                                          " ",
                                          "\n",
                                          "\r\n",
                                          " \n",
                                          "1",
                                          ".",
                                          "'",
                                          "'s",
                                          " a",
                                          "aA",
                                          "Aa ",
                                          "/",
                                          "\t",
                                          "a.1",
                                          "\xc3\xa9",
                                          "\xe6\x97\xa5",
                                          "\xcc\x81",
                                          "\xff",
                                          "\xe2\x80\x83",
                                          "\xf0\x9f\x98\x80",
                                          "=$",
                                          "\n  "};
  for (const Pretokenizer& row : known_pretokenizers()) {
    const RegexSplitter splitter(row.patterns);
    for (const std::string& unit : units) {
      std::string text;
      while (text.size() < kBytes) text += unit;
      text += "x";
      size_t total = 0;
      for (const std::string_view piece : splitter.split(text)) total += piece.size();
      ASSERT_EQ(total, text.size()) << row.names[0] << testing::PrintToString(unit);
    }
  }
}

}  // namespace
}  // namespace ropewalk
