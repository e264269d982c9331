#include "ropewalk/text/byte_level_bpe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "ropewalk/base/error.h"
#include "ropewalk/text/byte_alphabet.h"

namespace ropewalk {
namespace {

using testing::ElementsAre;

nlohmann::json fixture() {
  std::ifstream file(ROPEWALK_SOURCE_DIR "/tests/fixtures/tokenizer/byte_level.json");
  return nlohmann::json::parse(file);
}

Vocabulary fixture_vocabulary(const nlohmann::json& data) {
  Vocabulary vocabulary = {
      .model = "gpt2", .pre = data["pre"], .tokens = data["tokens"], .merges = data["merges"]};
  vocabulary.token_types.assign(vocabulary.tokens.size(), 1);
  for (const size_t id : data["user_defined"]) vocabulary.token_types[id] = 4;
  return vocabulary;
}

// Ids 0 to 255 are the bytes.
Vocabulary bytes_and(std::vector<std::string> more, std::vector<std::string> merges) {
  Vocabulary vocabulary = {.model = "gpt2", .pre = "gpt-2", .merges = std::move(merges)};
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary.tokens.push_back(to_alphabet(static_cast<uint8_t>(byte)));
  }
  vocabulary.tokens.insert(vocabulary.tokens.end(), more.begin(), more.end());
  return vocabulary;
}

TEST(ByteLevelBpe, AgreesWithHuggingFace) {
  size_t cases = 0;
  for (const auto& data : fixture()) {
    const auto tokenizer = make_tokenizer(fixture_vocabulary(data));
    for (const auto& item : data["cases"]) {
      const std::string text = item["text"];
      const std::vector<int32_t> expected = item["ids"];
      EXPECT_EQ(tokenizer->encode(text, {.add_special = false}), expected)
          << data["pre"] << " " << testing::PrintToString(text);
      EXPECT_EQ(tokenizer->decode(expected), text);
      ++cases;
    }
  }
  EXPECT_GT(cases, 700u);
}

TEST(ByteLevelBpe, MergesByRankThenLeftmost) {
  const auto tokenizer =
      make_tokenizer(bytes_and({"ab", "bc", "aa", "aaa"}, {"b c", "a b", "a a", "aa a"}));
  EXPECT_THAT(tokenizer->encode("abc"), ElementsAre('a', 257));
  EXPECT_THAT(tokenizer->encode("aaaaa"), ElementsAre(258, 259));
}

TEST(ByteLevelBpe, SpellsAMergeWithoutATokenInBytes) {
  const auto tokenizer = make_tokenizer(bytes_and({"abc"}, {"a b", "ab c"}));
  EXPECT_THAT(tokenizer->encode("ab"), ElementsAre('a', 'b'));
  EXPECT_THAT(tokenizer->encode("abc"), ElementsAre(256));
}

TEST(ByteLevelBpe, LeavesOutWhatItCannotSpell) {
  const auto tokenizer = make_tokenizer({.model = "gpt2", .tokens = {"a", "[end]"}, .unknown = 1});
  EXPECT_THAT(tokenizer->encode("xaxa"), ElementsAre(0, 0));
}

TEST(ByteLevelBpe, NeverBuildsAControlTokenOfText) {
  Vocabulary vocabulary = bytes_and({"end"}, {"e n", "en d"});
  vocabulary.token_types.assign(257, 1);
  vocabulary.token_types[256] = 3;
  const auto tokenizer = make_tokenizer(vocabulary);
  EXPECT_THAT(tokenizer->encode("end"), ElementsAre('e', 'n', 'd'));
  const std::vector<int32_t> ids = tokenizer->encode("end", {.parse_special = true});
  EXPECT_THAT(ids, ElementsAre(256));
  EXPECT_EQ(tokenizer->decode(ids), "");
  EXPECT_EQ(tokenizer->decode(ids, {.show_control = true}), "end");
  EXPECT_EQ(tokenizer->piece(256), "end");
}

TEST(ByteLevelBpe, RoundTripsAnyBytes) {
  std::mt19937 random(7);
  for (const auto& data : fixture()) {
    const auto tokenizer = make_tokenizer(fixture_vocabulary(data));
    for (int round = 0; round < 500; ++round) {
      std::string text(random() % 60, '\0');
      for (char& c : text) c = static_cast<char>(random() % 2 ? random() : ' ' + random() % 8);
      ASSERT_EQ(tokenizer->decode(tokenizer->encode(text)), text) << testing::PrintToString(text);
    }
  }
}

TEST(ByteLevelBpe, TakesOneMegabyteOfOneWord) {
  const auto tokenizer =
      make_tokenizer(bytes_and({"aa", "aaaa", "aaaaaaaa"}, {"a a", "aa aa", "aaaa aaaa"}));
  const std::string text(1 << 20, 'a');
  const std::vector<int32_t> ids = tokenizer->encode(text);
  EXPECT_EQ(ids.size(), text.size() / 8);
  EXPECT_EQ(tokenizer->decode(ids), text);
}

TEST(ByteLevelBpe, RefusesMergesThatDoNotReadLeftRight) {
  for (const char* merge : {"", "ab", "a ", " a", " "}) {
    EXPECT_THROW(make_tokenizer(bytes_and({}, {merge})), Error) << merge;
  }
  // Not in the alphabet: harmless, since no text reaches it.
  EXPECT_NO_THROW(make_tokenizer(bytes_and({}, {"\xe2\x96\x81 a"})));
}

}  // namespace
}  // namespace ropewalk
