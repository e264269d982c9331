#include "ropewalk/study/recall.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>

#include "ropewalk/study/known_scorers.h"

namespace ropewalk {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

// A token is a line's end, or a word or a sign with the space before it.
class WordTokenizer : public Tokenizer {
 public:
  std::vector<int32_t> encode(std::string_view text, EncodeOptions) const override {
    std::vector<int32_t> ids;
    for (size_t first = 0; first < text.size();) {
      size_t end = first + 1;
      if (text[first] == ' ' && end < text.size()) ++end;
      const auto is_letter = [&](size_t k) {
        return std::isalnum(static_cast<unsigned char>(text[k])) != 0;
      };
      if (is_letter(end - 1)) {
        while (end < text.size() && is_letter(end)) ++end;
      }
      ids.push_back(id_of(std::string(text.substr(first, end - first))));
      first = end;
    }
    return ids;
  }
  std::string decode(std::span<const int32_t> ids, DecodeOptions) const override {
    std::string text;
    for (const int32_t id : ids) text += pieces_.at(static_cast<size_t>(id));
    return text;
  }
  std::string piece(int32_t id) const override { return pieces_.at(static_cast<size_t>(id)); }
  TokenType type(int32_t) const override { return TokenType::kNormal; }
  size_t size() const override { return pieces_.size(); }
  std::optional<int32_t> bos() const override { return 0; }
  std::optional<int32_t> eos() const override { return {}; }
  bool adds_bos() const override { return true; }
  bool adds_eos() const override { return false; }

 private:
  int32_t id_of(const std::string& piece) const {
    const auto [entry, is_new] = ids_.try_emplace(piece, static_cast<int32_t>(pieces_.size()));
    if (is_new) pieces_.push_back(piece);
    return entry->second;
  }

  mutable std::vector<std::string> pieces_ = {"<s>"};
  mutable std::map<std::string, int32_t> ids_;
};

constexpr int64_t kVocabulary = 100000;

class RecallTest : public testing::Test {
 protected:
  RecallTest() {
    std::string book;
    for (int k = 0; k < 6000; ++k)
      book += " word" + std::to_string(k * 7919 % 1009) + (k % 9 ? "" : ".");
    documents_.push_back({.name = "book", .ids = tokenizer_.encode(book, {})});
  }

  RecallPlan plan(std::vector<int64_t> lengths = {512, 2048}) const {
    return {.lengths = std::move(lengths), .trials = 4};
  }
  std::vector<Haystack> haystacks(const RecallPlan& plan) const {
    return make_haystacks(tokenizer_, documents_, plan);
  }
  std::vector<RecallCell> measured(const Scorer& scorer, const RecallPlan& plan) const {
    return measure_recall(scorer, tokenizer_, haystacks(plan));
  }

  const WordTokenizer tokenizer_;
  std::vector<Document> documents_;
};

// Holds what came first for right: of two tokens the one that it saw earlier. Or the later.
class EarlierScorer : public Scorer {
 public:
  explicit EarlierScorer(bool reversed) : reversed_(reversed) {}
  int64_t vocabulary() const override { return kVocabulary; }
  std::vector<double> losses(std::span<const int32_t>, const Progress&) const override {
    return {};
  }
  std::vector<Answer> ask(std::span<const int32_t> text, std::span<const Question> questions,
                          const Progress&) const override {
    std::vector<Answer> answers;
    for (const Question& question : questions) {
      Answer& answer = answers.emplace_back();
      for (const auto& choice : question.choices) {
        // A sentence begins with the name, an answer has a space before it.
        const std::string name = tokens_->piece(choice.back()).substr(1);
        const int32_t id = tokens_->encode(name, {}).front();
        const auto place = static_cast<double>(std::ranges::find(text, id) - text.begin());
        answer.losses.push_back({reversed_ ? 1e6 - place : place});
      }
    }
    return answers;
  }
  const Tokenizer* tokens_ = nullptr;

 private:
  bool reversed_;
};

TEST_F(RecallTest, AUniformModelGuesses) {
  for (const RecallCell& cell : measured(UniformScorer(kVocabulary), plan())) {
    const std::string name = to_string(cell.task) + " " + cell.place;
    ASSERT_EQ(cell.not_run, "") << name;
    EXPECT_NEAR(cell.found.mean, cell.chance, 1e-12) << name;
    EXPECT_NEAR(cell.loss.mean, std::log(static_cast<double>(kVocabulary)), 1e-9) << name;
    EXPECT_NEAR(cell.gain.mean, 0, 1e-9) << name;
    EXPECT_NEAR(cell.chance,
                cell.task == RecallTask::kOrder    ? 0.5
                : cell.task == RecallTask::kLatest ? 0.2
                                                   : 0.125,
                1e-12);
  }
}

TEST_F(RecallTest, APerfectCopierFindsAllAtEveryDepthAndLength) {
  std::set<std::string> seen;
  for (const RecallCell& cell : measured(CopyingScorer(kVocabulary, 0.9), plan())) {
    if (cell.task == RecallTask::kOrder) continue;
    const std::string name = to_string(cell.task) + " " + cell.place;
    seen.insert(name + " of " + std::to_string(cell.length));
    EXPECT_EQ(cell.found.mean, 1) << name;
    EXPECT_NEAR(cell.loss.mean, -std::log(0.9), 1e-12) << name;
    EXPECT_EQ(cell.strict->mean, 1) << name;
    EXPECT_EQ(cell.loose->mean, 1) << name;
    EXPECT_EQ(cell.found.interval->low, 1) << name;
  }
  EXPECT_THAT(seen, SizeIs(2 * (5 + 5 + 1)));
}

// It needs the word before the number, and one more, as the question has "is" as well.
TEST_F(RecallTest, AWindowedCopierFindsWhatItsWindowHoldsExactly) {
  RecallPlan one = plan({1024});
  one.tasks = {RecallTask::kPasskey, RecallTask::kNeedles};
  one.trials = 1;
  for (const Haystack& haystack : haystacks(one)) {
    for (size_t q = 0; q < haystack.questions.size(); ++q) {
      Haystack alone = haystack;
      alone.questions = {haystack.questions[q]};
      alone.probes = {haystack.probes[q]};
      const auto number = std::ranges::find(haystack.text, alone.questions[0].choices[0][0]);
      const int64_t length = std::ssize(haystack.text) + std::ssize(alone.questions[0].ids);
      const int64_t enough = length - (number - haystack.text.begin()) + 2;
      for (const int64_t window : {enough - 1, enough}) {
        const auto cells =
            measure_recall(CopyingScorer(kVocabulary, 0.9, window), tokenizer_, {alone});
        ASSERT_THAT(cells, SizeIs(1));
        const bool sees = window >= enough;
        EXPECT_EQ(cells[0].strict->mean, sees ? 1 : 0) << cells[0].place << " in " << window;
        EXPECT_EQ(cells[0].loose->mean, sees ? 1 : 0) << cells[0].place;
        EXPECT_EQ(cells[0].found.mean, sees ? 1 : cells[0].chance) << cells[0].place;
      }
    }
  }
}

TEST_F(RecallTest, OrderIsKnownToOneWhoSawIt) {
  RecallPlan order = plan();
  order.tasks = {RecallTask::kOrder};
  for (const bool reversed : {false, true}) {
    EarlierScorer scorer(reversed);
    scorer.tokens_ = &tokenizer_;
    const std::vector<RecallCell> cells = measured(scorer, order);
    EXPECT_THAT(cells, SizeIs(2 * 5));
    for (const RecallCell& cell : cells) EXPECT_EQ(cell.found.mean, reversed ? 0 : 1) << cell.place;
  }
}

TEST_F(RecallTest, SeedsDecideAll) {
  RecallPlan other = plan();
  other.seed = 2;
  const auto a = haystacks(plan());
  const auto b = haystacks(plan());
  const auto c = haystacks(other);
  ASSERT_EQ(a.size(), b.size());
  size_t changed = 0;
  for (size_t k = 0; k < a.size(); ++k) {
    EXPECT_EQ(a[k].text, b[k].text);
    changed += a[k].text != c[k].text;
  }
  EXPECT_EQ(changed, a.size());
}

// ---- public reports, by the codes of the collection that this project was given

TEST_F(RecallTest, NIA_01_ACopierFindsAllAndAConstantNothing) {
  RecallPlan one = plan();
  one.tasks = {RecallTask::kPasskey};
  for (const RecallCell& cell : measured(CopyingScorer(kVocabulary, 0.99), one))
    EXPECT_EQ(cell.strict->mean, 1);
  for (const RecallCell& cell : measured(UniformScorer(kVocabulary), one)) {
    EXPECT_EQ(cell.strict->mean, 0);
    EXPECT_EQ(cell.loose->mean, 0);
  }
}

// Says "It is " before what the copier would say.
class PoliteScorer : public CopyingScorer {
 public:
  PoliteScorer(const Tokenizer& tokenizer, int64_t vocabulary)
      : CopyingScorer(vocabulary, 0.9), words_(tokenizer.encode(" It is", {})) {}
  std::vector<Answer> ask(std::span<const int32_t> text, std::span<const Question> questions,
                          const Progress& progress) const override {
    std::vector<Answer> answers = CopyingScorer::ask(text, questions, progress);
    for (Answer& answer : answers) {
      answer.free.insert(answer.free.begin(), words_.begin(), words_.end());
      answer.free.resize(answer.free.size() - words_.size());
    }
    return answers;
  }

 private:
  std::vector<int32_t> words_;
};

TEST_F(RecallTest, NIA_03_WordingCountsInTheStrictScoreOnly) {
  RecallPlan one = plan();
  one.tasks = {RecallTask::kPasskey};
  for (const RecallCell& cell : measured(PoliteScorer(tokenizer_, kVocabulary), one)) {
    EXPECT_EQ(cell.strict->mean, 0);
    EXPECT_EQ(cell.loose->mean, 1);
  }
}

TEST_F(RecallTest, NIA_05_ThereIsMoreThanThePasskey) {
  std::set<RecallTask> tasks;
  for (const Haystack& haystack : haystacks(plan())) {
    tasks.insert(haystack.task);
    const std::set<int32_t> different(haystack.text.begin(), haystack.text.end());
    if (haystack.task == RecallTask::kPasskey) {
      EXPECT_LE(different.size(), 48u + 20u);
    } else {
      EXPECT_GT(different.size(), 150u);
    }
  }
  EXPECT_THAT(tasks, SizeIs(4));
}

TEST_F(RecallTest, NIA_07_TheAnswerStandsInItsNeedleOnly) {
  std::set<int32_t> numbers;
  size_t count = 0;
  for (const Haystack& haystack : haystacks(plan())) {
    if (haystack.task == RecallTask::kOrder) continue;
    for (const Question& question : haystack.questions) {
      const int32_t answer = question.choices[0][0];
      EXPECT_EQ(std::ranges::count(haystack.text, answer), 1);
      EXPECT_EQ(std::ranges::count(question.ids, answer), 0);
      numbers.insert(answer);
      ++count;
    }
  }
  EXPECT_GT(numbers.size(), count - 5) << "numbers are not drawn anew";
}

TEST_F(RecallTest, NIA_09_LengthAndDepthAreMeasured) {
  RecallPlan long_one = plan({8192});
  long_one.depths = {0, 0.5, 1};
  std::string book;
  for (int k = 0; k < 9000; ++k) book += " word" + std::to_string(k * 7919 % 1009);
  documents_.push_back({.name = "longer", .ids = tokenizer_.encode(book, {})});
  const auto cells = measured(UniformScorer(kVocabulary), long_one);
  for (const RecallCell& cell : cells) {
    EXPECT_EQ(cell.achieved_length, 8192);
    if (cell.task != RecallTask::kPasskey && cell.task != RecallTask::kNeedles) continue;
    const double asked = std::stod(cell.place) / 100;
    EXPECT_NEAR(cell.achieved_depth, asked, 0.01) << cell.place;
  }
  EXPECT_EQ(cells.front().place, "0 %");
}

TEST_F(RecallTest, NIA_09_WhatDoesNotFitIsNotRun) {
  const auto cells = measured(UniformScorer(kVocabulary), plan({40, 100000}));
  ASSERT_FALSE(cells.empty());
  for (const RecallCell& cell : cells) {
    if (cell.length == 40) {
      EXPECT_THAT(cell.not_run, HasSubstr("of 40 tokens"));
    } else if (cell.task == RecallTask::kPasskey) {
      EXPECT_EQ(cell.not_run, "");  // its filler is one passage
    } else {
      EXPECT_THAT(cell.not_run, HasSubstr("no document has"));
    }
  }
}

}  // namespace
}  // namespace ropewalk
