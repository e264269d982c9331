#include "ropewalk/study/shared_study.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <map>
#include <mutex>
#include <thread>

#include "ropewalk/base/error.h"
#include "ropewalk/formats/test_support.h"

namespace ropewalk {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

// Ranks are threads here: locks belong to opened files, not to processes.
class SharedStudyTest : public testing::Test {
 protected:
  std::unique_ptr<SharedStudy> open(std::optional<Ranks> ranks) {
    return std::make_unique<SharedStudy>(path_, identity_, std::move(ranks),
                                         [this](StudyStore&) { ++held_; });
  }
  static Ranks rank(int number, const std::string& job = "job 1") {
    return {.rank = number, .size = 3, .local_size = 3, .job = job};
  }
  static CellKey key(int64_t window) { return {"cap,window=8", "plain", window}; }

  // What a pass would take a while for, and the same for whoever runs it.
  Measure measure(int64_t window) {
    return [this, window] {
      std::this_thread::sleep_for(milliseconds(2));
      const std::lock_guard guard(mutex_);
      ++passes_[window];
      return losses(window);
    };
  }
  static std::vector<double> losses(int64_t window) {
    return {0.1 * static_cast<double>(window), 1.0 / 3};
  }
  std::vector<CellSource::Wanted> wanted(int64_t count) {
    std::vector<CellSource::Wanted> all;
    for (int64_t w = 0; w < count; ++w) all.push_back({key(w), measure(w)});
    return all;
  }
  CellSource::Kept ask(SharedStudy& study, int64_t window) {
    return study.find_or_measure(
        key(window), [](const std::vector<double>& losses) { return losses.size() == 2; },
        measure(window));
  }

  const TempDirectory directory_;
  const std::string path_ = directory_.path() + "/study.db";
  const StudyIdentity identity_ = {{"model", "m1"}, {"text", "t1"}};
  std::atomic<int> held_ = 0;
  std::mutex mutex_;
  std::map<int64_t, int> passes_;  // of each window
};

TEST_F(SharedStudyTest, AloneItIsAStudy) {
  const auto study = open(std::nullopt);
  ASSERT_NE(study->held(), nullptr);
  EXPECT_EQ(held_, 1);
  EXPECT_FALSE(study->is_shared());
  EXPECT_EQ(ask(*study, 1).cell.losses, losses(1));
  EXPECT_TRUE(ask(*study, 1).was_stored);
  EXPECT_TRUE(study->await_hold());
  EXPECT_THROW(StudyLock{path_}, Error);
  EXPECT_FALSE(fs::exists(CellFolder::path_of(path_)));
}

TEST_F(SharedStudyTest, ARankThatIsRefusedLeavesNoFolder) {
  { const StudyStore other(path_, {{"model", "m2"}, {"text", "t1"}}); }
  EXPECT_THROW(open(rank(0)), Error);
  EXPECT_FALSE(fs::exists(CellFolder::path_of(path_)));
}

TEST_F(SharedStudyTest, WhatItsJobMeasuredIsNotStoredBeforeForWhoeverTakesOver) {
  auto first = open(rank(0));
  const auto second = open(rank(1));
  EXPECT_FALSE(ask(*first, 1).was_stored);
  first.reset();
  EXPECT_FALSE(ask(*second, 1).was_stored);
  EXPECT_NE(second->held(), nullptr);
  EXPECT_EQ(passes_[1], 1);
}

TEST_F(SharedStudyTest, RanksMeasureEveryCellOnceAndReadTheSame) {
  constexpr int64_t kCells = 60;
  std::atomic<int> answers = 0;
  std::vector<std::jthread> ranks;
  for (int number = 0; number < 3; ++number) {
    ranks.emplace_back([&, number] {
      const auto study = open(rank(number));
      if (study->is_over()) return;
      study->share(wanted(kCells), [] {});
      for (int64_t w = 0; w < kCells; ++w) EXPECT_EQ(ask(*study, w).cell.losses, losses(w));
      if (!study->await_hold()) return;
      ++answers;
      study->finish();
    });
  }
  ranks.clear();
  EXPECT_EQ(answers, 1);
  EXPECT_EQ(held_, 1);
  EXPECT_EQ(passes_.size(), static_cast<size_t>(kCells));
  for (const auto& [window, count] : passes_) EXPECT_EQ(count, 1) << window;
  EXPECT_EQ(read_study(path_).cells.size(), static_cast<size_t>(kCells));
  EXPECT_FALSE(fs::exists(CellFolder::path_of(path_))) << "nothing is left beside the study";
}

TEST_F(SharedStudyTest, WhereTheHolderDiesAnotherFinishes) {
  auto holder = open(rank(0));
  const auto other = open(rank(1));
  EXPECT_EQ(other->held(), nullptr);
  const double seconds = ask(*holder, 0).cell.seconds;
  EXPECT_EQ(ask(*other, 0).cell.seconds, seconds) << "decisions go by the same times";
  ask(*other, 1);
  holder.reset();
  EXPECT_TRUE(other->await_hold());
  EXPECT_EQ(held_, 2);
  EXPECT_EQ(other->held()->keys().size(), 2u);
}

TEST_F(SharedStudyTest, ARankThatComesLateLeavesTheAnswerToTheFirst) {
  open(rank(0))->finish();
  EXPECT_TRUE(open(rank(1))->is_over());
  EXPECT_FALSE(fs::exists(CellFolder::path_of(path_)));
  EXPECT_FALSE(open(rank(0))->is_over()) << "the study is asked for again, by the same job";
  EXPECT_FALSE(open(rank(1))->is_over()) << "and by its other ranks";
  EXPECT_FALSE(open(rank(0, "job 2"))->is_over());
}

TEST_F(SharedStudyTest, ARankThatIsLateForOneInvocationTakesNoPartInTheNext) {
  open(rank(0))->finish();
  EXPECT_TRUE(open(rank(1))->is_over());
  const auto second = open(rank(0));
  EXPECT_TRUE(open(rank(2))->is_over()) << "it is of the first";
  const auto other = open(rank(1));
  EXPECT_FALSE(other->is_over());
  EXPECT_EQ(other->held(), nullptr);
  second->finish();
}

TEST_F(SharedStudyTest, EveryRankSeesEveryInvocationOnce) {
  for (int invocation = 1; invocation <= 3; ++invocation) {
    auto holder = open(rank(0));
    auto other = open(rank(1));
    EXPECT_FALSE(holder->is_over());
    holder->finish();
    holder.reset();
    EXPECT_FALSE(other->await_hold()) << "one answers";
    other.reset();
    EXPECT_TRUE(open(rank(2))->is_over());
  }
  EXPECT_FALSE(fs::exists(CellFolder::path_of(path_)));
}

TEST_F(SharedStudyTest, WhatSaysNothingOfThisJobIsNotHeard) {
  const JobState state = {.stage = JobStage::kOpen, .invocation = 2, .seen = {1, 1, 0}};
  const std::string text = to_json(rank(0), state);
  ASSERT_TRUE(parse_job_state(text, rank(1)));
  EXPECT_EQ(parse_job_state(text, rank(1))->next_of(1), 2);
  EXPECT_EQ(to_json(rank(0), *parse_job_state(text, rank(1))), text);
  EXPECT_FALSE(parse_job_state(text, rank(0, "job 2")));
  Ranks more = rank(0);
  more.size = 4;
  EXPECT_FALSE(parse_job_state(text, more));
  for (const char* damaged :
       {"", "{", "[]", R"({"job":"job 1"})", R"({"job":"job 1","finished":1790000000000})",
        R"({"job":"job 1","stage":"open","invocation":-1,"seen":[0,0,0]})",
        R"({"job":"job 1","stage":"open","invocation":1,"seen":[0,"a",0]})",
        R"({"job":"job 1","stage":7,"invocation":1,"seen":[0,0,0]})"})
    EXPECT_FALSE(parse_job_state(damaged, rank(0))) << damaged;
}

TEST_F(SharedStudyTest, AnotherJobIsRefused) {
  const auto mine = open(rank(0));
  EXPECT_THROW(open(rank(0, "job 2")), Error);
  EXPECT_THROW(open(std::nullopt), Error);
  ask(*mine, 0);
  EXPECT_EQ(mine->held()->keys().size(), 1u) << "nothing was taken away";
}

TEST_F(SharedStudyTest, AStudyThatIsHeldAloneIsRefusedToRanks) {
  const auto alone = open(std::nullopt);
  EXPECT_THROW(open(rank(1)), Error);
  EXPECT_FALSE(fs::exists(CellFolder::path_of(path_)));
}

TEST_F(SharedStudyTest, WhatAKilledJobLeftIsTakenIn) {
  {
    CellFolder left(path_, identity_);
    left.publish(key(4), {.losses = losses(4), .seconds = 7});
    left.put_note("of the dead");
  }
  {
    const auto ranked = open(rank(0));
    EXPECT_EQ(ranked->held()->find(key(4))->seconds, 7);
    EXPECT_TRUE(ask(*ranked, 4).was_stored);
    ask(*ranked, 5);  // and is killed
  }
  EXPECT_TRUE(fs::exists(CellFolder::path_of(path_)));
  const auto alone = open(std::nullopt);
  EXPECT_EQ(alone->held()->keys().size(), 2u);
  EXPECT_FALSE(fs::exists(CellFolder::path_of(path_)));
  EXPECT_TRUE(ask(*alone, 4).was_stored);
  EXPECT_EQ(passes_.size(), 1u);
}

TEST_F(SharedStudyTest, RanksGoOnWithAStudyThatWasBegunAlone) {
  ask(*open(std::nullopt), 2);
  const auto holder = open(rank(0));
  const auto other = open(rank(1));
  EXPECT_TRUE(ask(*other, 2).was_stored);
  EXPECT_EQ(ask(*other, 2).cell.seconds, ask(*holder, 2).cell.seconds);
  EXPECT_EQ(passes_[2], 1);
}

TEST_F(SharedStudyTest, StudyAndFolderHaveTheSameTimes) {
  const double seconds = ask(*open(std::nullopt), 2).cell.seconds;
  {
    const CellFolder left(path_, identity_);
    left.publish(key(2), {.losses = losses(2), .seconds = 99});
  }
  const auto holder = open(rank(0));
  const auto other = open(rank(1));
  EXPECT_EQ(ask(*holder, 2).cell.seconds, seconds);
  EXPECT_EQ(ask(*other, 2).cell.seconds, seconds);
}

// Alone, such a pass is run again whenever it is asked for.
TEST_F(SharedStudyTest, WhatNoPassGivesIsKeptInNoFile) {
  const auto study = open(rank(0));
  const CellSource::Kept kept = study->find_or_measure(
      key(1), [](const std::vector<double>&) { return true; },
      [] {
        return std::vector<double>{1, NAN};
      });
  EXPECT_EQ(kept.cell.losses.size(), 2u);
  EXPECT_FALSE(kept.was_stored);
  EXPECT_FALSE(CellFolder(path_, identity_).has(key(1)));
}

// A study may hold names that are no UTF-8.
TEST_F(SharedStudyTest, NamesOfAStrangersStudyAreNoFault) {
  {
    StudyStore strange(path_, identity_);
    strange.insert({"\xff\xfe", "plain", 0}, {.losses = {1, 2}, .seconds = 1});
  }
  const auto study = open(rank(0));
  EXPECT_EQ(ask(*study, 1).cell.losses, losses(1));
}

// A cell of the right name that is not what this run asks for: as the store has it.
TEST_F(SharedStudyTest, ACellThatIsNotWholeIsMeasuredAgain) {
  const auto study = open(rank(0));
  CellFolder folder(path_, identity_);
  folder.publish(key(3), {.losses = {1}, .seconds = 1});
  EXPECT_EQ(ask(*study, 3).cell.losses, losses(3));
}

}  // namespace
}  // namespace ropewalk
