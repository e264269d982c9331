#include "ropewalk/study/scorer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ropewalk/engine/test_support.h"
#include "ropewalk/study/known_scorers.h"
#include "ropewalk/study/stored_scorer.h"

namespace ropewalk {
namespace {

// Answers end past the tiny model's trained length of 128.
const std::vector<int32_t> kText = some_tokens(122);
const std::vector<Question> kQuestions = {
    {.ids = {10, 11, 12}, .choices = {{20, 21}, {30, 31, 32, 33}}, .free_tokens = 6},
    {.ids = {7}, .choices = {{40}, {41, 42}}, .free_tokens = 0}};

std::vector<int32_t> text_with(const Question& question, const std::vector<int32_t>& answer) {
  std::vector<int32_t> ids = kText;
  ids.insert(ids.end(), question.ids.begin(), question.ids.end());
  ids.insert(ids.end(), answer.begin(), answer.end());
  return ids;
}

TEST(ModelScorer, AnswersAreThoseOfWholePasses) {
  const Model& model = tiny_model();
  for (const char* const scheme : {"declared", "cap,window=40", "sinks,count=4,size=50",
                                   "dynamic_ntk", "dca", "longrope,long=1:2:3:4,short=1:1:1:2"}) {
    const Positions positions = under(model, scheme);
    const ModelScorer scorer(model, positions);
    const std::vector<Answer> answers = scorer.ask(kText, kQuestions, {});
    ASSERT_EQ(answers.size(), kQuestions.size());
    for (size_t q = 0; q < answers.size(); ++q) {
      for (size_t c = 0; c < kQuestions[q].choices.size(); ++c) {
        const std::vector<int32_t>& choice = kQuestions[q].choices[c];
        const std::vector<double> whole = model.losses(text_with(kQuestions[q], choice), positions);
        ASSERT_EQ(answers[q].losses[c].size(), choice.size());
        EXPECT_LE(worst_difference(answers[q].losses[c], std::span(whole).last(choice.size())),
                  2e-5)
            << scheme << ", question " << q << ", choice " << c;
      }
      std::vector<int32_t> said;
      Sequence sequence(model, positions, 200);
      std::span<const float> logits = sequence.append(text_with(kQuestions[q], {}));
      while (std::ssize(said) < kQuestions[q].free_tokens) {
        said.push_back(greedy_choice(logits));
        logits = sequence.append({&said.back(), 1});
      }
      EXPECT_EQ(answers[q].free, said) << scheme;
    }
  }
}

TEST(ModelScorer, ThreadsChangeNothing) {
  const Positions positions = under(tiny_model(), "cap,window=40");
  const ModelScorer scorer(tiny_model(), positions);
  std::vector<Answer> alone;
  {
    const Threads one(1);
    alone = scorer.ask(kText, kQuestions, {});
  }
  const Threads three(3);
  const std::vector<Answer> together = scorer.ask(kText, kQuestions, {});
  for (size_t q = 0; q < alone.size(); ++q) {
    EXPECT_EQ(alone[q].losses, together[q].losses);
    EXPECT_EQ(alone[q].free, together[q].free);
  }
}

TEST(KnownScorers, TheCopierExpectsWhatFollowedTheLongestRun) {
  constexpr double kCertainty = 0.75;
  // Behind 1 2 stood 3 first and 5 later; behind 9 1 2 stood 3.
  const std::vector<int32_t> ids = {9, 1, 2, 3, 8, 1, 2, 5, 9, 1, 2, 3};
  const std::vector<double> losses = CopyingScorer(10, kCertainty).losses(ids, {});
  EXPECT_NEAR(losses[0], std::log(10.0), 1e-12);          // nothing to copy
  EXPECT_NEAR(losses[5], -std::log(kCertainty), 1e-12);   // 2 behind 1
  EXPECT_NEAR(losses[6], std::log(9 / 0.25), 1e-12);      // 3 was expected
  EXPECT_NEAR(losses[10], -std::log(kCertainty), 1e-12);  // the longer run wins
  const std::vector<double> near = CopyingScorer(10, kCertainty, 7).losses(ids, {});
  EXPECT_NEAR(near[10], std::log(9 / 0.25), 1e-12) << "sees 5 behind 1 2 alone";
}

class CountingScorer : public UniformScorer {
 public:
  CountingScorer() : UniformScorer(50) {}
  std::vector<double> losses(std::span<const int32_t> ids,
                             const Progress& progress) const override {
    ++calls;
    return UniformScorer::losses(ids, progress);
  }
  std::vector<Answer> ask(std::span<const int32_t> text, std::span<const Question> questions,
                          const Progress& progress) const override {
    ++calls;
    return UniformScorer::ask(text, questions, progress);
  }
  mutable int calls = 0;
};

TEST(StoredScorer, AsksOnceForAll) {
  const TempDirectory folder;
  const StudyIdentity identity = {{"model", "m"}};
  CountingScorer scorer;
  std::vector<std::vector<Answer>> answers;
  std::vector<std::vector<double>> losses;
  for (const char* const scheme : {"rope", "rope", "cap,window=9"}) {
    StudyStore store(folder.path() + "/study.db", identity);
    const StoredScorer stored(scorer, store, scheme);
    answers.push_back(stored.ask(kText, kQuestions, {}));
    losses.push_back(stored.losses(kText, {}));
    EXPECT_EQ(stored.found(), answers.size() == 2 ? 2 : 0);
  }
  EXPECT_EQ(scorer.calls, 4);
  EXPECT_EQ(losses[0], losses[1]);
  for (size_t q = 0; q < kQuestions.size(); ++q) {
    EXPECT_EQ(answers[0][q].losses, answers[1][q].losses);
    EXPECT_EQ(answers[0][q].free, answers[1][q].free);
  }
  // Another question is another call.
  StudyStore store(folder.path() + "/study.db", identity);
  std::vector<Question> other = kQuestions;
  other[1].choices[0][0] = 43;
  StoredScorer(scorer, store, "rope").ask(kText, other, {});
  EXPECT_EQ(scorer.calls, 5);
}

}  // namespace
}  // namespace ropewalk
