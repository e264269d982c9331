#include "ropewalk/study/race.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <set>

#include "ropewalk/base/error.h"
#include "ropewalk/engine/test_support.h"
#include "ropewalk/formats/test_support.h"
#include "ropewalk/schemes/scheme_string.h"
#include "ropewalk/study/winners.h"

namespace ropewalk {
namespace {

constexpr int64_t kTarget = 600;

// A study that holds every pass, each of one second, so that plans do not depend on the machine.
class StoredRaceTest : public testing::Test {
 protected:
  void SetUp() override {
    store_ = std::make_unique<StudyStore>(folder_.path() + "/study.db", StudyIdentity{});
    for (size_t w = 0; w < 8; ++w) windows_.push_back({.ids = some_tokens(kTarget)});
    options_ = {.target_length = kTarget,
                .candidates = candidate_schemes(trained_length(model_.config()), kTarget),
                .proposed = {"cap,window=77"}};
    options_.on_plan = [this](const RacePlan& plan) { plan_ = plan; };
    fill();
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

  // As a race says that is given too little.
  double least_budget() {
    try {
      race(3);
    } catch (const Error& error) {
      const std::string said = error.what();
      const std::string before = "must be at least ";
      EXPECT_NE(said.find(before), said.npos) << said;
      return std::stod(said.substr(said.find(before) + before.size()));
    }
    ADD_FAILURE() << "3 s were enough";
    return 0;
  }

  // Of their first parts.
  static std::set<std::string> names_of(const auto& schemes) {
    std::set<std::string> names;
    for (const std::string& scheme : schemes) names.insert(scheme.substr(0, scheme.find(',')));
    return names;
  }

  const Model& model_ = tiny_model();
  const TempDirectory folder_;
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
  EXPECT_EQ(names_of(raced), names_of(options_.candidates)) << "no scheme is left out as a whole";
  EXPECT_NE(left_out(plan_, whole_plan(8, options_.copy_windows, true)).find("every scheme's"),
            std::string::npos);
}

TEST_F(StoredRaceTest, WhatIsReadBesidesCountsAsAPassOfDeclared) {
  const double enough = least_budget();
  options_.tokens_besides = 3 * kTarget;
  constexpr double kForetold = 3.3;  // a tenth on top, as of every pass that is not run yet
  EXPECT_NEAR(least_budget(), enough + kForetold, 0.02);
  EXPECT_EQ(names_of(race(enough + kForetold + 0.02)), names_of(options_.candidates));
}

TEST_F(StoredRaceTest, TooSmallABudgetSaysWhatOneSettingOfEachSchemeNeeds) {
  const double enough = least_budget();
  EXPECT_LT(enough, static_cast<double>(options_.candidates.size()));
  EXPECT_EQ(names_of(race(enough)), names_of(options_.candidates));
}

TEST_F(StoredRaceTest, AHopelessBudgetIsToldAfterOnePass) {
  std::set<std::string> ran;
  options_.budget = 3;
  EXPECT_THROW(run_race(model_, windows_, options_, *store_,
                        [&](const RaceProgress& now) { ran.insert(now.label); }),
               Error);
  EXPECT_EQ(ran.size(), 1u);
}

// Loss alone recommends nothing.
TEST_F(StoredRaceTest, NoBudgetIsSearchedWithBeforeACopyTest) {
  options_.search = 3;
  options_.copy_windows = 4;
  const double enough = least_budget();
  size_t searched = 0;
  for (const double times : {1.0, 1.2, 1.4, 1.5, 1.6, 1.7, 1.8, 2.0, 2.5}) {
    options_.budget = times * enough + 0.02;
    const std::vector<Candidate> raced = run_race(model_, windows_, options_, *store_, {});
    const bool found = std::ranges::any_of(
        raced, [](const Candidate& candidate) { return !candidate.found_by.empty(); });
    EXPECT_TRUE(!found || plan_.copy_windows > 0) << times << " of the least budget";
    searched += found;
  }
  EXPECT_GE(searched, 3u);
}

TEST_F(StoredRaceTest, WindowsThatAreHeldOutAreRunByWhatIsToldAlone) {
  options_.held_out = {3, 7};
  const std::vector<Candidate> candidates = run_race(model_, windows_, options_, *store_, {});
  EXPECT_EQ(plan_.held_out, options_.held_out);
  std::set<std::string> told;
  for (const Winner& winner : choose_winners(candidates)) {
    for (const auto& one : {std::optional(winner.index), winner.next, winner.grid})
      if (one) told.insert(candidates[*one].scheme);
  }
  size_t finalists = 0;
  for (const Candidate& candidate : candidates) {
    finalists += candidate.finalist;
    if (candidate.finalist) {
      EXPECT_EQ(candidate.windows, 6u);
    }
    const bool runs =
        told.contains(candidate.scheme) || candidate.truncates || candidate.scheme == "declared";
    EXPECT_EQ(candidate.held_out.tallies.beyond.size(), runs ? 2u : 0u) << candidate.scheme;
    EXPECT_EQ(candidate.held_out.beyond.has_value(), runs) << candidate.scheme;
  }
  EXPECT_GT(finalists, told.size());
}

TEST_F(StoredRaceTest, CandidatesThatWereNamedAllRunWhatIsHeldOut) {
  options_.held_out = {7};
  options_.halve = false;
  for (const Candidate& candidate : run_race(model_, windows_, options_, *store_, {}))
    EXPECT_EQ(candidate.held_out.tallies.beyond.size(), 1u) << candidate.scheme;
}

TEST_F(StoredRaceTest, ABudgetHasRoomForWhatIsHeldOut) {
  options_.held_out = {3, 7};
  for (const double budget : {150.0, 400.0}) {
    options_.budget = budget;
    double spent = 0;
    const std::vector<Candidate> candidates = run_race(model_, windows_, options_, *store_, {});
    for (const Candidate& candidate : candidates) spent += candidate.seconds;
    EXPECT_LE(spent, budget);
    EXPECT_FALSE(plan_.held_out.empty()) << budget;
    EXPECT_TRUE(candidates[choose_winners(candidates).front().index].held_out.beyond);
  }
  options_.budget = least_budget();
  run_race(model_, windows_, options_, *store_, {});
  EXPECT_TRUE(plan_.held_out.empty()) << "it goes before the last window that chooses";
}

// ---- settings that are all as good: what was chosen is flattered by the windows that chose it

constexpr double kTruth = 3;     // nats per token, of every setting on every text
constexpr double kSpread = 0.1;  // of what a window happens to say of a setting

class EqualSettings : public CellSource {
 public:
  EqualSettings(uint64_t study, size_t tokens) : study_(study), tokens_(tokens) {}

  Kept find_or_measure(const CellKey& key, const IsWhole& /*unused*/,
                       const Measure& /*unused*/) override {
    std::mt19937_64 generator(std::hash<std::string>{}(key.scheme) + 1000 * study_ +
                              static_cast<uint64_t>(key.window));
    std::normal_distribution<double> noise(0, kSpread);
    const double level = kTruth + (key.text == "plain" ? noise(generator) : 0);
    Kept kept{.cell = {.losses = std::vector<double>(tokens_ - 1, level), .seconds = 1}};
    for (double& loss : kept.cell.losses) loss += noise(generator);
    return kept;
  }

 private:
  uint64_t study_;
  size_t tokens_;
};

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double standard_error(const std::vector<double>& values) {
  double squares = 0;
  for (const double value : values) squares += std::pow(value - mean(values), 2);
  const auto n = static_cast<double>(values.size());
  return std::sqrt(squares / (n - 1) / n);
}

TEST_F(StoredRaceTest, FiguresOfWindowsThatAreHeldOutAreNotFlattered) {
  options_.held_out = {3, 7};
  options_.search = 4;
  std::vector<double> chosen;
  std::vector<double> held_out;
  std::vector<double> found;  // by the search
  for (uint64_t study = 0; study < 30; ++study) {
    EqualSettings cells(study, kTarget);
    const std::vector<Candidate> candidates = run_race(model_, windows_, options_, cells, {});
    const Winner overall = choose_winners(candidates).front();
    const Candidate& lowest = candidates[overall.lowest.value_or(overall.index)];
    ASSERT_TRUE(lowest.held_out.beyond);
    chosen.push_back(lowest.beyond->mean);
    held_out.push_back(lowest.held_out.beyond->mean);
    if (!lowest.found_by.empty()) found.push_back(lowest.held_out.beyond->mean);
  }
  EXPECT_LT(mean(chosen), kTruth - 5 * standard_error(chosen)) << "the winner's curse";
  EXPECT_LT(mean(chosen), kTruth - kSpread / 2);
  EXPECT_NEAR(mean(held_out), kTruth, 3 * standard_error(held_out));
  EXPECT_FALSE(found.empty()) << "some were found by the search";
}

// The study's losses are far below those of the model, so that nothing found comes near them.
TEST_F(StoredRaceTest, WhatTheSearchFindsWorseFallsOutAfterOneWindow) {
  options_.search = 6;
  std::set<std::string> told;
  options_.on_candidate = [&](const SchemeFacts& facts) { told.insert(facts.scheme); };
  size_t tried = 0;
  for (const Candidate& candidate : run_race(model_, windows_, options_, *store_, {})) {
    EXPECT_EQ(candidate.found_by.empty(), !told.contains(candidate.scheme)) << candidate.scheme;
    if (candidate.found_by.empty()) continue;
    ++tried;
    EXPECT_EQ(candidate.windows, 1u) << candidate.scheme;
    EXPECT_FALSE(candidate.finalist) << candidate.scheme;
  }
  EXPECT_EQ(tried, options_.search);
}

}  // namespace
}  // namespace ropewalk
