#include "ropewalk/text/spaced_bpe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "ropewalk/text/sentencepiece_spelling.h"

namespace ropewalk {
namespace {

using testing::ElementsAre;

#define MARK "\xe2\x96\x81"

// Ids 0 to 255 are the bytes.
Vocabulary small() {
  Vocabulary vocabulary = {.model = "gemma4", .merges = {MARK " a", MARK "a b"}};
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary.tokens.push_back(spell_byte(static_cast<uint8_t>(byte)));
  }
  for (const char* token : {MARK, "a", "b", MARK "a", MARK "ab", "\n", "\n\n\n", "<bos>"}) {
    vocabulary.tokens.push_back(token);
  }
  vocabulary.token_types.assign(vocabulary.tokens.size(), 1);
  vocabulary.token_types.back() = 3;
  vocabulary.bos = static_cast<int32_t>(vocabulary.tokens.size()) - 1;
  return vocabulary;
}

TEST(SpacedBpe, MergesOverSpacesAndSpellsTheRestInBytes) {
  const auto tokenizer = make_tokenizer(small());
  EXPECT_TRUE(tokenizer->adds_bos());
  EXPECT_THAT(tokenizer->encode("a ab"), ElementsAre(263, 257, 260));
  EXPECT_THAT(tokenizer->encode("\xc3\xa9", {.add_special = false}), ElementsAre(0xc3, 0xa9));
  EXPECT_THAT(tokenizer->encode("a\n\n\nb\n\n", {.add_special = false}),
              ElementsAre(257, 262, 258, 261, 261));
}

TEST(SpacedBpe, RoundTripsAnyBytes) {
  const auto tokenizer = make_tokenizer(small());
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    std::string text(random() % 60, '\0');
    for (char& c : text) c = static_cast<char>(random() % 2 ? random() : ' ' + random() % 8);
    ASSERT_EQ(tokenizer->decode(tokenizer->encode(text)), text) << testing::PrintToString(text);
  }
}

}  // namespace
}  // namespace ropewalk
