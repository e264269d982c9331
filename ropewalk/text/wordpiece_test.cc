#include "ropewalk/text/wordpiece.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ropewalk/text/bert_text.h"
#include "ropewalk/text/tokenizer.h"

namespace ropewalk {
namespace {

using testing::ElementsAre;

#define MARK "\xe2\x96\x81"

Vocabulary small() {
  return {.model = "bert",
          .tokens = {"[UNK]", "[CLS]", "[SEP]", MARK "un", MARK "want", "want", "ed", MARK ",",
                     MARK "u"},
          .token_types = {3, 3, 3, 1, 1, 1, 1, 1, 1},
          .bos = 1,
          .unknown = 0,
          .separator = 2};
}

TEST(WordPiece, TakesTheLongestFirst) {
  WordPiece model(5);
  model.add_beginning("a", 0);
  model.add_beginning("ab", 1);
  model.add_continuation("b", 2);
  std::vector<int32_t> ids;
  EXPECT_TRUE(model.cut("abb", ids));
  EXPECT_THAT(ids, ElementsAre(1, 2));
  EXPECT_FALSE(model.cut("abc", ids));
  EXPECT_FALSE(model.cut("b", ids));
  EXPECT_FALSE(model.cut("abbbbb", ids));  // six characters
  EXPECT_THAT(ids, ElementsAre(1, 2));     // nothing is left of a failure
}

TEST(BertText, CutsWordsAndPunctuation) {
  EXPECT_THAT(bert_words("a, b$c\xe3\x80\x82"),
              ElementsAre("a", ",", "b", "$", "c", "\xe3\x80\x82"));
  EXPECT_EQ(bert_normalize("\xc3\x85 \xff\xe2\x80\x8b", {}), "a ");
  EXPECT_EQ(bert_normalize("\xc3\x85", {.strip_accents = false}), "\xc3\xa5");
}

TEST(WordPieceTokenizer, LiesBetweenItsEnds) {
  const auto tokenizer = make_tokenizer(small());
  EXPECT_THAT(tokenizer->encode("Unwanted, u"), ElementsAre(1, 3, 5, 6, 7, 8, 2));
  EXPECT_THAT(tokenizer->encode("other", {.add_special = false}), ElementsAre(0));
  EXPECT_THAT(tokenizer->encode("[SEP]", {.add_special = false, .parse_special = true}),
              ElementsAre(2));
  EXPECT_EQ(tokenizer->eos(), 2);
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("unwanted, want")), "unwanted , want");
}

TEST(WordPieceTokenizer, KeepsCaseWhereTheFileSaysSo) {
  Vocabulary vocabulary = small();
  vocabulary.lowercase = false;
  EXPECT_THAT(make_tokenizer(vocabulary)->encode("Un", {.add_special = false}), ElementsAre(0));
}

}  // namespace
}  // namespace ropewalk
