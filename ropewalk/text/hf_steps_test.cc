// Normalizers, pre-tokenizers, decoders, patterns and added tokens of tokenizer.json, one by one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "ropewalk/text/hf_added_tokens.h"
#include "ropewalk/text/hf_decoders.h"
#include "ropewalk/text/hf_normalizers.h"
#include "ropewalk/text/hf_pattern.h"
#include "ropewalk/text/hf_pretokenizers.h"

namespace ropewalk {
namespace {

using testing::ElementsAre;
using Json = nlohmann::ordered_json;

std::string normalized(const char* step, std::string_view text) {
  const Json json = Json::parse(step);
  return make_hf_normalizer(HfNode(json, "normalizer"))->normalize(text);
}

std::vector<std::string> words(const char* step, std::string_view text) {
  const Json json = Json::parse(step);
  std::vector<HfWord> cut = {{std::string(text), true}};
  make_hf_pretokenizer(HfNode(json, "pre_tokenizer"))->apply(cut);
  std::vector<std::string> texts;
  for (const HfWord& word : cut) texts.push_back(word.text);
  return texts;
}

std::string decoded(const char* step, std::vector<std::string> tokens, bool whole = true) {
  const Json json = Json::parse(step);
  make_hf_decoder(HfNode(json, "decoder"))->decode(tokens, whole);
  std::string text;
  for (const std::string& token : tokens) text += token;
  return text;
}

TEST(HfNormalizers, RewriteAsTheyAreNamed) {
  EXPECT_EQ(normalized(R"({"type": "NFC"})", "e\xcc\x81"), "\xc3\xa9");
  EXPECT_EQ(normalized(R"({"type": "NFKD"})", "\xef\xac\x81"), "fi");
  EXPECT_EQ(normalized(R"({"type": "Lowercase"})", "\xc4\xb0S"), "i\xcc\x87s");
  EXPECT_EQ(normalized(R"({"type": "Strip", "strip_left": true, "strip_right": false})", "  a "),
            "a ");
  EXPECT_EQ(normalized(R"({"type": "Prepend", "prepend": "_"})", ""), "");
  EXPECT_EQ(
      normalized(R"({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "})", "a   b"),
      "a b");
  EXPECT_EQ(normalized(R"({"type": "BertNormalizer"})", "\xc3\x89t\xc3\xa9\t\x01\xe6\x97\xa5"),
            "ete  \xe6\x97\xa5 ");
  EXPECT_EQ(normalized(R"({"type": "Nmt"})", "a\tb\x07"), "a b");
}

TEST(HfNormalizers, KeepBytesThatAreNoCharacter) {
  EXPECT_EQ(normalized(R"({"type": "NFC"})", "e\xcc\x81\xff\xc3"), "\xc3\xa9\xff\xc3");
  EXPECT_EQ(normalized(R"({"type": "Lowercase"})", "A\xff"), "a\xff");
}

TEST(HfPretokenizers, ArrangeMatchesAsTheBehaviorSays) {
  const auto split = [](const std::string& behavior) {
    const std::string step =
        R"({"type": "Split", "pattern": {"String": "-"}, "behavior": ")" + behavior + "\"}";
    return words(step.c_str(), "the-final--countdown");
  };
  EXPECT_THAT(split("Removed"), ElementsAre("the", "final", "countdown"));
  EXPECT_THAT(split("Isolated"), ElementsAre("the", "-", "final", "-", "-", "countdown"));
  EXPECT_THAT(split("Contiguous"), ElementsAre("the", "-", "final", "--", "countdown"));
  EXPECT_THAT(split("MergedWithPrevious"), ElementsAre("the-", "final-", "-", "countdown"));
  EXPECT_THAT(split("MergedWithNext"), ElementsAre("the", "-final", "-", "-countdown"));
  EXPECT_THROW(split("Discarded"), Error);
}

TEST(HfPretokenizers, CutAsTheyAreNamed) {
  EXPECT_THAT(words(R"({"type": "Whitespace"})", "a_b, c!?"), ElementsAre("a_b", ",", "c", "!?"));
  EXPECT_THAT(words(R"({"type": "BertPreTokenizer"})", "a$b  c"), ElementsAre("a", "$", "b", "c"));
  EXPECT_THAT(words(R"({"type": "Digits", "individual_digits": true})", "a12"),
              ElementsAre("a", "1", "2"));
  EXPECT_THAT(words(R"({"type": "ByteLevel", "add_prefix_space": true})", "a b"),
              ElementsAre("\xc4\xa0"
                          "a",
                          "\xc4\xa0"
                          "b"));
  EXPECT_THAT(
      words(R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "always"})", "a  b"),
      ElementsAre("_a", "_", "_b"));
}

// A pattern sees no such byte, and what is removed are matches: it must come back.
TEST(HfPretokenizers, RemoveNoByteThatIsNoCharacter) {
  EXPECT_THAT(words(R"({"type": "Split", "pattern": {"Regex": "[a-z]+"}, "behavior": "Removed",
                        "invert": true})",
                    "a\xff, b"),
              ElementsAre("a", "\xff", "b"));
}

TEST(HfPattern, WritesOnigurumaForPcre2) {
  EXPECT_EQ(perl_pattern(R"([^(\s|[.,])]+)", "x"), R"([^(\s|.,)]+)");
  EXPECT_EQ(perl_pattern(R"(\p{Han}\p{L}\h)", "x"), R"(\p{sc:Han}\p{L}[0-9a-fA-F])");
  EXPECT_EQ(perl_pattern(R"(\s+$)", "x"), R"((?m)\s+$)");
  EXPECT_EQ(perl_pattern(R"(a{,3})", "x"), "a{0,3}");
  for (const char* refused : {R"([\p{L}&&[^\p{Han}]])", R"([a[^b]])", "[a", "a\\"}) {
    EXPECT_THROW(perl_pattern(refused, "x"), Error) << refused;
  }
}

TEST(HfDecoders, UndoTheirSteps) {
  EXPECT_EQ(decoded(R"({"type": "WordPiece"})", {"un", "##want", "##ed", ",", "so"}),
            "unwanted, so");
  EXPECT_EQ(decoded(R"({"type": "Metaspace", "replacement": "_"})", {"_a", "_b"}), "a b");
  EXPECT_EQ(decoded(R"({"type": "Metaspace", "replacement": "_"})", {"_a"}, false), " a");
  EXPECT_EQ(decoded(R"({"type": "ByteFallback"})", {"<0xE2>", "<0xFF>", "a"}),
            "\xe2\xff"
            "a");
  EXPECT_EQ(decoded(R"({"type": "BPEDecoder", "suffix": "</w>"})", {"a</w>", "b</w>"}), "a b");
  EXPECT_EQ(decoded(R"({"type": "Sequence", "decoders": [{"type": "Fuse"},
                       {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})",
                    {"  a", " b"}),
            " a b");
}

std::vector<std::pair<std::string, int32_t>> split(const HfAddedToken& token,
                                                   std::string_view text) {
  std::vector<std::pair<std::string, int32_t>> pieces;
  for (const Fragment& fragment : HfAddedTokens({token}).split(text, true)) {
    pieces.emplace_back(fragment.text, fragment.token);
  }
  return pieces;
}

TEST(HfAddedTokens, TakeInWhiteSpaceAndStandAloneAsTheySay) {
  using Pieces = std::vector<std::pair<std::string, int32_t>>;
  EXPECT_EQ(split({.id = 7, .content = "<m>", .lstrip = true}, "a \t<m> b"),
            (Pieces{{"a", -1}, {" \t<m>", 7}, {" b", -1}}));
  EXPECT_EQ(split({.id = 7, .content = "<m>", .rstrip = true}, "<m>\xe3\x80\x80 b"),
            (Pieces{{"<m>\xe3\x80\x80 ", 7}, {"b", -1}}));
  EXPECT_EQ(split({.id = 7, .content = "the", .single_word = true}, "the other the"),
            (Pieces{{"the", 7}, {" other ", -1}, {"the", 7}}));
  EXPECT_EQ(split({.id = 7, .content = "<m>", .lstrip = true, .rstrip = true}, "<m> <m> "),
            (Pieces{{"<m> ", 7}, {"<m> ", 7}}));
}

}  // namespace
}  // namespace ropewalk
