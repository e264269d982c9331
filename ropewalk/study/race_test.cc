#include "ropewalk/study/race.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "ropewalk/base/error.h"
#include "ropewalk/engine/test_support.h"
#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk {
namespace {

constexpr int64_t kTarget = 600;

// A study that holds every pass, each of one second, so that plans do not depend on the machine.
class StoredRaceTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / ("ropewalk-race-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    store_ = std::make_unique<StudyStore>((folder_ / "study.db").string(), StudyIdentity{});
    for (size_t w = 0; w < 8; ++w) windows_.push_back({.ids = some_tokens(kTarget)});
    options_ = {.target_length = kTarget,
                .candidates = candidate_schemes(trained_length(model_.config()), kTarget),
                .proposed = {"cap,window=77"}};
    options_.on_plan = [this](const RacePlan& plan) { plan_ = plan; };
    fill();
  }
  void TearDown() override {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }

  // Later schemes lose more.
  void fill() {
    std::vector<std::string> schemes = options_.candidates;
    schemes.insert(schemes.end(), options_.proposed.begin(), options_.proposed.end());
    std::map<CellKey, Cell> cells;
    for (size_t k = 0; k < schemes.size(); ++k) {
      const Cell cell{.losses = std::vector<double>(kTarget - 1, 1 + 0.01 * static_cast<double>(k)),
                      .seconds = 1};
      for (int64_t w = 0; w < 8; ++w) {
        for (const char* text : {"plain", "repeated", "control"})
          cells[{schemes[k], text, w}] = cell;
      }
    }
    store_->insert_all(cells);
  }

  std::set<std::string> race(double budget) {
    options_.budget = budget;
    std::set<std::string> raced;
    for (const Candidate& candidate : run_race(model_, windows_, options_, *store_, {}))
      raced.insert(candidate.scheme);
    return raced;
  }

  const Model& model_ = tiny_model();
  std::filesystem::path folder_;
  std::unique_ptr<StudyStore> store_;
  std::vector<Window> windows_;
  RaceOptions options_;
  RacePlan plan_;
};

TEST_F(StoredRaceTest, TimeEnoughRacesEveryCandidate) {
  EXPECT_EQ(race(1e6).size(), options_.candidates.size() + 1);
  EXPECT_EQ(plan_, whole_plan(8, options_.copy_windows, true));
}

TEST_F(StoredRaceTest, TooManyCandidatesAreThinnedToTheMiddleOfEachScheme) {
  const auto all = static_cast<double>(options_.candidates.size() + 1);
  const std::set<std::string> raced = race(1.2 * all);
  EXPECT_GT(plan_.per_scheme, 0u);
  EXPECT_LT(raced.size(), options_.candidates.size());
  EXPECT_TRUE(raced.contains("declared"));
  EXPECT_TRUE(raced.contains("cap,window=77")) << "what is proposed stays";
  std::set<std::string> names;
  std::set<std::string> raced_names;
  const auto name_of = [](const std::string& scheme) { return scheme.substr(0, scheme.find(',')); };
  for (const std::string& scheme : options_.candidates) names.insert(name_of(scheme));
  for (const std::string& scheme : raced) raced_names.insert(name_of(scheme));
  EXPECT_EQ(raced_names, names) << "no scheme is left out as a whole";
  EXPECT_NE(left_out(plan_, whole_plan(8, options_.copy_windows, true)).find("every scheme's"),
            std::string::npos);
}

TEST_F(StoredRaceTest, TooSmallABudgetSaysWhatOneSettingOfEachSchemeNeeds) {
  try {
    race(3);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("must be at least"), std::string::npos);
  }
}

}  // namespace
}  // namespace ropewalk
