#include "ropewalk/text/hf_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using Json = nlohmann::ordered_json;

constexpr EncodeOptions kBare = {.add_special = false, .parse_special = true};

// Made by scripts/peers.sh tokenizers --fixture.
const Json& fixture() {
  static const Json data = [] {
    std::ifstream file(ROPEWALK_SOURCE_DIR "/tests/fixtures/tokenizer/hugging_face.json");
    return Json::parse(file);
  }();
  return data;
}

std::unique_ptr<Tokenizer> make(const Json& tokenizer, const Json& config = {}) {
  return make_hf_tokenizer(tokenizer, config, "tokenizer.json");
}

std::string failure(const Json& tokenizer) {
  try {
    make(tokenizer);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Words of the letters a and b, and what is given besides.
Json tiny(const Json& more = Json::object()) {
  Json document = Json::parse(R"({
    "added_tokens": [{"id": 4, "content": "<s>", "special": true, "normalized": false}],
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, " ": 3}, "merges": ["a b"]}})");
  document.update(more);
  return document;
}

TEST(HfTokenizer, AgreesWithTheTokenizersPackage) {
  size_t cases = 0;
  for (const Json& item : fixture()["cases"]) {
    const auto tokenizer = make(item["tokenizer"]);
    for (size_t i = 0; i < item["ids"].size(); ++i) {
      const std::string text = fixture()["texts"][i];
      const std::vector<int32_t> ids = item["ids"][i];
      EXPECT_EQ(tokenizer->encode(text, kBare), ids)
          << item["name"] << " " << testing::PrintToString(text);
      ++cases;
    }
    for (size_t i = 0; i < item["whole"].size(); ++i) {
      const std::vector<int32_t> ids = item["whole"][i];
      EXPECT_EQ(
          tokenizer->encode(fixture()["texts"][i].get<std::string>(), {.parse_special = true}), ids)
          << item["name"];
    }
  }
  EXPECT_GT(cases, 700u);
}

TEST(HfTokenizer, RoundTripsAnyBytesThatItsBytesCanSpell) {
  std::mt19937 random(7);
  size_t kinds = 0;
  for (const Json& item : fixture()["cases"]) {
    const std::string name = item["name"];
    if (name != "byte-level" && name != "StarCoder" && name != "Falcon" && name != "BLOOM" &&
        name != "Llama" && name != "Llama, legacy") {
      continue;
    }
    ++kinds;
    const auto tokenizer = make(item["tokenizer"]);
    for (int round = 0; round < 300; ++round) {
      std::string text(random() % 60, '\0');
      for (char& c : text) c = static_cast<char>(random() % 2 ? random() : ' ' + random() % 8);
      if (text.find("\xe2\x96\x81") != std::string::npos) continue;
      // A text that begins with a space gets no other, and so loses it: that file's own rule.
      if (name == "Llama" && text.starts_with(' ')) continue;
      ASSERT_EQ(tokenizer->decode(tokenizer->encode(text)), text)
          << name << testing::PrintToString(text);
    }
  }
  EXPECT_EQ(kinds, 6u);
}

TEST(HfTokenizer, TakesSpecialTokensFromTheTextOnRequestOnly) {
  const auto tokenizer = make(tiny());
  EXPECT_THAT(tokenizer->encode("ab<s>b", {.parse_special = true}), ElementsAre(2, 4, 1));
  EXPECT_THAT(tokenizer->encode("ab<s>b"), ElementsAre(2, 1));
  EXPECT_EQ(tokenizer->type(4), TokenType::kControl);
  EXPECT_EQ(tokenizer->piece(4), "<s>");
}

TEST(HfTokenizer, ReadsTheEndsOfATemplate) {
  const Json processor = Json::parse(R"({"post_processor": {"type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A"}}],
    "special_tokens": {"<s>": {"id": "<s>", "ids": [4], "tokens": ["<s>"]}}}})");
  const auto tokenizer = make(tiny(processor));
  EXPECT_TRUE(tokenizer->adds_bos());
  EXPECT_EQ(tokenizer->bos(), 4);
  EXPECT_THAT(tokenizer->encode("ab"), ElementsAre(4, 2));
  EXPECT_THAT(tokenizer->encode("<s>ab", {.parse_special = true}), ElementsAre(4, 2));
}

TEST(HfTokenizer, FollowsWhatTheConfigurationSaysOfBosAndEos) {
  const Json config = {
      {"bos_token", {{"content", "<s>"}}}, {"eos_token", "b"}, {"add_bos_token", true}};
  const auto tokenizer = make(tiny(), config);
  EXPECT_THAT(tokenizer->encode("ab"), ElementsAre(4, 2));
  EXPECT_EQ(tokenizer->eos(), 1);
  EXPECT_FALSE(tokenizer->adds_eos());
}

TEST(HfTokenizer, RefusesByNameWhatItDoesNotKnow) {
  EXPECT_THAT(failure(tiny({{"normalizer", {{"type", "Romanize"}}}})),
              AllOf(HasSubstr("tokenizer.json: normalizer.type"), HasSubstr("Romanize"),
                    HasSubstr("known: Sequence, NFC")));
  EXPECT_THAT(failure(tiny({{"pre_tokenizer", {{"type", "UnicodeScripts"}}}})),
              AllOf(HasSubstr("pre_tokenizer.type"), HasSubstr("BertPreTokenizer")));
  EXPECT_THAT(failure(tiny({{"decoder", {{"type", "CTC"}}}})), HasSubstr("decoder.type"));
  EXPECT_THAT(failure(tiny({{"post_processor", {{"type", "Other"}}}})),
              HasSubstr("post_processor.type"));
  Json model = tiny();
  model["model"]["type"] = "Neural";
  EXPECT_THAT(failure(model), HasSubstr("known: BPE, Unigram, WordPiece, WordLevel"));
  Json dropout = tiny();
  dropout["model"]["dropout"] = 0.1;
  EXPECT_THAT(failure(dropout), HasSubstr("model.dropout"));
}

TEST(HfTokenizer, NamesThePlaceOfAFault) {
  Json merges = tiny();
  merges["model"]["merges"] = {"a c"};
  EXPECT_THAT(failure(merges), AllOf(HasSubstr("model.merges[0]"), HasSubstr("\"c\"")));
  merges["model"]["merges"] = {7};
  EXPECT_THAT(failure(merges), HasSubstr("model.merges[0]: must be a string"));
  Json huge = tiny();
  huge["added_tokens"][0]["id"] = 2000000000;
  EXPECT_THAT(failure(huge), HasSubstr("added_tokens"));
  Json negative = tiny();
  negative["model"]["vocab"]["a"] = -1;
  EXPECT_THAT(failure(negative), HasSubstr("model.vocab"));
  EXPECT_THAT(failure(Json::object()), HasSubstr("model: must be there"));
  EXPECT_THAT(failure(Json::array()), HasSubstr("must be an object"));
}

TEST(HfTokenizer, RefusesIdsItDoesNotHave) {
  const auto tokenizer = make(tiny());
  for (const int32_t id : {-1, 5}) {
    EXPECT_THROW(tokenizer->piece(id), Error);
    EXPECT_THROW(tokenizer->type(id), Error);
    EXPECT_THROW(tokenizer->decode(std::vector<int32_t>{id}), Error);
  }
  EXPECT_EQ(tokenizer->size(), 5u);
}

TEST(HfTokenizer, DecodesAsTheTokenizersPackageDoes) {
  for (const Json& item : fixture()["cases"]) {
    const std::string name = item["name"];
    // Its own rule takes a space off once, ours after every special token, as it was put there.
    if (name.starts_with("Llama") || name.starts_with("T5")) continue;
    const auto tokenizer = make(item["tokenizer"]);
    for (size_t i = 0; i < item["decoded"].size(); ++i) {
      const std::vector<int32_t> ids = item["ids"][i];
      EXPECT_EQ(tokenizer->decode(ids), item["decoded"][i].get<std::string>()) << name;
    }
  }
}

}  // namespace
}  // namespace ropewalk
