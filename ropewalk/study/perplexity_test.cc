#include "ropewalk/study/perplexity.h"

#include <gmock/gmock.h>

#include <cmath>
#include <numeric>

#include "ropewalk/formats/test_support.h"
#include "ropewalk/study/known_scorers.h"

namespace ropewalk {
namespace {

using testing::HasSubstr;

// The loss of a token is its id and a hundredth of the tokens before it in its window.
class CountingScorer : public Scorer {
 public:
  int64_t vocabulary() const override { return 1 << 20; }
  std::vector<double> losses(std::span<const int32_t> ids, const Progress&) const override {
    std::vector<double> losses;
    for (size_t t = 1; t < ids.size(); ++t) losses.push_back(ids[t] + static_cast<double>(t) / 100);
    firsts_.push_back(ids.front());
    return losses;
  }
  std::vector<Answer> ask(std::span<const int32_t>, std::span<const Question>,
                          const Progress&) const override {
    return {};
  }
  const std::vector<int32_t>& firsts() const { return firsts_; }

 private:
  mutable std::vector<int32_t> firsts_;
};

std::vector<int32_t> rising(size_t count) {
  std::vector<int32_t> ids(count);
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

Perplexity measured(int64_t tokens, const PerplexityOptions& options) {
  return measure_perplexity(CountingScorer(), rising(static_cast<size_t>(tokens)), options);
}

constexpr PerplexityOptions strided(int64_t window, int64_t stride) {
  return {.rule = PerplexityRule::kStrided, .window = window, .stride = stride};
}
constexpr PerplexityOptions halves(int64_t window) {
  return {.rule = PerplexityRule::kSecondHalf, .window = window};
}
constexpr PerplexityOptions whole(int64_t window) {
  return {.rule = PerplexityRule::kWholeChunks, .window = window};
}

TEST(Perplexity, StridedIsWhatTheHandGives) {
  // 7 tokens: window 0..3 scores 1 2 3, window 2..5 scores 4 5, window 4..6 scores 6.
  const Perplexity result = measured(7, strided(4, 2));
  EXPECT_EQ(result.windows, 3);
  EXPECT_EQ(result.scored, 6);
  EXPECT_NEAR(result.nats, (1 + 2 + 3 + 4 + 5 + 6) + (1 + 2 + 3 + 2 + 3 + 2) / 100.0, 1e-12);
  EXPECT_NEAR(result.mean_context(), 13.0 / 6, 1e-12);
}

TEST(Perplexity, SecondHalvesAreWhatTheHandGives) {
  // 11 tokens, windows 0..4 and 5..9, of which 3 4 and 8 9 come behind at least 3 others.
  const Perplexity result = measured(11, halves(5));
  EXPECT_EQ(result.windows, 2);
  EXPECT_EQ(result.scored, 4);
  EXPECT_NEAR(result.nats, (3 + 4 + 8 + 9) + (3 + 4 + 3 + 4) / 100.0, 1e-12);
  const Perplexity all = measured(11, whole(5));
  EXPECT_EQ(all.scored, 8);
  EXPECT_NEAR(all.nats, (1 + 2 + 3 + 4 + 6 + 7 + 8 + 9) + 2 * (1 + 2 + 3 + 4) / 100.0, 1e-12);
}

TEST(Perplexity, AUniformModelHasThatOfItsVocabulary) {
  const UniformScorer uniform(512);
  for (const PerplexityOptions& options : {strided(16, 5), halves(16), whole(16)}) {
    const Perplexity result = measure_perplexity(uniform, rising(100), options);
    EXPECT_NEAR(result.perplexity(), 512, 1e-9) << result.definition();
  }
}

// ---- public reports, by the codes of the collection that this project was given

TEST(Reports, PPL_01_BosStartsEveryWindow) {
  CountingScorer scorer;
  for (PerplexityOptions options : {strided(10, 5), halves(10), whole(10)}) {
    options.bos = 77;
    measure_perplexity(scorer, rising(40), options);
  }
  EXPECT_THAT(scorer.firsts(), testing::Each(77));
  PerplexityOptions options = halves(10);
  options.bos = 77;
  EXPECT_THAT(measured(40, options).definition(), HasSubstr("BOS"));
  CountingScorer without;
  measure_perplexity(without, rising(40), whole(10));
  EXPECT_THAT(without.firsts(), testing::ElementsAre(0, 10, 20, 30));
}

TEST(Reports, PPL_02_ABosInsideAWindowIsCounted) {
  std::vector<int32_t> ids = rising(40);
  PerplexityOptions options = whole(10);
  options.bos = 1000;
  EXPECT_EQ(measure_perplexity(CountingScorer(), ids, options).stray_bos, 0);
  ids[0] = ids[20] = 1000;  // where windows begin
  EXPECT_EQ(measure_perplexity(CountingScorer(), ids, options).stray_bos, 0);
  ids[1] = ids[25] = 1000;
  EXPECT_EQ(measure_perplexity(CountingScorer(), ids, options).stray_bos, 2);
}

TEST(Reports, PPL_04_StridedScoresEveryTokenOnce) {
  const Perplexity result = measured(20, strided(10, 5));
  EXPECT_EQ(result.windows, 3);  // of 9, 5 and 5
  EXPECT_EQ(result.scored, 19);
  EXPECT_NEAR(result.mean_context(), ((1 + 9) * 9 / 2 + 2 * (5 + 6 + 7 + 8 + 9)) / 19.0, 1e-12);
  EXPECT_THAT(result.definition(), HasSubstr("window=10 stride=5"));
}

TEST(Reports, PPL_06_ByTokenByByteAndByWord) {
  const std::vector<std::string> pieces = {"<s>", " on", "ce", " upon", " a", "\ntime"};
  const Perplexity result =
      measure_perplexity(UniformScorer(8), rising(6), strided(10, 10), pieces);
  EXPECT_EQ(result.scored, 5);
  EXPECT_EQ(result.bytes, 17);
  EXPECT_EQ(result.words, 4);
  EXPECT_NEAR(result.nats_per_token(), std::log(8.0), 1e-12);
  EXPECT_NEAR(*result.bits_per_byte(), 3 * 5 / 17.0, 1e-12);
  EXPECT_NEAR(*result.word_perplexity(), std::exp(result.nats / 4), 1e-9);
  EXPECT_FALSE(measured(20, strided(10, 5)).bits_per_byte());
}

TEST(Reports, PPL_07_OtherTokensOrWindowsAreNotCompared) {
  const Perplexity one = measured(40, whole(10));
  EXPECT_EQ(perplexity_difference(one, one), 0);
  EXPECT_THAT(message_of([&] { perplexity_difference(one, measured(41, whole(10))); }),
              HasSubstr(one.digest));
  EXPECT_THAT(message_of([&] { perplexity_difference(one, measured(40, whole(20))); }),
              HasSubstr("window=20"));
}

TEST(Reports, PPL_09_WindowAndStrideAreSaid) {
  EXPECT_THAT(measured(100, strided(20, 4)).definition(), HasSubstr("window=20 stride=4"));
  EXPECT_THAT(measured(20, strided(20, 4)).definition(), HasSubstr("single window"));
}

TEST(Reports, PPL_13_EveryDefinitionSaysHowManyItScores) {
  EXPECT_EQ(measured(2048, halves(512)).scored, 4 * 255);
  EXPECT_EQ(measured(2048, whole(512)).scored, 4 * 511);
  EXPECT_EQ(measured(2048, strided(512, 256)).scored, 2047);
  EXPECT_EQ(measured(2048, halves(512)).windows, 4);
  EXPECT_THAT(measured(2048, halves(512)).definition(), HasSubstr("second half"));
}

TEST(Reports, PPL_15_ShortTexts) {
  EXPECT_THAT(message_of([] { measured(1, strided(512, 256)); }), HasSubstr("got 1"));
  EXPECT_THAT(message_of([] { measured(511, halves(512)); }), HasSubstr("got 511"));
  const Perplexity five = measured(5, strided(512, 256));
  EXPECT_EQ(five.windows, 1);
  EXPECT_EQ(five.scored, 4);
  EXPECT_THAT(message_of([] { measured(20, strided(10, 11)); }), HasSubstr("from 1 to"));
}

}  // namespace
}  // namespace ropewalk
