// `ropewalk report` and `merge-study` as their users meet them: from a study's file alone.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ropewalk/study/merge.h"
#include "tests/run_command.h"

namespace ropewalk {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class ReportTest : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    if (IsSkipped()) return;
    std::string text;
    for (int k = 0; k < 700; ++k)
      text += "line " + std::to_string(k * 7919 % 1000) + " of a text that says nothing\n";
    text_ = file("text.txt", text);
  }

  RunResult extend(const std::string& study, const std::vector<std::string>& more) const {
    std::vector<std::string> words = {
        "extend",    std::string(ROPEWALK_SOURCE_DIR) + "/tests/fixtures/tiny_llama.gguf",
        "--to",      "512",
        "--text",    text_,
        "--threads", "1",
        "--study",   path(study)};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }

  Json report_json(const std::string& study) const {
    const RunResult result = run({"report", path(study), "--json", path("out.json")});
    EXPECT_EQ(result.status, 0) << result.err;
    return Json::parse(read_file(path("out.json")));
  }

  std::string text_;
};

const std::vector<std::string> kFew = {"--windows", "2", "--scheme", "cap,window=16"};

TEST_F(ReportTest, TheFileAloneSaysWhatExtendSaid) {
  const RunResult extended = extend("a.db", {"--windows", "3", "--json"});
  ASSERT_EQ(extended.status, 0) << extended.err;
  const Json said = Json::parse(extended.out);
  fs::remove(text_);
  fs::create_directories(path("elsewhere"));
  fs::rename(path("a.db"), path("elsewhere/b.db"));
  const Json json = report_json("elsewhere/b.db");
  const Json& rows = json.at("tables").at("ranking").at("rows");
  ASSERT_EQ(rows.size(), said.at("candidates").size());
  for (size_t k = 0; k < rows.size(); ++k) {
    const Json& candidate = said.at("candidates")[k];
    EXPECT_EQ(rows[k].at("scheme"), candidate.at("scheme"));
    for (const char* name : {"inside", "beyond", "inside_cost", "copy_inside", "copy_beyond"})
      EXPECT_EQ(rows[k].at(name), candidate.at(name)) << candidate.at("scheme") << " " << name;
    EXPECT_EQ(rows[k].at("number").is_null(), !candidate.at("finalist").get<bool>());
    const Json& held_out = candidate.at("held_out");
    EXPECT_EQ(rows[k].at("held_out"), held_out.is_null() ? Json() : held_out.at("beyond"));
  }
  std::vector<std::string> sentences;
  for (const char* part : {"paragraphs", "cautions"}) {
    for (const Json& sentence : json.at("sections")[0].at(part)) sentences.push_back(sentence);
  }
  for (const Json& why : said.at("why"))
    EXPECT_THAT(sentences, testing::Contains(why.get<std::string>()));
  for (const char* table : {"winners", "loss_by_position", "copy_gain", "cost", "bands", "spectrum",
                            "effective_distance", "facts", "windows", "passes"}) {
    EXPECT_FALSE(json.at("tables").at(table).at("rows").empty()) << table;
  }
  EXPECT_THAT(json.dump(), Not(HasSubstr(folder()))) << "no path of this machine";
}

TEST_F(ReportTest, WritesAPageTablesAndSpecifications) {
  ASSERT_EQ(extend("a.db", kFew).status, 0);
  const std::string before = read_file(path("a.db"));
  const RunResult result =
      run({"report", path("a.db"), "-o", path("page.html"), "--csv", path("numbers")});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(read_file(path("a.db")), before) << "the study is left as it is";
  const std::string page = read_file(path("page.html"));
  EXPECT_THAT(page, HasSubstr("<h2>Recommendation</h2>"));
  EXPECT_THAT(page, HasSubstr("cap,<wbr>window=16"));
  EXPECT_THAT(read_file(path("numbers/ranking.csv")), HasSubstr("\"cap,window=16\""));
  const Json spec = Json::parse(read_file(path("numbers/loss.vl.json")));
  EXPECT_FALSE(spec.at("data").at("values").empty());
}

TEST_F(ReportTest, TheTerminalShowsCurvesTablesAndWords) {
  const RunResult extended = extend("a.db", kFew);
  EXPECT_THAT(extended.out, HasSubstr("ropewalk report " + path("a.db") + " -o report.html"));
  const RunResult result = run({"report", path("a.db")});
  EXPECT_EQ(result.status, 0) << result.err;
  for (const char* part :
       {"\u2502", "\u2588", "Best overall", "cap,window=16", "Pairs in each band"})
    EXPECT_THAT(result.out, HasSubstr(part));
}

// Only commands are longer than the lines.
TEST_F(ReportTest, TheTerminalsPageIsAsWideAsAsked) {
  ASSERT_EQ(extend("a.db", {"--windows", "2", "--search", "2"}).status, 0);
  for (const size_t width : {72, 80, 120}) {
    const RunResult result = run({"report", path("a.db"), "--width", std::to_string(width)});
    EXPECT_EQ(result.status, 0) << result.err;
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);) {
      const auto characters =
          std::ranges::count_if(line, [](char c) { return (c & '\xc0') != '\x80'; });
      const bool is_command = line.starts_with("  llama.cpp ") || line.starts_with("  vllm ") ||
                              line.starts_with("  transformers ") ||
                              line.starts_with("  Ropewalk only ") || line.starts_with("To run ");
      if (is_command) continue;
      EXPECT_LE(characters, width) << line;
    }
  }
  EXPECT_EQ(run({"report", path("a.db"), "--width", "20"}).status, 2);
}

TEST_F(ReportTest, WhatWasSearchedForStandsBesideTheGrid) {
  ASSERT_EQ(extend("a.db", {"--windows", "2", "--search", "2"}).status, 0);
  const Json json = report_json("a.db");
  size_t searched = 0;
  for (const Json& row : json.at("tables").at("search").at("rows")) {
    searched += row.at("from") == "search";
    EXPECT_EQ(row.at("from") == "search", !row.at("found_by").is_null());
    EXPECT_TRUE(row.at("from") == "search" || !row.at("number").is_null());
  }
  EXPECT_GE(searched, 1u);
  EXPECT_FALSE(json.at("pictures").at("search").at("data").at("values").empty());
  EXPECT_THAT(run({"report", path("a.db")}).out, HasSubstr("Search past the grid"));
  ASSERT_EQ(extend("b.db", kFew).status, 0);
  EXPECT_FALSE(report_json("b.db").at("tables").contains("search"));
}

TEST_F(ReportTest, OneWindowOneCandidateAndNoCopyTestAreSaid) {
  ASSERT_EQ(
      extend("a.db", {"--windows", "1", "--scheme", "declared", "--copy-windows", "0"}).status, 0);
  EXPECT_EQ(run({"report", path("a.db"), "-o", path("page.html")}).status, 0);
  const std::string page = read_file(path("page.html"));
  EXPECT_THAT(page, HasSubstr("No copy test was run"));
  EXPECT_THAT(page, HasSubstr("There is one window to choose by"));
  const RunResult result = run({"report", path("a.db")});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("No copy test was run"));
  EXPECT_THAT(page, HasSubstr("there is one window, so that none is held out"));
}

// Killed in the middle, it says what there is; run on, it says the whole.
TEST_F(ReportTest, AStudyThatWasKilledIsReportedAndGoesOn) {
  const std::string line = quoted_line(
      kProgram,
      {"extend", std::string(ROPEWALK_SOURCE_DIR) + "/tests/fixtures/tiny_llama.gguf", "--to",
       "512", "--text", text_, "--threads", "1", "--windows", "3", "--study", path("a.db")});
  run_line("timeout -s KILL 1 " + line + " >/dev/null 2>&1");
  if (!fs::exists(path("a.db"))) GTEST_SKIP() << "the machine was too slow to begin in a second";
  const RunResult partly = run({"report", path("a.db")});
  if (partly.status == 0) {
    EXPECT_THAT(partly.out, testing::AnyOf(HasSubstr("Not finished"), HasSubstr("Best overall")));
  } else {
    EXPECT_THAT(partly.err, testing::AnyOf(HasSubstr("run on"), HasSubstr("once more")));
  }
  ASSERT_EQ(extend("a.db", {"--windows", "3"}).status, 0);
  const RunResult whole = run({"report", path("a.db")});
  EXPECT_EQ(whole.status, 0) << whole.err;
  EXPECT_THAT(whole.out, Not(HasSubstr("Not finished")));
}

TEST_F(ReportTest, MergedStudiesSayWhatOneWouldHave) {
  const std::vector<std::string> all = {"--windows",     "2",        "--scheme",
                                        "cap,window=16", "--scheme", "base,factor=4"};
  ASSERT_EQ(extend("all.db", all).status, 0);
  ASSERT_EQ(extend("a.db", kFew).status, 0);
  ASSERT_EQ(extend("b.db", {"--windows", "2", "--scheme", "base,factor=4"}).status, 0);
  const RunResult result = run({"merge-study", path("a.db"), path("b.db"), "-o", path("c.db")});
  EXPECT_EQ(result.status, 0) << result.err;
  const auto numbers = [](Json json) {
    Json rows = json.at("tables").at("ranking").at("rows");
    for (Json& row : rows) {
      row.erase("speed");
      row.erase("seconds");
    }
    return rows;
  };
  EXPECT_EQ(numbers(report_json("c.db")), numbers(report_json("all.db")));
  // It is a study like any other: nothing is measured again.
  const RunResult again = extend("c.db", [&] {
    std::vector<std::string> words = all;
    words.push_back("--json");
    return words;
  }());
  ASSERT_EQ(again.status, 0) << again.err;
  const Json run_part = Json::parse(again.out).at("run");
  for (const Json& candidate : run_part.at("candidates"))
    EXPECT_GT(candidate.at("resumed_cells").get<int>(), 1) << candidate;
  EXPECT_EQ(run({"merge-study", path("a.db"), path("b.db"), "-o", path("c.db")}).status, 1)
      << "a name that is taken";
}

TEST_F(ReportTest, StudiesOfDifferentTextsAreNotMerged) {
  ASSERT_EQ(extend("a.db", kFew).status, 0);
  std::ofstream(text_) << std::string(9000, 'x') << "\n";
  ASSERT_EQ(extend("b.db", kFew).status, 0);
  const RunResult result = run({"merge-study", path("a.db"), path("b.db"), "-o", path("c.db")});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("of another text"));
  EXPECT_FALSE(fs::exists(path("c.db")));
}

TEST_F(ReportTest, WhatIsNoStudyIsRefused) {
  EXPECT_THAT(run({"report", path("none.db")}).err, HasSubstr("must be a study"));
  EXPECT_FALSE(fs::exists(path("none.db")));
  EXPECT_THAT(run({"report", file("letter", std::string(200, 'a'))}).err,
              HasSubstr("must be a study"));
  EXPECT_THAT(run({"report", file("empty", "")}).err, HasSubstr("must be a study"));
  ASSERT_EQ(extend("a.db", kFew).status, 0);
  EXPECT_EQ(run({"report", path("a.db"), "-o", path("a.db")}).status, 1);
  StudyContents study = read_study(path("a.db"));
  for (const std::string name : {"ranking", "windows", "passes"}) {
    study.records["table/ranking"] =
        R"({"name":")" + name +
        R"(","title":"Mine","about":"","columns":[{"name":"a","title":"a"}],"rows":[]})";
    write_study(study, path(name + ".db"));
    const RunResult result = run({"report", path(name + ".db"), "--json", path("out.json")});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, HasSubstr("table/ranking: must not have the name of another table"));
  }
  EXPECT_THAT(run({"report", path("a.db")}).out, HasSubstr("Best overall")) << "it is still there";
}

// Of another hand, or another version.
TEST_F(ReportTest, ATableWithoutItsUsualColumnsIsNoFault) {
  ASSERT_EQ(extend("a.db", kFew).status, 0);
  StudyContents study = read_study(path("a.db"));
  const auto reported = [&](const std::string& columns, const std::string& row) {
    study.records["table/bias_curve"] =
        R"({"name":"bias_curve","title":"Bias curve","about":"","columns":[)" + columns +
        R"(],"rows":[)" + row + "]}";
    fs::remove(path("b.db"));
    write_study(study, path("b.db"));
    return run({"report", path("b.db")});
  };
  const std::string curve = R"({"name":"curve","title":"curve"})";
  const std::string distance = R"({"name":"distance","title":"distance"})";
  const std::string bias = R"({"name":"bias","title":"bias"})";
  const RunResult whole =
      reported(curve + "," + distance + "," + bias, R"({"curve":"a","distance":1,"bias":0.5})");
  EXPECT_EQ(whole.status, 0) << whole.err;
  EXPECT_THAT(whole.out, HasSubstr("Bias curve"));
  for (const auto& [columns, row] : std::vector<std::pair<std::string, std::string>>{
           {curve + "," + bias, R"({"curve":"a","bias":0.5})"},
           {curve + "," + distance, R"({"curve":"a","distance":1})"},
           {distance + "," + bias, R"({"distance":1,"bias":0.5})"}}) {
    const RunResult without = reported(columns, row);
    EXPECT_EQ(without.status, 0) << without.err;
    EXPECT_THAT(without.out, HasSubstr("Best overall"));
  }
}

}  // namespace
}  // namespace ropewalk
