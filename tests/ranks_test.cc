// One study by several processes, as mpirun starts them: the environment alone makes a rank. Equal
// rows whatever their number, and whichever is killed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "ropewalk/formats/test_support.h"
#include "ropewalk/study/store.h"
#include "tests/process.h"

namespace ropewalk {
namespace {

namespace fs = std::filesystem;

class RanksTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string words;
    for (int k = 0; k < 900; ++k)
      words += "line " + std::to_string(k * 7919 % 1000) + " of a text that says nothing\n";
    folder_.write("text.txt", words);
  }

  std::vector<std::string> command(const std::string& study, const std::vector<std::string>& more,
                                   const std::string& target = "512") const {
    std::vector<std::string> all = {
        ROPEWALK_PROGRAM,
        "extend",
        std::string(ROPEWALK_SOURCE_DIR) + "/models/ropewalk-kjv-1m.gguf",
        "--to",
        target,
        "--text",
        path("text.txt"),
        "--windows",
        "3",
        "--copy-windows",
        "1",
        "--threads",
        "1",
        "--json",
        "--study",
        path(study)};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  // Of one rank; -1: of a run alone.
  std::string out(const std::string& study, int rank) const {
    return path(study + "." + std::to_string(rank) + ".out");
  }
  std::string errors(const std::string& study, int rank) const {
    return path(study + "." + std::to_string(rank) + ".err");
  }

  static std::map<std::string, std::string> environment(int rank, int size,
                                                        const std::string& job) {
    return {{"OMPI_COMM_WORLD_RANK", std::to_string(rank)},
            {"OMPI_COMM_WORLD_SIZE", std::to_string(size)},
            {"OMPI_COMM_WORLD_LOCAL_SIZE", std::to_string(size)},
            {"PMIX_NAMESPACE", job}};
  }

  void run_alone(const std::string& study, const std::vector<std::string>& more = {}) const {
    ASSERT_EQ(Process(command(study, more), out(study, -1), errors(study, -1)).wait(), 0)
        << contents(errors(study, -1));
  }

  std::deque<Process> start(const std::string& study, int size, const std::string& job,
                            const std::vector<std::string>& more = {},
                            const std::string& target = "512") const {
    std::deque<Process> ranks;
    for (int rank = 0; rank < size; ++rank) {
      ranks.emplace_back(command(study, more, target), out(study, rank), errors(study, rank),
                         environment(rank, size, job));
    }
    return ranks;
  }

  // Waits for so many finished cells.
  void await_cells(const std::string& study, size_t count, std::deque<Process>& ranks) const {
    const auto cells = [&] {
      std::error_code none;
      const fs::directory_iterator files(path(study + "-ranks"), none);
      return static_cast<size_t>(std::count_if(begin(files), end(files), [](const auto& file) {
        return file.path().extension() == ".cell";
      }));
    };
    while (cells() < count) {
      ASSERT_TRUE(std::any_of(ranks.begin(), ranks.end(), [](Process& one) {
        return one.running();
      })) << "ended before it was killed";
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  // What may not depend on who ran it: the answer without "run".
  std::string lasting(const std::string& file) const {
    auto json = nlohmann::ordered_json::parse(contents(file), nullptr, false);
    EXPECT_TRUE(json.is_object() && json.contains("run")) << file << ": " << contents(file);
    if (json.is_object()) json.erase("run");
    return json.dump(1);
  }

  // Keys and losses to the last bit; seconds are measurements.
  std::map<CellKey, std::vector<double>> rows(const std::string& study) const {
    std::map<CellKey, std::vector<double>> rows;
    for (const auto& [key, cell] : read_study(path(study)).cells) rows[key] = cell.losses;
    return rows;
  }

  void expect_as_alone(const std::string& study, const std::string& answer) const {
    EXPECT_EQ(lasting(answer), lasting(out("alone.db", -1)));
    EXPECT_TRUE(rows(study) == rows("alone.db"));
    EXPECT_FALSE(fs::exists(path(study + "-ranks"))) << "nothing is left beside the study";
    EXPECT_FALSE(fs::exists(path(study + "-lock")));
  }

  const TempDirectory folder_;
};

TEST_F(RanksTest, AnswerAsOneDoes) {
  const std::vector<std::string> more = {"--search", "5"};
  run_alone("alone.db", more);
  std::deque<Process> ranks = start("study.db", 3, "1", more);
  for (Process& rank : ranks) EXPECT_EQ(rank.wait(), 0);
  expect_as_alone("study.db", out("study.db", 0));
  const auto run = nlohmann::json::parse(contents(out("study.db", 0)))["run"];
  EXPECT_EQ(run["ranks"], 3);
  EXPECT_FALSE(nlohmann::json::parse(contents(out("alone.db", -1)))["run"].contains("ranks"));
  for (const int rank : {1, 2}) {
    EXPECT_EQ(contents(out("study.db", rank)), "");
    EXPECT_EQ(contents(errors("study.db", rank)), "");
  }
}

TEST_F(RanksTest, OneThatIsKilledCostsItsCellAlone) {
  run_alone("alone.db");
  for (const int killed : {1, 0}) {
    const std::string study = "killed-" + std::to_string(killed) + ".db";
    std::deque<Process> ranks = start(study, 3, study);
    await_cells(study, 20, ranks);
    ranks[static_cast<size_t>(killed)].kill_now();
    for (int rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(ranks[static_cast<size_t>(rank)].wait(), rank == killed ? -1 : 0)
          << rank << ": " << contents(errors(study, rank));
    }
    const bool second = killed == 0 && contents(out(study, 1)).empty();
    expect_as_alone(study, out(study, killed == 1 ? 0 : second ? 2 : 1));
    if (killed == 0) {
      EXPECT_EQ(contents(out(study, second ? 1 : 2)), "") << "one answers";
    }
  }
}

TEST_F(RanksTest, AKilledJobIsGoneOnWithByFewerAndAlone) {
  run_alone("alone.db");
  std::deque<Process> three = start("study.db", 3, "first");
  await_cells("study.db", 15, three);
  three.clear();  // kills them
  std::deque<Process> two = start("study.db", 2, "second");
  await_cells("study.db", 40, two);
  two.clear();
  run_alone("study.db");
  expect_as_alone("study.db", out("study.db", -1));
  size_t resumed = 0;
  const auto json = nlohmann::json::parse(contents(out("study.db", -1)));
  for (const auto& candidate : json["run"]["candidates"])
    resumed += candidate["resumed_cells"].get<size_t>();
  EXPECT_GE(resumed, 30u);
}

TEST_F(RanksTest, ABudgetIsOfAllTheirPassesAndDecidedOnAlike) {
  std::deque<Process> ranks = start("study.db", 2, "1", {"--budget", "2h", "--search", "2"});
  for (Process& rank : ranks) EXPECT_EQ(rank.wait(), 0);
  run_alone("alone.db", {"--search", "2"});
  expect_as_alone("study.db", out("study.db", 0));
  // Gone on with alone, by the times that the ranks measured.
  run_alone("study.db", {"--budget", "2h", "--search", "2"});
  EXPECT_EQ(lasting(out("study.db", -1)), lasting(out("study.db", 0)));
}

TEST_F(RanksTest, AnotherJobOnTheStudyIsRefusedByName) {
  std::deque<Process> first = start("study.db", 2, "1", {"--search", "400"}, "4096");
  await_cells("study.db", 5, first);
  std::deque<Process> second;
  for (int rank = 0; rank < 2; ++rank) {
    second.emplace_back(command("study.db", {}, "4096"), path("second.out"), errors("second", rank),
                        environment(rank, 2, "2"));
  }
  Process alone(command("study.db", {}, "4096"), path("second.out"), errors("second", 2));
  EXPECT_EQ(alone.wait(), 1);
  for (Process& rank : second) EXPECT_EQ(rank.wait(), 1);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_NE(contents(errors("second", rank)).find("held by a living process"), std::string::npos)
        << contents(errors("second", rank));
  }
  for (Process& rank : first) EXPECT_TRUE(rank.running());
}

TEST_F(RanksTest, AnEnvironmentThatCannotBeIsRefusedByName) {
  Process rank(command("study.db", {}), out("study.db", 2), errors("study.db", 2),
               environment(2, 2, "1"));
  EXPECT_EQ(rank.wait(), 1);
  EXPECT_NE(contents(errors("study.db", 2)).find("OMPI_COMM_WORLD_RANK: must be a whole number"),
            std::string::npos)
      << contents(errors("study.db", 2));
  EXPECT_FALSE(fs::exists(path("study.db")));
}

}  // namespace
}  // namespace ropewalk
