#include "ropewalk/text/unicode.h"

#include <gtest/gtest.h>

#include <random>

namespace ropewalk {
namespace {

TEST(Unicode, DecodesWhatItEncodes) {
  for (const char32_t code : {0x0u, 0x7fu, 0x80u, 0x7ffu, 0x800u, 0xffffu, 0x10000u, 0x10ffffu}) {
    std::string text;
    append_character(code, text);
    EXPECT_EQ(decode_character(text).code, code);
    EXPECT_EQ(decode_character(text).size, text.size());
  }
  EXPECT_EQ(decode_character("\xff").code, kReplacementCharacter);
  EXPECT_EQ(decode_character("\xe2\x96").size, 1u);
}

TEST(Unicode, KnowsClasses) {
  EXPECT_TRUE(is_white_space(0x3000));
  EXPECT_TRUE(is_white_space(0x85));
  EXPECT_FALSE(is_white_space(0x200b));
  EXPECT_TRUE(is_nonspacing_mark(0x301));
  EXPECT_FALSE(is_nonspacing_mark(0x903));
  EXPECT_TRUE(is_combining_mark(0x903));
  EXPECT_TRUE(is_other(0x200b));
  EXPECT_TRUE(is_punctuation(0x3001));
  EXPECT_FALSE(is_punctuation('$'));
}

// Text is normalised in runs; where they end must not show.
TEST(Unicode, NormalFormsDoNotDependOnWhatLiesAround) {
  const std::vector<std::string> pieces = {
      "e", "\xcc\x81", "\xcc\xa3", "\xe1\x84\x80", "\xe1\x85\xa1", "\xef\xac\x81", "x", "\xff"};
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    std::string text;
    for (size_t n = random() % 12; n > 0; --n) text += pieces[random() % pieces.size()];
    const std::string composed = to_normal_form(text, NormalForm::kNfc);
    EXPECT_EQ(to_normal_form(composed, NormalForm::kNfc), composed);
    EXPECT_EQ(to_normal_form(to_normal_form(text, NormalForm::kNfd), NormalForm::kNfc), composed);
    EXPECT_EQ(to_normal_form(text + "a" + text, NormalForm::kNfc).substr(0, composed.size()),
              composed);
  }
}

}  // namespace
}  // namespace ropewalk
