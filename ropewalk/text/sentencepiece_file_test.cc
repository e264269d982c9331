#include "ropewalk/text/sentencepiece_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <memory>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

using testing::ElementsAre;

std::string field(int number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}

std::string number(int field_number, uint8_t value) {
  std::string key;
  int bits = field_number << 3;
  for (; bits > 127; bits >>= 7) key += static_cast<char>((bits & 127) | 128);
  return key + static_cast<char>(bits) + static_cast<char>(value);
}

std::string piece(const std::string& text, float score, uint8_t type) {
  std::string real = "\x15";
  for (int i = 0; i < 4; ++i) {
    real += static_cast<char>(std::bit_cast<uint32_t>(score) >> (8 * i));
  }
  return field(1, field(1, text) + real + number(3, type));
}

std::string model(const std::string& training, const std::string& normalization = "") {
  return piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3) +
         piece("\xe2\x96\x81", -2, 1) + piece("a", -3, 1) + field(2, training) +
         field(3, normalization);
}

TEST(SentencePieceFile, SaysWhatItHolds) {
  const Vocabulary vocabulary = read_sentencepiece(model(number(3, 2), number(4, 0)), "m");
  EXPECT_EQ(vocabulary.model, "llama");
  EXPECT_THAT(vocabulary.tokens, ElementsAre("<unk>", "<s>", "</s>", "\xe2\x96\x81", "a"));
  EXPECT_THAT(vocabulary.scores, ElementsAre(0, 0, 0, -2, -3));
  EXPECT_THAT(vocabulary.token_types, ElementsAre(2, 3, 3, 1, 1));
  EXPECT_EQ(vocabulary.add_space_prefix, true);
  EXPECT_EQ(vocabulary.remove_extra_whitespaces, false);
  EXPECT_EQ(read_sentencepiece(model(""), "m").model, "t5");
}

// Its own program takes extra spaces away for BPE as well, which no GGUF file asks for.
TEST(SentencePieceFile, HoldsBpeToItsRulesOfSpaces) {
  Vocabulary vocabulary = read_sentencepiece(model(number(3, 2)), "m");
  vocabulary.add_bos = false;
  EXPECT_THAT(make_tokenizer(vocabulary)->encode(" a  a "), ElementsAre(3, 4, 3, 4));
}

TEST(SentencePieceFile, RefusesWhatItCannotFollow) {
  EXPECT_THROW(read_sentencepiece(model(number(3, 4)), "m"), Error);      // characters
  EXPECT_THROW(read_sentencepiece(model(number(24, 1)), "m"), Error);     // spaces after words
  EXPECT_THROW(read_sentencepiece(model("", number(5, 0)), "m"), Error);  // spaces as they are
  EXPECT_THROW(read_sentencepiece("", "m"), Error);
  EXPECT_THROW(read_sentencepiece("not a model", "m"), Error);
  const std::string whole = model("");
  EXPECT_THROW(read_sentencepiece(whole.substr(0, whole.size() - 1), "m"), Error);
}

}  // namespace
}  // namespace ropewalk
