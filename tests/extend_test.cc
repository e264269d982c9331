// `ropewalk extend` as its user meets it: killed and started again, twice at once, and what it
// prints.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/process.h"

namespace ropewalk {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr const char* kTarget = "512";

// What must be equal between equal runs, as text.
std::string lasting(const fs::path& path) {
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(contents(path));
  EXPECT_TRUE(json.contains("run"));
  json.erase("run");
  return json.dump(1);
}

class ExtendTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("ropewalk-extend-" + std::to_string(getpid()));
    fs::create_directories(folder_);
    std::ofstream text(folder_ / "text.txt");
    for (int k = 0; k < 700; ++k)
      text << "line " << k * 7919 % 1000 << " of a text that says nothing\n";
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::vector<std::string> command(const std::string& study,
                                   const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {
        ROPEWALK_PROGRAM,
        "extend",
        std::string(ROPEWALK_SOURCE_DIR) + "/tests/fixtures/tiny_llama.gguf",
        "--to",
        kTarget,
        "--text",
        (folder_ / "text.txt").string(),
        "--windows",
        "3",
        "--study",
        (folder_ / study).string(),
        "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  int run(const std::string& study, const std::string& out,
          const std::vector<std::string>& more = {}) const {
    return Process(command(study, more), folder_ / out, folder_ / "error").wait();
  }

  // Bytes that the study has by now.
  uintmax_t stored(const std::string& study) const {
    std::error_code none;
    const uintmax_t size = fs::file_size(folder_ / study, none);
    return none ? 0 : size;
  }

  fs::path folder_;
};

TEST_F(ExtendTest, KilledAtTwentyMomentsItEndsWithTheSameAnswer) {
  const auto start = Clock::now();
  ASSERT_EQ(run("whole.db", "whole.json"), 0) << contents(folder_ / "error");
  const auto whole = Clock::now() - start;

  // Each run goes on where the last was killed, so the moments spread over the whole study. A few
  // passes are waited for: how long a start takes beside them differs between machines.
  constexpr int kKills = 20;
  constexpr uintmax_t kFewPasses = 16384;  // bytes of the study
  int killed = 0;
  for (int k = 0; k < kKills; ++k) {
    const uintmax_t before = stored("killed.db");
    Process process(command("killed.db"), folder_ / "killed.json", folder_ / "error");
    while (process.running() && stored("killed.db") < before + kFewPasses)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(whole / kKills * (k % 4) / 8);
    killed += process.running() ? 1 : 0;
    process.kill_now();
  }
  EXPECT_GE(killed, kKills / 2) << "most kills must hit a running study";
  ASSERT_EQ(run("killed.db", "killed.json"), 0) << contents(folder_ / "error");
  EXPECT_EQ(lasting(folder_ / "killed.json"), lasting(folder_ / "whole.json"));
  const auto json = nlohmann::json::parse(contents(folder_ / "killed.json"));
  size_t resumed = 0;
  for (const auto& candidate : json["run"]["candidates"])
    resumed += candidate["resumed_cells"].get<size_t>();
  EXPECT_GT(resumed, 0u);
}

TEST_F(ExtendTest, ThreadsAndPathsChangeNothing) {
  ASSERT_EQ(run("one.db", "one.json",
                {"--threads", "1", "--scheme", "cap,window=16", "--scheme", "dynamic_ntk"}),
            0);
  ASSERT_EQ(run("three.db", "three.json",
                {"--threads", "3", "--scheme", "cap,window=16", "--scheme", "dynamic_ntk"}),
            0);
  EXPECT_EQ(lasting(folder_ / "one.json"), lasting(folder_ / "three.json"));
}

TEST_F(ExtendTest, ASecondOneOnTheSameStudyIsRefusedByName) {
  Process first(command("held.db"), folder_ / "first.json", folder_ / "first-error");
  while (first.running() && !fs::exists(folder_ / "held.db"))
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  const int second = run("held.db", "second.json");
  if (first.running()) {
    EXPECT_EQ(second, 1);
    EXPECT_NE(contents(folder_ / "error").find("held by a living process"), std::string::npos)
        << contents(folder_ / "error");
  }
  EXPECT_EQ(first.wait(), 0);
}

TEST_F(ExtendTest, AStudyOfAnotherTextIsRefused) {
  const std::vector<std::string> few = {"--scheme", "cap,window=16"};
  ASSERT_EQ(run("study.db", "a.json", few), 0);
  std::ofstream(folder_ / "text.txt") << std::string(8000, 'x') << "\n";
  EXPECT_EQ(run("study.db", "b.json", few), 1);
  EXPECT_NE(contents(folder_ / "error").find("another text"), std::string::npos)
      << contents(folder_ / "error");
}

TEST_F(ExtendTest, AsManyWindowsAreHeldOutAsAreAskedFor) {
  std::vector<std::string> words = {"--scheme", "cap,window=16", "--held-out", "0"};
  ASSERT_EQ(run("study.db", "out.json", words), 0) << contents(folder_ / "error");
  const auto none = nlohmann::json::parse(contents(folder_ / "out.json"));
  EXPECT_EQ(none["held_out_windows"], 0);
  const std::string why = none["why"].dump();
  EXPECT_NE(why.find("Doubt: no window is held out"), why.npos) << why;
  words.back() = "2";
  ASSERT_EQ(run("study.db", "out.json", words), 0) << contents(folder_ / "error");
  const auto two = nlohmann::json::parse(contents(folder_ / "out.json"));
  for (const auto& candidate : two["candidates"]) {
    EXPECT_EQ(candidate["windows"], 1);
    EXPECT_EQ(candidate["held_out"]["windows"], 2) << "those that are named run everything";
  }
  words.back() = "3";
  EXPECT_EQ(run("study.db", "out.json", words), 1);
  EXPECT_NE(contents(folder_ / "error").find("must leave one to choose by, of 3"),
            std::string::npos)
      << contents(folder_ / "error");
}

TEST_F(ExtendTest, PrintsWhatIsPromised) {
  ASSERT_EQ(run("study.db", "out.json"), 0);
  const auto json = nlohmann::json::parse(contents(folder_ / "out.json"));
  for (const char* key : {"model", "trained_length", "target_length", "candidates", "best_portable",
                          "best_overall", "best_untouched", "winners", "why", "run"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_EQ(json["winners"].size(), 3u);
  for (const auto& winner : json["winners"]) {
    for (const char* key :
         {"as", "scheme", "next_best", "lead", "lead_interval", "doubts", "run_with"})
      EXPECT_TRUE(winner.contains(key)) << key;
    EXPECT_FALSE(winner["run_with"].empty());
  }
  EXPECT_EQ(json["held_out_windows"], 1) << "of three";
  for (const auto& candidate : json["candidates"]) {
    if (candidate["finalist"]) {
      EXPECT_EQ(candidate["windows"], 2) << candidate["scheme"];
    }
    const auto& winners = json["winners"];
    const bool is_told = std::any_of(winners.begin(), winners.end(), [&](const auto& winner) {
      return winner["scheme"] == candidate["scheme"] || winner["next_best"] == candidate["scheme"];
    });
    if (is_told) {
      EXPECT_EQ(candidate["held_out"]["windows"], 1) << candidate["scheme"];
      EXPECT_TRUE(candidate["held_out"]["beyond"].is_number()) << candidate["scheme"];
    }
  }
  const auto& bias = json["bias_curve"];
  EXPECT_EQ(bias["heads"], 8);
  EXPECT_FALSE(bias["proposed"].empty());
  EXPECT_TRUE(bias["measured_beyond"].contains("declared"));
  for (const auto& scheme : bias["proposed"])  // each has raced
    EXPECT_TRUE(bias["measured_beyond"].contains(scheme.get<std::string>())) << scheme;
  bool window = false;
  bool sinks = false;
  bool declared = false;
  for (const auto& candidate : json["candidates"]) {
    for (const char* key :
         {"scheme", "portable", "inside", "beyond", "copy_inside", "copy_beyond", "intervals"}) {
      EXPECT_TRUE(candidate.contains(key)) << key;
    }
    const std::string scheme = candidate["scheme"];
    window = window || (scheme.starts_with("window,") && candidate["finalist"]);
    sinks = sinks || (scheme.starts_with("sinks,") && candidate["finalist"]);
    declared = declared || (scheme == "declared" && candidate["finalist"]);
  }
  EXPECT_TRUE(window && sinks && declared);
}

// Few enough to know that the least of them takes a while.
const std::vector<std::string> kThree = {"--scheme", "cap,window=16", "--scheme", "yarn,factor=4"};

std::vector<std::string> with_budget(const std::string& budget) {
  std::vector<std::string> words = kThree;
  words.insert(words.end(), {"--budget", budget});
  return words;
}

TEST_F(ExtendTest, ABudgetThatIsTooSmallIsRefusedWithWhatIsNeeded) {
  EXPECT_EQ(run("study.db", "out.json", with_budget("0.00001s")), 1);
  const std::string said = contents(folder_ / "error");
  EXPECT_NE(said.find("budget: must be at least "), std::string::npos) << said;
  EXPECT_NE(said.find("one window under each of 5 candidates"), std::string::npos) << said;
  EXPECT_NE(run("study.db", "out.json", with_budget("20")), 0) << "without a unit";
}

TEST_F(ExtendTest, ALargeBudgetLeavesNothingOut) {
  ASSERT_EQ(run("whole.db", "whole.json", kThree), 0);
  ASSERT_EQ(run("budget.db", "budget.json", with_budget("2h")), 0);
  EXPECT_EQ(lasting(folder_ / "budget.json"), lasting(folder_ / "whole.json"));
}

TEST_F(ExtendTest, ASmallBudgetIsKeptAndResumedToTheSameAnswer) {
  ASSERT_EQ(run("whole.db", "whole.json", kThree), 0);
  double seconds = 0;
  const auto whole = nlohmann::json::parse(contents(folder_ / "whole.json"));
  for (const auto& candidate : whole["run"]["candidates"])
    seconds += candidate["seconds"].get<double>();
  const std::string half = std::to_string(seconds / 2) + "s";
  ASSERT_EQ(run("whole.db", "first.json", with_budget(half)), 0) << contents(folder_ / "error");
  const auto first = nlohmann::json::parse(contents(folder_ / "first.json"));
  EXPECT_NE(first["left_out"], nullptr);
  double spent = 0;
  for (const auto& candidate : first["run"]["candidates"])
    spent += candidate["seconds"].get<double>();
  EXPECT_LE(spent, 0.75 * seconds) << "passes of a millisecond differ by much";
  for (const auto& candidate : first["candidates"]) EXPECT_TRUE(candidate["finalist"]);
  ASSERT_EQ(run("whole.db", "second.json", with_budget(half)), 0);
  EXPECT_EQ(lasting(folder_ / "second.json"), lasting(folder_ / "first.json"));
}

// ---- the search past the grid

std::vector<std::string> with_search(const std::string& most) {
  std::vector<std::string> words = kThree;
  words.insert(words.end(), {"--search", most});
  return words;
}

size_t resumed_cells(const nlohmann::json& json) {
  size_t cells = 0;
  for (const auto& candidate : json["run"]["candidates"])
    cells += candidate["resumed_cells"].get<size_t>();
  return cells;
}

TEST_F(ExtendTest, TheSearchTriesNoMoreThanItIsAllowedAndSaysWhatItFound) {
  ASSERT_EQ(run("none.db", "none.json", kThree), 0) << contents(folder_ / "error");
  ASSERT_EQ(run("study.db", "out.json", with_search("7")), 0) << contents(folder_ / "error");
  const auto none = nlohmann::json::parse(contents(folder_ / "none.json"));
  const auto json = nlohmann::json::parse(contents(folder_ / "out.json"));
  EXPECT_EQ(none["search"]["tried"], 0);
  EXPECT_EQ(json["search"]["tried"], 7);
  EXPECT_EQ(json["candidates"].size(), none["candidates"].size() + 7);
  bool has_factors = false;
  for (const auto& candidate : json["candidates"]) {
    if (candidate["found_by_search"].is_null()) continue;
    const std::string found_by = candidate["found_by_search"];
    EXPECT_TRUE(candidate["finalist"] || candidate["windows"] == 1) << candidate["scheme"];
    if (!found_by.starts_with("pair factors, critical pair ")) continue;
    has_factors = true;
    EXPECT_TRUE(candidate["scheme"].get<std::string>().starts_with("longrope,long="));
    EXPECT_TRUE(candidate["portable"]) << candidate["scheme"];
  }
  EXPECT_TRUE(has_factors);
}

TEST_F(ExtendTest, TheSearchAnswersAsBeforeAfterAKillAndUnderOtherThreads) {
  std::vector<std::string> words = with_search("9");
  ASSERT_EQ(run("whole.db", "whole.json", words), 0) << contents(folder_ / "error");
  words.insert(words.end(), {"--threads", "3"});
  const auto whole = static_cast<double>(stored("whole.db"));
  int killed = 0;
  for (const double share : {0.3, 0.7, 0.9}) {  // the search comes last
    Process process(command("killed.db", words), folder_ / "killed.json", folder_ / "error");
    while (process.running() && static_cast<double>(stored("killed.db")) < share * whole)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    killed += process.running() ? 1 : 0;
    process.kill_now();
  }
  EXPECT_GE(killed, 2) << "most kills must hit a running study";
  ASSERT_EQ(run("killed.db", "killed.json", words), 0) << contents(folder_ / "error");
  EXPECT_EQ(lasting(folder_ / "killed.json"), lasting(folder_ / "whole.json"));
}

TEST_F(ExtendTest, TheBundledModelIsSearchedWithinABudgetAndResumedToTheSameAnswer) {
  const std::string model = std::string(ROPEWALK_SOURCE_DIR) + "/models/ropewalk-kjv-1m.gguf";
  const auto run_it = [&](const std::string& study, const std::string& out,
                          const std::vector<std::string>& more) {
    std::vector<std::string> words = command(study, kThree);
    words[2] = model;
    words.insert(words.end(), {"--copy-windows", "1"});
    words.insert(words.end(), more.begin(), more.end());
    return Process(words, folder_ / out, folder_ / "error").wait();
  };
  ASSERT_EQ(run_it("race.db", "race.json", {}), 0) << contents(folder_ / "error");
  const auto alone = nlohmann::json::parse(contents(folder_ / "race.json"));
  double race = 0;
  for (const auto& candidate : alone["run"]["candidates"])
    race += candidate["seconds"].get<double>();
  const double budget = 4 * race;
  const std::vector<std::string> searched = {"--budget", std::to_string(budget) + "s", "--search",
                                             "6"};
  ASSERT_EQ(run_it("study.db", "first.json", searched), 0) << contents(folder_ / "error");
  const auto first = nlohmann::json::parse(contents(folder_ / "first.json"));
  EXPECT_GE(first["search"]["tried"], 1);
  EXPECT_LE(first["search"]["tried"], 6);
  EXPECT_EQ(resumed_cells(first), 0u);
  double spent = 0;
  for (const auto& candidate : first["run"]["candidates"])
    spent += candidate["seconds"].get<double>();
  EXPECT_LE(spent, 1.5 * budget) << "passes of a moment differ by much";

  ASSERT_EQ(run_it("study.db", "second.json", searched), 0) << contents(folder_ / "error");
  EXPECT_EQ(lasting(folder_ / "second.json"), lasting(folder_ / "first.json"));
  EXPECT_GT(resumed_cells(nlohmann::json::parse(contents(folder_ / "second.json"))), 0u);
}

// ---- what settings are told by

TEST_F(ExtendTest, PublishedOrderingsStandBesideThePairsThatWereMeasured) {
  ASSERT_EQ(
      run("study.db", "out.json", {"--scheme", "linear,factor=4", "--scheme", "yarn,factor=4"}), 0)
      << contents(folder_ / "error");
  const auto json = nlohmann::json::parse(contents(folder_ / "out.json"));
  ASSERT_FALSE(json["calibration"].empty());
  for (const auto& ordering : json["calibration"]) {
    EXPECT_EQ(ordering["stretch"], 4);
    EXPECT_EQ(ordering["same_model"], false);
    EXPECT_FALSE(ordering["source"].get<std::string>().empty());
    for (const auto& pair : ordering["pairs"]) EXPECT_NE(pair["better"], pair["worse"]);
  }
}

// ---- public reports, by the codes of the collection that this project was given

TEST_F(ExtendTest, EXT_09_WhatIsNotAppliedIsToldFromWhatActs) {
  ASSERT_EQ(run("study.db", "out.json", {"--scheme", "rope", "--scheme", "linear,factor=4"}), 0)
      << contents(folder_ / "error");
  const auto json = nlohmann::json::parse(contents(folder_ / "out.json"));
  for (const auto& candidate : json["candidates"]) {
    const std::string shape = candidate["past_trained_length"]["shape"];
    EXPECT_EQ(shape == "as declared", candidate["scheme"] == "rope") << candidate["scheme"];
  }
  for (const std::string sentence : json["why"])
    EXPECT_EQ(sentence.find("rope ("), sentence.npos) << "it is what the file declares";
}

}  // namespace
}  // namespace ropewalk
