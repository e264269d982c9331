#include "ropewalk/formats/printable.h"

#include <gtest/gtest.h>

namespace ropewalk {
namespace {

TEST(Printable, WhatGarblesATerminalIsSpelt) {
  EXPECT_EQ(printable("a\x1b[31m\n\x7f"), "a\\x1b[31m\\x0a\\x7f");
  EXPECT_EQ(printable("a\u202eb\u2066\u200f\u061c\u0085"), "a\\u202eb\\u2066\\u200f\\u061c\\u0085");
}

TEST(Printable, OtherTextIsLeftAsItIs) {
  for (const char* text :
       {"plain", "h\u00e9h\u00e9 \u0436 \u6f22 \U0001f600", "\xff\xe2\x80", "\xc2"})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, LongTextIsCutBetweenCharacters) {
  EXPECT_EQ(printable("abcd", 3), "abc...");
  EXPECT_EQ(printable("ab\u00e9", 3), "ab...");
  EXPECT_EQ(printable("abc", 3), "abc");
}

}  // namespace
}  // namespace ropewalk
