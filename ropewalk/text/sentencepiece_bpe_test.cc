#include "ropewalk/text/sentencepiece_bpe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr EncodeOptions kTextOnly = {.add_special = false};

nlohmann::json fixture() {
  std::ifstream file(ROPEWALK_SOURCE_DIR "/tests/fixtures/tokenizer/sentencepiece.json");
  return nlohmann::json::parse(file);
}

Vocabulary fixture_vocabulary() {
  const nlohmann::json data = fixture();
  return {.model = "llama",
          .tokens = data["tokens"],
          .scores = data["scores"],
          .token_types = data["types"]};
}

// Without byte tokens: 0 unknown, 1 and 2 control, 3 user defined, then pieces.
Vocabulary small_vocabulary() {
  return {.model = "llama",
          .tokens = {"<unk>", "<s>", "</s>", "<t>", "\xe2\x96\x81", "a", "b", "ab",
                     "\xe2\x96\x81"
                     "a"},
          .scores = {0, 0, 0, 0, -9, -9, -9, -1, -2},
          .token_types = {2, 3, 3, 4, 1, 1, 1, 1, 1}};
}

TEST(SentencePieceBpe, AgreesWithThePlainReference) {
  const auto tokenizer = make_tokenizer(fixture_vocabulary());
  const nlohmann::json file = fixture();
  for (const auto& item : file["cases"]) {
    const std::string text = item["text"];
    const std::vector<int32_t> expected = item["ids"];
    EXPECT_EQ(tokenizer->encode(text, kTextOnly), expected) << testing::PrintToString(text);
    EXPECT_EQ(tokenizer->decode(expected), text);
  }
}

TEST(SentencePieceBpe, PutsASpaceBeforeEachStretchOfText) {
  const auto tokenizer = make_tokenizer(small_vocabulary());
  EXPECT_THAT(tokenizer->encode("ab"), ElementsAre(1, 4, 7));  // -1 goes before -2
  EXPECT_THAT(tokenizer->encode("a<t>a"), ElementsAre(1, 8, 3, 8));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("a<t> a")), "a<t> a");
  EXPECT_THAT(tokenizer->encode(""), ElementsAre(1));

  Vocabulary without = small_vocabulary();
  without.add_space_prefix = false;
  EXPECT_THAT(make_tokenizer(without)->encode("a<t>a"), ElementsAre(1, 5, 3, 5));
}

TEST(SentencePieceBpe, TakesBackOneSpaceOnly) {
  const auto tokenizer = make_tokenizer(small_vocabulary());
  const std::vector<int32_t> ids = {1, 4, 8, 8, 2};
  EXPECT_EQ(tokenizer->decode(ids), " a a");
  EXPECT_EQ(tokenizer->decode(ids, {.strip_space_prefix = false}), "  a a");
  EXPECT_EQ(tokenizer->decode(ids, {.show_control = true}), "<s> a a</s>");
  EXPECT_THAT(tokenizer->pieces(ids), ElementsAre("<s>", " ", " a", " a", "</s>"));
}

TEST(SentencePieceBpe, MakesControlTokensOfTextOnRequestOnly) {
  const auto tokenizer = make_tokenizer(fixture_vocabulary());
  const std::vector<int32_t> ids = tokenizer->encode("<s></s><unk><0x41>", kTextOnly);
  for (const int32_t id : ids) EXPECT_THAT(id, testing::Gt(2));
  EXPECT_EQ(tokenizer->decode(ids), "<s></s><unk><0x41>");
  EXPECT_THAT(tokenizer->encode("<s></s>", {.parse_special = true}), ElementsAre(1, 2));
}

TEST(SentencePieceBpe, NamesWhatItCannotSpellUnknown) {
  Vocabulary vocabulary = small_vocabulary();
  EXPECT_THAT(make_tokenizer(vocabulary)->encode("a\xc3\xa9\xff"), ElementsAre(1, 8, 0, 0));
  // Half a character in bytes would decode to nothing: all of it or none.
  vocabulary.tokens.push_back("<0xC3>");
  vocabulary.scores.push_back(0);
  vocabulary.token_types.push_back(6);
  EXPECT_THAT(make_tokenizer(vocabulary)->encode("a\xc3\xa9"), ElementsAre(1, 8, 0));
}

TEST(SentencePieceBpe, RoundTripsAnyBytes) {
  const auto tokenizer = make_tokenizer(fixture_vocabulary());
  std::mt19937 random(7);
  const std::string alphabet = " aeon\n.\x80\xc3\xa9\xe2\x96\xf0\x9f\xff";
  for (int round = 0; round < 3000; ++round) {
    std::string text(random() % 40, '\0');
    for (char& c : text) {
      c = random() % 2 ? static_cast<char>(random()) : alphabet[random() % alphabet.size()];
    }
    if (text.find("\xe2\x96\x81") != std::string::npos) continue;  // reads as a space
    ASSERT_EQ(tokenizer->decode(tokenizer->encode(text)), text) << testing::PrintToString(text);
  }
}

TEST(SentencePieceBpe, ReadsItsOwnSpaceMarkAsASpace) {
  const auto tokenizer = make_tokenizer(fixture_vocabulary());
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("a\xe2\x96\x81"
                                                "b")),
            "a b");
}

TEST(SentencePieceBpe, TakesOneMegabyteOfOneWord) {
  const auto tokenizer = make_tokenizer(fixture_vocabulary());
  for (const char* unit : {"a", "on", "\xff", " "}) {
    std::string text;
    while (text.size() < (1 << 20)) text += unit;
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
  }
}

TEST(SentencePieceBpe, RefusesVocabulariesThatMakeNoSense) {
  Vocabulary no_scores = small_vocabulary();
  no_scores.scores.clear();
  EXPECT_THROW(make_tokenizer(no_scores), Error);

  Vocabulary not_a_number = small_vocabulary();
  not_a_number.scores[4] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(make_tokenizer(not_a_number), Error);

  Vocabulary bad_byte = small_vocabulary();
  bad_byte.token_types[5] = 6;
  EXPECT_THROW(make_tokenizer(bad_byte), Error);
}

}  // namespace
}  // namespace ropewalk
