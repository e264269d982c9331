#include "ropewalk/text/byte_alphabet.h"

#include <gtest/gtest.h>

#include <set>

namespace ropewalk {
namespace {

TEST(ByteAlphabet, WritesEachByteAsACharacterOfItsOwn) {
  std::set<std::string> seen;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string character = to_alphabet(static_cast<uint8_t>(byte));
    EXPECT_TRUE(seen.insert(character).second) << byte;
    EXPECT_EQ(from_alphabet(character), std::string(1, static_cast<char>(byte))) << byte;
  }
}

TEST(ByteAlphabet, IsGpt2s) {
  EXPECT_EQ(to_alphabet('A'), "A");
  EXPECT_EQ(to_alphabet(' '), "\xc4\xa0");   // U+0120
  EXPECT_EQ(to_alphabet('\n'), "\xc4\x8a");  // U+010A
  EXPECT_EQ(to_alphabet(0xad), "\xc5\x83");  // U+0143, the last of the 68
  EXPECT_EQ(from_alphabet("\xc4\xa0the"), " the");
}

TEST(ByteAlphabet, RefusesOtherCharacters) {
  for (const std::string_view text : {" ", "a b", "\xc5\x84", "\xc2\xad", "\xe2\x96\x81", "\xc4",
                                      "\xc4z", "\xc1\x81", "\x80", "\xf0\x9f\x98\x80"}) {
    EXPECT_EQ(from_alphabet(text), std::nullopt) << testing::PrintToString(text);
  }
}

}  // namespace
}  // namespace ropewalk
