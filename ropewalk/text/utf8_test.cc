#include "ropewalk/text/utf8.h"

#include <gtest/gtest.h>

namespace ropewalk {
namespace {

TEST(Utf8, MeasuresTheFirstCharacter) {
  EXPECT_EQ(utf8_length("a"), 1u);
  EXPECT_EQ(utf8_length("\xc2\x80z"), 2u);
  EXPECT_EQ(utf8_length("\xef\xbf\xbfz"), 3u);
  EXPECT_EQ(utf8_length("\xf4\x8f\xbf\xbfz"), 4u);
  EXPECT_EQ(utf8_length(std::string_view("\0", 1)), 1u);
}

TEST(Utf8, RefusesWhatRfc3629Refuses) {
  for (const std::string_view text :
       {"", "\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xc3", "\xe2\x82", "\xe2\x82z",
        "\xf0\x9f\x98", "\xc3z"}) {
    EXPECT_EQ(utf8_length(text), 0u) << testing::PrintToString(text);
  }
}

}  // namespace
}  // namespace ropewalk
