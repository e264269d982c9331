// `ropewalk recall` and `ropewalk perplexity` as their user meets them.
#include <algorithm>
#include <cmath>

#include "ropewalk/config/test_support.h"
#include "ropewalk/engine/test_support.h"
#include "ropewalk/testing/exact_values.h"
#include "tests/run_command.h"

namespace ropewalk {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Recall : public ProgramTest {
 protected:
  static std::string model() { return fixture("tiny_llama.gguf"); }
  std::string book() const {
    std::string text;
    for (int k = 0; k < 400; ++k)
      text += "Line " + std::to_string(k * 7919 % 1000) + (k % 7 == 0 ? ".\n\n" : " of a text. ");
    return file("book.txt", text);
  }
  // Enough for needles, and quick.
  std::vector<std::string> words(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all = {"recall",    model(), "--text",   book(), "--to",      "1024",
                                    "--lengths", "512",   "--trials", "2",    "--windows", "2"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  static Json lasting(Json json) {
    EXPECT_TRUE(json.contains("run"));
    json.erase("run");
    return json;
  }
};

TEST_F(Recall, TellsAllOfItAsJson) {
  const Json json = run_json(words({"--scheme", "declared", "cap,window=64"}));
  EXPECT_EQ(json["lengths"], Json({512, 1024}));
  EXPECT_EQ(json["self_test"]["copier_missed"], 0);
  EXPECT_EQ(json["self_test"]["uniform_missed"], 0);
  ASSERT_EQ(json["schemes"].size(), 2u);
  for (const Json& scheme : json["schemes"]) {
    size_t ran = 0;
    for (const Json& cell : scheme["recall"]) {
      if (!cell["not_run"].is_null()) continue;
      ++ran;
      EXPECT_LE(cell["achieved_length"], cell["length"]);
      EXPECT_GE(cell["achieved_length"], cell["length"].get<int64_t>() - 16);
      EXPECT_GE(cell["found"]["mean"], 0);
      EXPECT_LE(cell["found"]["mean"], 1);
      EXPECT_EQ(cell["found"]["interval"].size(), 2u);
      EXPECT_EQ(cell["strict"].is_null(), cell["task"] == "order");
    }
    EXPECT_GE(ran, 12u);
    EXPECT_GE(scheme["copy_by_distance"].size(), 8u);
    EXPECT_GE(scheme["copy_by_position"].size(), 8u);
  }
  EXPECT_NE(json["schemes"][0]["recall"], json["schemes"][1]["recall"]);
}

TEST_F(Recall, ThreadsChangeNothingAndSeedsDo) {
  const Json one = lasting(run_json(words({"--tasks", "passkey", "copy", "--threads", "1"})));
  EXPECT_EQ(one, lasting(run_json(words({"--tasks", "passkey", "copy", "--threads", "3"}))));
  const Json other = lasting(run_json(words({"--tasks", "passkey", "copy", "--seed", "9"})));
  EXPECT_NE(one["schemes"][0]["recall"], other["schemes"][0]["recall"]);
}

TEST_F(Recall, GoesIntoTheReportOfAStudy) {
  const std::string study = path("study.db");
  ASSERT_EQ(run({"extend", model(), "--text", book(), "--to", "1024", "--windows", "2", "--study",
                 study, "--scheme", "cap,window=64"})
                .status,
            0);
  run_json(words({"--scheme", "declared", "cap,window=64", "--into", study}));
  ASSERT_EQ(run({"bands", model(), "--text", book(), "--into", study}).status, 0);
  ASSERT_EQ(run({"report", study, "--json", path("report.json")}).status, 0);
  const Json report = Json::parse(read_file(path("report.json")));
  for (const char* name : {"recall_passkey", "recall_order", "copy_by_position", "pair_usage",
                           "relations", "bias_curve"}) {
    ASSERT_TRUE(report["tables"].contains(name)) << name;
    EXPECT_FALSE(report["tables"][name]["rows"].empty()) << name;
    EXPECT_TRUE(report["pictures"].contains(std::string("table-") + name)) << name;
  }
  double sum = 0;  // shares of one run of distances
  for (const Json& row : report["tables"]["pair_usage"]["rows"]) {
    if (row["distances"] == "1-9") sum += row["share"].get<double>();
  }
  EXPECT_NEAR(sum, 1, 1e-6);
}

TEST_F(Recall, OnlyAStudyOfThisModelTakesIt) {
  const std::string missing = path("missing.db");
  EXPECT_THAT(run(words({"--into", missing})).err, HasSubstr("must be a study of `extend`"));
  EXPECT_FALSE(std::filesystem::exists(missing));
  const std::string own = path("own.db");
  run_json(words({"--tasks", "passkey", "--study", own}));
  EXPECT_THAT(run(words({"--into", own})).err, HasSubstr("own.db"));
  const std::string study = path("study.db");
  ASSERT_EQ(run({"extend", model(), "--text", book(), "--to", "1024", "--windows", "2", "--study",
                 study, "--scheme", "cap,window=64"})
                .status,
            0);
  SKIP_WITHOUT_BF16();
  EXPECT_THAT(run(words({"--into", study, "--precision", "bf16"})).err,
              HasSubstr("of another precision"));
}

TEST_F(Recall, AStudyGoesOn) {
  const std::string study = path("recall.db");
  const Json first = run_json(words({"--study", study}));
  EXPECT_EQ(first["run"]["from_study"], 0);
  const Json second = run_json(words({"--study", study}));
  EXPECT_GT(second["run"]["from_study"], 10);
  EXPECT_EQ(lasting(first), lasting(second));
  const RunResult other = run(words({"--study", study, "--precision", "bf16"}));
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.err, HasSubstr("precision"));
}

TEST_F(Recall, IsOnePage) {
  const RunResult result = run(words());
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("passkey"), HasSubstr("needles"), HasSubstr("order"),
                                HasSubstr("1024 (1024) *"), HasSubstr("seed 1"),
                                HasSubstr("self-test: a perfect copier finds all")));
  EXPECT_LE(longest_line(result.out), 110u);
  EXPECT_LE(std::ranges::count(result.out, '\n'), 100);
}

TEST_F(Recall, SaysWhatCannotBeRun) {
  const RunResult shorter = run(words({"--lengths", "2048"}));
  EXPECT_EQ(shorter.status, 1);
  EXPECT_THAT(shorter.err, HasSubstr("--lengths"));
  const RunResult tight = run({"recall", model(), "--text", book(), "--to", "200"});
  EXPECT_EQ(tight.status, 0) << tight.err;
  EXPECT_THAT(tight.out, HasSubstr("not run"));
  const RunResult none = run({"recall", model(), "--text", book(), "--to", "2"});
  EXPECT_EQ(none.status, 1) << none.out;
  EXPECT_THAT(none.err, HasSubstr("--to: must leave room"));
}

// The bundled model, trained at 256 tokens: it copies inside its trained length, a window copies inside
// the window, and a cap from everywhere.
TEST_F(Recall, ARealModelCopiesAsItsSchemeLetsIt) {
  const auto shared = exact_values::shared_folder();
  if (!shared) GTEST_SKIP() << "no ../shared: recall is NOT tested on a real model";
  const Json json =
      run_json({"recall", std::string(ROPEWALK_SOURCE_DIR) + "/models/ropewalk-kjv-1m.gguf",
                "--text", (*shared / "text/alice29.txt").string(), "--to", "2048", "--tasks",
                "copy", "--scheme", "declared", "cap,window=154", "window,size=128"});
  const auto gain = [&](size_t scheme, const char* axis, size_t point) -> double {
    return json["schemes"][scheme][std::string("copy_by_") + axis][point]["gain"]["interval"][0];
  };
  const Json& distances = json["schemes"][0]["copy_by_distance"];
  EXPECT_GE(distances.size(), 10u);
  for (size_t k = 0; k < distances.size(); ++k) {
    const int64_t distance = distances[k]["distance"];
    EXPECT_GT(gain(1, "distance", k), 0.1) << "cap, " << distance;
    if (distance <= 64) {
      EXPECT_GT(gain(2, "distance", k), 1) << "window, " << distance;
    }
    if (distance > 128) {
      EXPECT_LT(gain(2, "distance", k), 0.1) << "window, " << distance;
    }
  }
  const Json& positions = json["schemes"][0]["copy_by_position"];
  EXPECT_GT(gain(0, "position", 0), 1);
  for (size_t k = 0; k < positions.size(); ++k) {
    if (positions[k]["position"] < 400) continue;
    EXPECT_LT(gain(0, "position", k), 0.1) << k;
    EXPECT_GT(gain(1, "position", k), 0.3) << k;
  }
}

// ---- perplexity

class Perplexities : public Recall {
 protected:
  static const Json& result(const Json& json, const std::string& rule) {
    for (const Json& one : json["results"]) {
      if (one["rule"] == rule) return one;
    }
    ADD_FAILURE() << "no " << rule;
    return json;
  }
};

TEST_F(Perplexities, EveryDefinitionIsLabelled) {
  const std::vector<std::string> command = {"perplexity", model(), "--text",   book(),
                                            "--window",   "128",   "--stride", "64"};
  const Json json = run_json(command);
  ASSERT_EQ(json["results"].size(), 3u);
  EXPECT_EQ(json["bos"], json["first_token"]);
  const int64_t tokens = json["tokens"];
  const Json& half = result(json, "second_half");
  EXPECT_EQ(half["windows"], tokens / 128);
  EXPECT_EQ(half["scored"], tokens / 128 * 63);
  EXPECT_EQ(result(json, "whole_chunks")["scored"], tokens / 128 * 127);
  EXPECT_EQ(result(json, "strided")["scored"], tokens - 1);
  for (const Json& one : json["results"]) {
    EXPECT_NEAR(one["perplexity"].get<double>(), std::exp(one["nats_per_token"].get<double>()),
                1e-6);
    EXPECT_GT(one["bits_per_byte"], 0);
    EXPECT_EQ(one["bos_inside_windows"], 0);
  }
  EXPECT_THAT(run(command).out, AllOf(HasSubstr("window=128 stride=64"), HasSubstr("llama.cpp"),
                                      HasSubstr("BOS (id 1"), HasSubstr("scored tokens")));
}

TEST_F(Perplexities, OneWindowIsOnePass) {
  const Json all = run_json({"perplexity", model(), "--text", book(), "--tokens", "100", "--window",
                             "4096", "--stride", "10"});
  ASSERT_EQ(all["results"].size(), 1u);  // chunks have no room
  const Json ids = run_json({"tokens", model(), "--text", book()})["ids"][0];
  std::string list = "[";
  for (size_t t = 0; t < 100; ++t) list += (t > 0 ? "," : "") + ids[t].dump();
  const Json losses = run_json({"losses", model(), "--ids", file("ids.json", list + "]")});
  double sum = 0;
  for (const Json& loss : losses["losses"]) sum += loss.get<double>();
  EXPECT_NEAR(all["results"][0]["nats_per_token"].get<double>(), sum / 99, 1e-6);
  EXPECT_THAT(all["results"][0]["definition"].get<std::string>(), HasSubstr("single window"));
}

// ---- public reports, by the codes of the collection that this project was given

TEST_F(Perplexities, PPL_01_WithAndWithoutBosTheTokensAreTold) {
  const std::string with = run({"perplexity", model(), "--text", book(), "--window", "64"}).out;
  const std::string once =
      run({"perplexity", model(), "--text", book(), "--window", "64", "--bos-once"}).out;
  EXPECT_THAT(with, HasSubstr("in place of each window's first token"));
  EXPECT_THAT(once, HasSubstr("BOS at the text's start alone; the text starts with id 1"));
}

TEST_F(Perplexities, PPL_02_TextIsNoControlToken) {
  const Json json = run_json({"perplexity", model(), "--text",
                              file("s.txt", "<s><s>" + std::string(500, 'a')), "--window", "64"});
  EXPECT_EQ(json["results"][0]["bos_inside_windows"], 0) << "text became a control token";
}

TEST_F(Perplexities, PPL_15_AShortTextIsRefusedWithItsNumbers) {
  const RunResult one = run({"perplexity", model(), "--ids", file("one.json", "[5]"), "--window",
                             "512", "--stride", "256"});
  EXPECT_EQ(one.status, 1);
  EXPECT_THAT(one.err, HasSubstr("got 1"));
  const Json five = run_json({"perplexity", model(), "--ids", file("five.json", "[1,5,6,7,8]"),
                              "--window", "512", "--stride", "256"});
  EXPECT_EQ(five["results"][0]["scored"], 4);
}

TEST_F(Perplexities, SCH_12_AnyCurveIsScored) {
  const Json json = run_json({"perplexity", model(), "--text", book(), "--window", "256",
                              "--scheme", "curve,points=0:0:64:60:256:100"});
  const Json plain = run_json({"perplexity", model(), "--text", book(), "--window", "256"});
  EXPECT_NE(json["results"][0]["perplexity"], plain["results"][0]["perplexity"]);
}

TEST_F(Recall, EXT_02_NothingIsExtendedWithinTheTrainedLength) {
  const RunResult result = run({"extend", model(), "--to", "100", "--text", book()});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("within it nothing needs to be changed"));
}

}  // namespace
}  // namespace ropewalk
