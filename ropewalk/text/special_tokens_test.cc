#include "ropewalk/text/special_tokens.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ropewalk {
namespace {

class SpecialTokensTest : public testing::Test {
 protected:
  // As "text|<id>|text".
  std::string split(std::string_view text, bool parse_special) const {
    std::string joined;
    for (const Fragment& fragment : special_.split(text, parse_special)) {
      if (!joined.empty()) joined += '|';
      joined += fragment.token < 0 ? std::string(fragment.text)
                                   : '<' + std::to_string(fragment.token) + '>';
    }
    return joined;
  }

  const std::vector<std::string> tokens_ = {"[s]", "ab", "abc", "plain", "bcde", "", "[u]", "ab"};
  const std::vector<TokenType> types_ = {TokenType::kControl,     TokenType::kUserDefined,
                                         TokenType::kUserDefined, TokenType::kNormal,
                                         TokenType::kUserDefined, TokenType::kUserDefined,
                                         TokenType::kUnknown,     TokenType::kUserDefined};
  const SpecialTokens special_{tokens_, types_};
};

TEST_F(SpecialTokensTest, MatchesControlTokensOnRequestOnly) {
  EXPECT_EQ(split("[s]x[u]", false), "[s]x[u]");
  EXPECT_EQ(split("[s]x[u]", true), "<0>|x|<6>");
}

TEST_F(SpecialTokensTest, MatchesUserDefinedTokensAlways) {
  EXPECT_EQ(split("xabx", false), "x|<1>|x");
  EXPECT_EQ(split("plain", false), "plain");
  EXPECT_EQ(split("", false), "");
}

TEST_F(SpecialTokensTest, PrefersTheLongestOfTheWholeText) {
  EXPECT_EQ(split("abcabab", false), "<2>|<1>|<1>");
  EXPECT_EQ(split("abcde", false), "a|<4>");  // "abc" begins earlier, but "bcde" is longer
}

TEST(SpecialTokens, TakeTimeInProportionToTheText) {
  std::vector<std::string> tokens;
  for (size_t size = 1; size <= 20; ++size) tokens.emplace_back(size, 'a');
  const std::vector<TokenType> types(tokens.size(), TokenType::kUserDefined);
  const SpecialTokens special(tokens, types);
  EXPECT_EQ(special.split(std::string(100'000, 'a'), false).size(), 5'000u);
}

}  // namespace
}  // namespace ropewalk
