#include "ropewalk/text/hf_plain_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/text/hf_tokenizer.h"

namespace ropewalk {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using Json = nlohmann::ordered_json;

constexpr EncodeOptions kBare = {.add_special = false, .parse_special = true};
constexpr EncodeOptions kWhole = {.parse_special = true};

std::unique_ptr<Tokenizer> made(const HfTokenizerDocument& document) {
  return make_hf_tokenizer(document.tokenizer, document.config, "dir");
}

// \u0120 spells a space.
Json small_vocabulary() {
  return Json::parse(R"({"<s>": 0, "</s>": 1, "a": 2, "b": 3, "Ġ": 4, "ab": 5, "Ġab": 6, "A": 7,
                         "<unk>": 8, "<pad>": 9, "<mask>": 10})");
}
constexpr const char* kMerges = "#version: 0.2\na b\nĠ ab\n";

std::unique_ptr<Tokenizer> bpe(const HfTokenizerFiles& files, const std::string& merges = kMerges) {
  return made(read_bpe_files(small_vocabulary(), merges, files, "dir"));
}

std::string refusal(const HfTokenizerFiles& files, const std::string& merges = kMerges) {
  try {
    bpe(files, merges);
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was refused";
}

// As OPT is published: GPT-2's words, a token before each text.
TEST(HfPlainFiles, Gpt2ThatAddsItsBeginning) {
  const HfTokenizerFiles files = {
      .config = Json::parse(R"({"tokenizer_class": "GPT2Tokenizer", "add_bos_token": true,
          "unk_token": {"__type": "AddedToken", "content": "</s>", "normalized": true}})"),
      .special_tokens = Json::parse(R"({"bos_token": {"content": "</s>"}, "eos_token": "</s>"})"),
      .added_tokens = {},
      .model_type = "opt"};
  const auto tokenizer = bpe(files);
  EXPECT_THAT(tokenizer->encode("ab ab", kWhole), ElementsAre(1, 5, 6));
  EXPECT_THAT(tokenizer->encode("ab</s>ab", kBare), ElementsAre(5, 1, 5));
  EXPECT_EQ(tokenizer->bos(), 1);
  EXPECT_EQ(tokenizer->eos(), 1);
  EXPECT_EQ(tokenizer->decode(std::vector<int32_t>{5, 6}), "ab ab");
}

// The class's own end of text is behind the vocabulary where that lacks it.
TEST(HfPlainFiles, TheModelTypeTellsTheClass) {
  HfTokenizerFiles files;
  files.model_type = "gptj";
  const auto tokenizer = bpe(files);
  EXPECT_THAT(tokenizer->encode("ab<|endoftext|>", kWhole), ElementsAre(5, 11));
  EXPECT_EQ(tokenizer->eos(), 11);
  EXPECT_EQ(tokenizer->size(), 12u);
  files.model_type = "musicgen";
  EXPECT_THAT(refusal(files), AllOf(HasSubstr("dir/tokenizer_config.json: tokenizer_class"),
                                    HasSubstr("got musicgen"), HasSubstr("gptj")));
}

TEST(HfPlainFiles, RobertaPutsATextBetweenItsTokens) {
  HfTokenizerFiles files;
  files.config = {{"tokenizer_class", "RobertaTokenizerFast"}, {"add_prefix_space", true}};
  const auto tokenizer = bpe(files);
  EXPECT_THAT(tokenizer->encode("ab ab", kWhole), ElementsAre(0, 6, 6, 1));
  // The white space before a mask is the mask's.
  EXPECT_THAT(tokenizer->encode("ab  <mask>", kBare), ElementsAre(6, 10));
}

TEST(HfPlainFiles, Qwen2ComposesMarksAndCutsDigits) {
  HfTokenizerFiles files;
  files.config = {{"tokenizer_class", "Qwen2Tokenizer"}};
  Json vocabulary = small_vocabulary();
  vocabulary.erase("<s>");
  vocabulary["1"] = 0;
  vocabulary["Ã"] = 11;  // U+00E9 is the bytes C3 A9
  vocabulary["©"] = 12;
  const auto tokenizer = made(read_bpe_files(vocabulary, kMerges, files, "dir"));
  EXPECT_THAT(tokenizer->encode("e\xcc\x81"
                                "11",
                                kBare),
              ElementsAre(11, 12, 0, 0));
}

TEST(HfPlainFiles, AddedTokensHaveTheirIds) {
  HfTokenizerFiles files;
  files.model_type = "codegen";
  files.added_tokens = {{"  ", 20}, {"<|endoftext|>", 21}};
  const auto tokenizer = bpe(files);
  EXPECT_THAT(tokenizer->encode("ab  a<|endoftext|>", kBare), ElementsAre(5, 20, 2, 21));
  EXPECT_EQ(tokenizer->type(20), TokenType::kUserDefined);
  EXPECT_EQ(tokenizer->type(21), TokenType::kControl);
  files.added_tokens["b"] = 21;
  EXPECT_THAT(refusal(files), AllOf(HasSubstr("dir/added_tokens.json: \"b\""),
                                    HasSubstr("must have an id of its own")));
  files.added_tokens = {{"b", -1}};
  EXPECT_THAT(refusal(files), HasSubstr("dir/added_tokens.json: \"b\": must be a whole number"));
  files.added_tokens = Json::array();
  EXPECT_THAT(refusal(files), HasSubstr("dir/added_tokens.json: must be an object"));
}

TEST(HfPlainFiles, TheDecoderOfAddedTokensCountsAlone) {
  HfTokenizerFiles files;
  files.model_type = "gpt2";
  files.config["added_tokens_decoder"] = Json::parse(R"({
      "11": {"content": "<x>", "special": true}, "12": {"content": "ba", "rstrip": true}})");
  files.config["eos_token"] = "<x>";
  files.added_tokens = {{"<y>", 13}};
  files.special_tokens = {{"eos_token", "<y>"}};
  const auto tokenizer = bpe(files);
  EXPECT_EQ(tokenizer->eos(), 11);
  EXPECT_THAT(tokenizer->encode("<x>ba  a", kBare), ElementsAre(11, 12, 2));
  files.config["added_tokens_decoder"]["12x"] = {{"content", "z"}};
  EXPECT_THAT(refusal(files), HasSubstr("added_tokens_decoder: must have token ids for keys"));
  files.config["added_tokens_decoder"] = 5;
  EXPECT_THAT(refusal(files), HasSubstr("added_tokens_decoder: must be an object"));
}

TEST(HfPlainFiles, DamagedFilesAreRefusedByName) {
  HfTokenizerFiles files;
  files.model_type = "gpt2";
  EXPECT_THAT(refusal(files, "#version: 0.2\na b\nĠab\n"),
              HasSubstr("dir/merges.txt: line 3: must read \"left right\", got \"Ġab\""));
  EXPECT_THAT(refusal(files, "a b c\n"), HasSubstr("dir/merges.txt: line 1"));
  EXPECT_THAT(refusal(files, "b a\n"), HasSubstr("must join tokens of the vocabulary"));
  files.config = {{"tokenizer_class", "CLIPTokenizer"}};
  EXPECT_THAT(refusal(files), AllOf(HasSubstr("must be a class of vocab.json that we know"),
                                    HasSubstr("got CLIPTokenizer")));
  files.config = {{"tokenizer_class", "GPT2Tokenizer"}, {"add_prefix_space", "yes"}};
  EXPECT_THAT(refusal(files), HasSubstr("add_prefix_space: must be true or false"));
  files.config = {{"tokenizer_class", "GPT2Tokenizer"}, {"eos_token", 7}};
  EXPECT_THAT(refusal(files), HasSubstr("dir: eos_token: must be an object"));
  files.config.erase("eos_token");
  files.special_tokens = "x";
  EXPECT_THAT(refusal(files), HasSubstr("dir/special_tokens_map.json: must be an object"));
}

constexpr const char* kWords = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nab\n##c\ncafe\ncafé\nAb\nAb\n";

std::unique_ptr<Tokenizer> wordpiece(const Json& config, const std::string& words = kWords) {
  HfTokenizerFiles files;
  files.config = config;
  files.model_type = "bert";
  return made(read_wordpiece_file(words, files, "dir"));
}

TEST(HfPlainFiles, BertsWords) {
  const auto uncased = wordpiece({});
  EXPECT_THAT(uncased->encode("Abc CAFÉ xyz", kWhole), ElementsAre(2, 5, 6, 7, 1, 3));
  EXPECT_THAT(uncased->encode("ab[MASK]", kBare), ElementsAre(5, 4));
  // Of two lines that are equal the last one counts.
  const auto cased = wordpiece({{"do_lower_case", false}});
  EXPECT_THAT(cased->encode("Ab café", kBare), ElementsAre(10, 8));
  const auto plain = wordpiece({{"do_lower_case", false}, {"strip_accents", true}});
  EXPECT_THAT(plain->encode("Ab café", kBare), ElementsAre(10, 7));
  const auto accented = wordpiece({{"strip_accents", false}});
  EXPECT_THAT(accented->encode("café", kBare), ElementsAre(8));
}

TEST(HfPlainFiles, DamagedWordsAreRefusedByName) {
  const auto said = [](const Json& config, const std::string& words = kWords) {
    try {
      wordpiece(config, words);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing was refused");
  };
  EXPECT_THAT(said({{"tokenizer_class", "BertJapaneseTokenizer"}}),
              HasSubstr("must be a class of vocab.txt that we know"));
  EXPECT_THAT(said({{"do_basic_tokenize", false}}), HasSubstr("do_basic_tokenize: must be true"));
  EXPECT_THAT(said({{"do_lower_case", 1}}), HasSubstr("do_lower_case: must be true or false"));
  EXPECT_THAT(said({{"unk_token", nullptr}}), HasSubstr("unk_token"));
  EXPECT_THAT(said({{"cls_token", nullptr}}), HasSubstr("cls_token: must be a token"));
}

}  // namespace
}  // namespace ropewalk
