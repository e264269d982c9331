#include "ropewalk/text/unigram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ropewalk/base/error.h"
#include "ropewalk/text/chars_map.h"
#include "ropewalk/text/tokenizer.h"

namespace ropewalk {
namespace {

using testing::ElementsAre;

constexpr EncodeOptions kBare = {.add_special = false};

// 0 unknown, 1 end, then pieces.
Vocabulary small() {
  return {.model = "t5",
          .tokens = {"<unk>", "</s>", "\xe2\x96\x81", "a", "b", "ab",
                     "\xe2\x96\x81"
                     "ab"},
          .scores = {0, 0, -2, -3, -3, -4, -5},
          .token_types = {2, 3, 1, 1, 1, 1, 1},
          .eos = 1,
          .unknown = 0,
          .add_space_prefix = true,
          .remove_extra_whitespaces = true};
}

std::vector<int32_t> ids(const Unigram& model, std::string_view text) {
  std::vector<Unigram::Piece> pieces;
  model.cut(text, pieces);
  std::vector<int32_t> found;
  for (const Unigram::Piece& piece : pieces) found.push_back(piece.id);
  return found;
}

TEST(Unigram, TakesTheLargestSum) {
  const Unigram model({{"a", 0}, {"b", 1}, {"ab", 2}}, {-1, -1, -1.5}, -10);
  EXPECT_THAT(ids(model, "ab"), ElementsAre(2));
  EXPECT_THAT(ids(model, "aab"), ElementsAre(0, 2));
  EXPECT_THAT(ids(model, "xxa"), ElementsAre(-1, 0));  // one run
  EXPECT_THAT(ids(model, ""), ElementsAre());
}

// Against every cut there is.
TEST(Unigram, FindsNoWorseThanAnyCut) {
  std::mt19937 random(5);
  const std::vector<std::string> spellings = {"a", "b", "aa", "ab", "ba", "aab", "bab", "abba"};
  for (int round = 0; round < 200; ++round) {
    std::vector<PrefixTable::Entry> entries;
    std::vector<double> scores;
    for (const std::string& spelling : spellings) {
      entries.push_back({spelling, static_cast<int32_t>(scores.size())});
      scores.push_back(-static_cast<double>(random() % 1000) / 100);
    }
    const Unigram model(entries, scores, -100);
    std::string text;
    for (size_t n = random() % 12; n > 0; --n) text += random() % 2 ? 'a' : 'b';
    std::vector<double> best(text.size() + 1, -INFINITY);
    best[0] = 0;
    for (size_t at = 0; at < text.size(); ++at) {
      for (const auto& entry : entries) {
        if (!text.substr(at).starts_with(entry.text)) continue;
        double& there = best[at + entry.text.size()];
        there = std::max(there, best[at] + scores[static_cast<size_t>(entry.id)]);
      }
    }
    double sum = 0;
    for (const int32_t id : ids(model, text)) sum += scores[static_cast<size_t>(id)];
    EXPECT_NEAR(sum, best.back(), 1e-9) << text;
  }
}

TEST(UnigramTokenizer, KeepsItsRulesOfSpaces) {
  const auto tokenizer = make_tokenizer(small());
  EXPECT_THAT(tokenizer->encode("ab"), ElementsAre(6, 1));
  EXPECT_THAT(tokenizer->encode("  ab   ab ", kBare), ElementsAre(6, 6));
  EXPECT_THAT(tokenizer->encode("   ", kBare), ElementsAre());
  EXPECT_THAT(tokenizer->encode("abxyb", kBare), ElementsAre(6, 0, 4));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("ab ab")), "ab ab");
  EXPECT_EQ(tokenizer->piece(6), " ab");
}

TEST(UnigramTokenizer, RoundTripsAnyBytesWhereItHasThem) {
  Vocabulary vocabulary = small();
  vocabulary.remove_extra_whitespaces = false;
  constexpr char kDigits[] = "0123456789ABCDEF";
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary.tokens.push_back({'<', '0', 'x', kDigits[byte / 16], kDigits[byte % 16], '>'});
    vocabulary.scores.push_back(0);
    vocabulary.token_types.push_back(6);
  }
  const auto tokenizer = make_tokenizer(vocabulary);
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    std::string text(random() % 60, '\0');
    for (char& c : text) c = static_cast<char>(random() % 2 ? random() : ' ' + random() % 8);
    ASSERT_EQ(tokenizer->decode(tokenizer->encode(text)), text) << testing::PrintToString(text);
  }
}

// One key, "A", that becomes "bb"; see the layout in chars_map.cc.
std::string one_key_map() {
  std::vector<uint32_t> units(0x142);
  units[0] = 0x100u << 10;
  units[0x141] = 1u << 10 | 1u << 8 | 'A';
  units[0x140] = 1u << 31;
  std::string blob;
  const auto append = [&](uint32_t value) {
    for (int i = 0; i < 4; ++i) blob += static_cast<char>(value >> (8 * i) & 0xff);
  };
  append(static_cast<uint32_t>(units.size() * 4));
  for (const uint32_t unit : units) append(unit);
  return blob + std::string("bb\0", 3);
}

TEST(CharsMap, FindsItsKeys) {
  const CharsMap map(one_key_map());
  const auto match = map.find_longest("AB");
  ASSERT_TRUE(match);
  EXPECT_EQ(match->size, 1u);
  EXPECT_EQ(match->replacement, "bb");
  EXPECT_FALSE(map.find_longest("B"));
  EXPECT_FALSE(map.find_longest(""));
  EXPECT_FALSE(CharsMap("").find_shortest("A"));
}

TEST(CharsMap, RefusesWhatPointsOutsideItself) {
  const std::string whole = one_key_map();
  for (size_t size = 1; size < whole.size() - 3; size += 7) {
    EXPECT_THROW(CharsMap(std::string_view(whole).substr(0, size)), Error) << size;
  }
  const CharsMap open(std::string_view(whole).substr(0, whole.size() - 1));
  EXPECT_THROW(open.find_longest("A"), Error);  // a replacement without an end
}

TEST(UnigramTokenizer, RewritesByItsCharacterMap) {
  Vocabulary vocabulary = small();
  vocabulary.precompiled_charsmap = one_key_map();
  EXPECT_THAT(make_tokenizer(vocabulary)->encode("aA", kBare), ElementsAre(6, 4));
}

}  // namespace
}  // namespace ropewalk
