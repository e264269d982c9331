#include "ropewalk/text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Vocabulary gpt2() {
  return {.model = "gpt2", .pre = "gpt-2", .tokens = {"a", "b", "[s]"}, .token_types = {1, 1, 3}};
}

// The message that making this tokenizer fails with.
std::string failure(const Vocabulary& vocabulary) {
  try {
    make_tokenizer(vocabulary);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Tokenizer, ListsWhatItKnowsForWhatItDoesNot) {
  Vocabulary model = gpt2();
  model.model = "rwkv";
  EXPECT_THAT(failure(model), AllOf(HasSubstr("rwkv"), HasSubstr("llama, gpt2")));
  Vocabulary pre = gpt2();
  pre.pre = "nonesuch";
  EXPECT_THAT(failure(pre), AllOf(HasSubstr("tokenizer.ggml.pre"), HasSubstr("qwen2")));
}

TEST(Tokenizer, NamesTheKeyAtFault) {
  Vocabulary none = gpt2();
  none.tokens.clear();
  none.token_types.clear();
  EXPECT_THAT(failure(none), HasSubstr("tokenizer.ggml.tokens"));

  Vocabulary few_types = gpt2();
  few_types.token_types = {1};
  EXPECT_THAT(failure(few_types), HasSubstr("tokenizer.ggml.token_type"));

  Vocabulary odd_type = gpt2();
  odd_type.token_types[0] = 7;
  EXPECT_THAT(failure(odd_type), HasSubstr("got 7"));

  Vocabulary bos = gpt2();
  bos.bos = 3;
  EXPECT_THAT(failure(bos), AllOf(HasSubstr("bos_token_id"), HasSubstr("got 3")));

  Vocabulary eos = gpt2();
  eos.eos = -1;
  EXPECT_THAT(failure(eos), HasSubstr("eos_token_id"));

  Vocabulary add_bos = gpt2();
  add_bos.add_bos = true;
  EXPECT_THAT(failure(add_bos), HasSubstr("add_bos_token"));
}

TEST(Tokenizer, AddsBosAndEosWhereTheFileSaysSo) {
  Vocabulary vocabulary = gpt2();
  vocabulary.bos = vocabulary.eos = 2;
  EXPECT_THAT(make_tokenizer(vocabulary)->encode("ab"), ElementsAre(0, 1));
  EXPECT_FALSE(make_tokenizer(vocabulary)->adds_bos());

  vocabulary.add_bos = vocabulary.add_eos = true;
  const auto tokenizer = make_tokenizer(vocabulary);
  EXPECT_TRUE(tokenizer->adds_bos());
  EXPECT_TRUE(tokenizer->adds_eos());
  EXPECT_THAT(tokenizer->encode("ab"), ElementsAre(2, 0, 1, 2));
  EXPECT_THAT(tokenizer->encode("ab", {.add_special = false}), ElementsAre(0, 1));
  // Once only, wherever it comes from.
  EXPECT_THAT(tokenizer->encode("[s]ab", {.parse_special = true}), ElementsAre(2, 0, 1, 2));
}

TEST(Tokenizer, KnowsTheDefaultsOfEachModel) {
  Vocabulary llama3 = gpt2();
  llama3.pre = "llama-bpe";
  EXPECT_FALSE(make_tokenizer(llama3)->adds_bos());  // no BOS to add
  llama3.bos = 2;
  EXPECT_TRUE(make_tokenizer(llama3)->adds_bos());

  const Vocabulary llama = {
      .model = "llama", .tokens = {"<unk>", "<s>", "</s>"}, .scores = {0, 0, 0}};
  EXPECT_EQ(make_tokenizer(llama)->bos(), 1);
  EXPECT_EQ(make_tokenizer(llama)->eos(), 2);
  EXPECT_TRUE(make_tokenizer(llama)->adds_bos());
  EXPECT_FALSE(make_tokenizer(llama)->adds_eos());
}

TEST(Tokenizer, TreatsBosAndEosAsControlTokensWithoutTypes) {
  Vocabulary vocabulary = gpt2();
  vocabulary.token_types.clear();
  vocabulary.bos = vocabulary.eos = 2;
  const auto tokenizer = make_tokenizer(vocabulary);
  EXPECT_EQ(tokenizer->type(2), TokenType::kControl);
  EXPECT_EQ(tokenizer->decode(std::vector<int32_t>{2, 0, 2}), "a");
}

TEST(Tokenizer, RefusesIdsItDoesNotHave) {
  const auto tokenizer = make_tokenizer(gpt2());
  for (const int32_t id : {-1, 3}) {
    EXPECT_THROW(tokenizer->piece(id), Error);
    EXPECT_THROW(tokenizer->type(id), Error);
    EXPECT_THROW(tokenizer->decode(std::vector<int32_t>{id}), Error);
  }
  EXPECT_EQ(tokenizer->size(), 3u);
  EXPECT_EQ(tokenizer->type(2), TokenType::kControl);
}

}  // namespace
}  // namespace ropewalk
