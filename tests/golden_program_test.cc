// ropewalk-golden as it is run: folders of cases that pass, fail, or cannot be understood.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "ropewalk/formats/test_support.h"
#include "ropewalk/testing/exact_values.h"
#include "tests/run_command.h"

namespace ropewalk {
namespace {

using exact_values::shared_folder;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

#ifdef ROPEWALK_GOLDEN
const char* const kGolden = ROPEWALK_GOLDEN;
#else
const char* const kGolden = nullptr;
#endif

// Runs the program on a folder, both streams together.
RunResult run(const std::string& folder, const std::string& options = "") {
  return run_line(quoted_line(kGolden, {folder}) + " " + options + " 2>&1");
}

class GoldenProgram : public testing::Test {
 protected:
  void SetUp() override {
    if (kGolden == nullptr) GTEST_SKIP() << "built without the program";
  }

  void write(const std::string& name, const json& golden) const {
    folder_.write(name + ".json", golden.dump());
  }

  TempDirectory folder_;
};

// KERPLE with exact powers, so that the values need no other program.
json kerple_case() {
  return {{"id", "kerple"},
          {"kind", "bias"},
          {"rule", "kerple_power"},
          {"r1", "0.125"},
          {"r2", "1.5"},
          {"distance", {0, 1, 4, 16}},
          {"note", "-r1 d^r2"},
          {"bias", {"0", "-0.125", "-1", "-8"}}};
}

json rope_case() {
  return {
      {"id", "rope"},
      {"kind", "frequencies"},
      {"rule", "default"},
      {"config",
       {{"model_type", "llama"},
        {"hidden_size", 8},
        {"num_attention_heads", 2},
        {"max_position_embeddings", 64},
        {"rope_theta", 10000.0}}},
      {"layer_type", nullptr},
      {"resolved", {{"rotary_dim", 4}, {"head_dim", 4}, {"layout_hf", "half"}, {"theta", 10000}}},
      {"variants",
       {{{"n_pairs", 2},
         {"inv_freq", {"1", "0.01"}},
         {"attention_factor", "1"},
         {"positions", {0, 3}},
         {"pairs", {0, 1}},
         {"cos", {{"0", {"1", "1"}}, {"3", {"-0.98999249660044542", "0.99955003374898754"}}}},
         {"sin", {{"0", {"0", "0"}}, {"3", {"0.14112000805986721", "0.029995500202495661"}}}}}}}};
}

TEST_F(GoldenProgram, PassesWhatIsRight) {
  write("kerple", kerple_case());
  write("rope", rope_case());
  const RunResult result = run(folder_.path());
  EXPECT_EQ(result.status, 0) << result.out;
  EXPECT_THAT(result.out, HasSubstr("kerple_power"));
  EXPECT_THAT(result.out, HasSubstr("2 of    2"));
  EXPECT_THAT(result.out, Not(HasSubstr("FAIL")));
}

TEST_F(GoldenProgram, NamesEachFailure) {
  json wrong = rope_case();
  wrong["variants"][0]["inv_freq"][1] = "0.010000000000000019";  // 11 units in the last place
  wrong["variants"][0]["cos"]["3"][0] = "-0.98999249660044";
  wrong["resolved"]["layout_hf"] = "interleaved";
  write("rope", wrong);
  write("kerple", kerple_case());
  const RunResult result = run(folder_.path());
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.out, HasSubstr("FAIL rope: variants[0].inv_freq[1]: got 0.01, want "
                                    "\"0.010000000000000019\", off by"));
  EXPECT_THAT(result.out, HasSubstr("FAIL rope: variants[0].cos.3[0]: got -0.98999249660044"));
  EXPECT_THAT(result.out, HasSubstr("FAIL rope: resolved.layout_hf: got \"half\""));
  EXPECT_THAT(result.out, HasSubstr("bound"));
  EXPECT_THAT(result.out, HasSubstr("1 of    2"));
}

// Numbers of a file that would take all memory, or hours.
TEST_F(GoldenProgram, RefusesSizesBeforeAnythingIsMade) {
  const json sinusoidal = {{"kind", "table"},
                           {"rule", "sinusoidal_interleaved"},
                           {"dim", 8},
                           {"n", 1},
                           {"table", json::array()}};
  const json sandwich = {{"kind", "bias"},
                         {"rule", "sandwich"},
                         {"d_bar", 10000000},
                         {"distance", {1}},
                         {"inner_product", {"1"}}};
  json long_table = sinusoidal, wide = sinusoidal, large = sinusoidal;
  long_table["n"] = int64_t{1000000000000000};
  wide["dim"] = int64_t{1000000000000};
  large["n"] = 1 << 20;
  write("long", long_table);
  write("wide", wide);
  write("large", large);
  write("sandwich", sandwich);
  const RunResult result = run(folder_.path());
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.out, HasSubstr("FAIL long: n: must be a whole number from 0 to 4194304"));
  EXPECT_THAT(result.out, HasSubstr("FAIL wide: dim: must be a whole number from 1 to 65536"));
  EXPECT_THAT(result.out, HasSubstr("FAIL large: table: must have at most 4194304 numbers"));
  EXPECT_THAT(result.out, HasSubstr("FAIL sandwich: d_bar: must be a whole number"));
}

TEST_F(GoldenProgram, ACaseThatExpectsNothingFails) {
  json bare = rope_case(), empty = rope_case(), echoed = rope_case();
  for (json* const golden : {&bare, &empty, &echoed}) golden->erase("resolved");
  bare.erase("variants");
  empty["variants"] = json::array();
  echoed["variants"] = {{{"seq_len", 5}}};
  int number = 0;
  for (json golden : {bare, empty, echoed}) {
    golden["id"] = "case" + std::to_string(number);
    write("case" + std::to_string(number++), golden);
  }
  const RunResult result = run(folder_.path());
  EXPECT_EQ(result.status, 1);
  for (const char* const id : {"case0", "case1", "case2"}) {
    EXPECT_THAT(result.out, HasSubstr(std::string("FAIL ") + id + ": the case expects no value"));
  }
}

// The folder of golden values calls DeepSeek-V4 half-split in a case, interleaved in its atlas.
TEST_F(GoldenProgram, NotesWhatTheGoldenFilesDisputeThemselves) {
  json disputed = rope_case();
  disputed["config"]["model_type"] = "deepseek_v4";
  disputed["config"]["qk_rope_head_dim"] = 4;
  disputed["config"]["num_hidden_layers"] = 1;
  disputed["config"]["compress_ratios"] = {0};
  write("rope", disputed);
  const RunResult result = run(folder_.path());
  EXPECT_EQ(result.status, 0) << result.out;
  EXPECT_THAT(result.out, HasSubstr("NOTE rope: resolved.layout_hf: got \"interleaved\""));
  EXPECT_THAT(result.out, HasSubstr("1 of    1"));
}

// The file's own 64 tokens are not L of what is asked for on top of it.
TEST_F(GoldenProgram, SaysThatALengthIsInferred) {
  json asked = rope_case();
  asked["rule"] = "dynamic_yarn";
  asked["variants"] = {{{"seq_len", 8}, {"attention_factor", "1"}},
                       {{"seq_len", 9}, {"attention_factor", "1.0117783035656383"}}};
  write("asked", asked);
  const RunResult inferred = run(folder_.path());
  EXPECT_EQ(inferred.status, 0) << inferred.out;
  EXPECT_THAT(inferred.out, HasSubstr("NOTE rope: variants: L = 8 is inferred"));

  for (json& variant : asked["variants"]) variant["original_max"] = 8;
  write("asked", asked);
  const RunResult given = run(folder_.path());
  EXPECT_EQ(given.status, 0) << given.out;
  EXPECT_THAT(given.out, Not(HasSubstr("NOTE")));
}

TEST_F(GoldenProgram, SaysWhoseWordsItTakes) {
  const json layers = {{"id", "words"},
                       {"kind", "layers"},
                       {"rule", "layer_map"},
                       {"config", rope_case()["config"]},
                       {"per_layer", {"theta=10000"}}};
  write("words", layers);
  const RunResult result = run(folder_.path());
  EXPECT_EQ(result.status, 0) << result.out;
  EXPECT_THAT(result.out,
              HasSubstr("NOTE words: per_layer[0]: \"theta=10000\" is taken for \"rope\""));
}

TEST_F(GoldenProgram, AllowsFourUnitsInTheLastPlace) {
  json near = rope_case();
  near["variants"][0]["inv_freq"][1] = "0.010000000000000005";  // 3
  write("rope", near);
  EXPECT_EQ(run(folder_.path()).status, 0);
}

TEST_F(GoldenProgram, FieldsThatNobodyComputesFail) {
  json more = kerple_case();
  more["slope_of_the_moon"] = 3;
  write("kerple", more);
  const RunResult result = run(folder_.path());
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.out, HasSubstr("slope_of_the_moon: no value is computed"));
}

TEST_F(GoldenProgram, ListsOfAnotherLengthFail) {
  json shorter = kerple_case();
  shorter["bias"].erase(3);
  write("kerple", shorter);
  EXPECT_EQ(run(folder_.path()).status, 1);
}

TEST_F(GoldenProgram, UnknownKindsAndRulesFail) {
  json kind = kerple_case();
  kind["id"] = "of_no_kind";
  kind["kind"] = "astrology";
  write("of_no_kind", kind);
  json rule = kerple_case();
  rule["id"] = "of_no_rule";
  rule["rule"] = "kerple_cubic";
  write("of_no_rule", rule);
  json spectrum = rope_case();
  spectrum["id"] = "of_no_spectrum";
  spectrum["rule"] = "moonlight";
  write("of_no_spectrum", spectrum);
  const RunResult result = run(folder_.path());
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.out, HasSubstr("FAIL of_no_kind: kind: must be a known one, got astrology"));
  EXPECT_THAT(result.out, HasSubstr("FAIL of_no_rule: rule: must be a known one of this kind, got "
                                    "kerple_cubic"));
  EXPECT_THAT(result.out, HasSubstr("FAIL of_no_spectrum: rule"));
  EXPECT_THAT(result.out, HasSubstr("0 of    3"));
}

TEST_F(GoldenProgram, BadJsonFails) {
  folder_.write("broken.json", "{\"kind\": ");
  folder_.write("list.json", "[1, 2]");
  write("kerple", kerple_case());
  const RunResult result = run(folder_.path());
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.out, HasSubstr("FAIL broken: "));
  EXPECT_THAT(result.out, HasSubstr("FAIL list: "));
  EXPECT_THAT(result.out, HasSubstr("1 of    3"));
}

TEST_F(GoldenProgram, CasesThatLackWhatTheirKindNeedsFail) {
  json lacking = kerple_case();
  lacking.erase("r2");
  write("kerple", lacking);
  const RunResult result = run(folder_.path());
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.out, HasSubstr("r2"));
}

TEST_F(GoldenProgram, MalformedFilesByKindAndKey) {
  const json config = {{"model_type", "llama"},
                       {"hidden_size", 8},
                       {"num_attention_heads", 2},
                       {"max_position_embeddings", 64},
                       {"rope_theta", {{"__float__", "nan"}}}};
  json malformed = {{"id", "nan"},
                    {"kind", "malformed"},
                    {"rule", "malformed"},
                    {"form", "hf"},
                    {"config", config},
                    {"expect", "error"},
                    {"error_kind", "out_of_range"},
                    {"error_key", "rope_theta"},
                    {"hint", "not finite"}};
  write("nan", malformed);
  EXPECT_EQ(run(folder_.path()).status, 0) << run(folder_.path()).out;
  malformed["error_kind"] = "bad_type";
  write("nan", malformed);
  EXPECT_THAT(run(folder_.path()).out,
              HasSubstr("FAIL nan: error_kind: got \"out_of_range\", want \"bad_type\""));
}

TEST_F(GoldenProgram, JsonIsUnderTheCasesOwnNames) {
  write("kerple", kerple_case());
  const RunResult result = run(folder_.path(), "--json");
  EXPECT_EQ(result.status, 0);
  const json list = json::parse(result.out, nullptr, false);
  ASSERT_TRUE(list.is_array()) << result.out;
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0]["id"], "kerple");
  EXPECT_EQ(list[0]["bias"], (json{"0", "-0.125", "-1", "-8"}));
  EXPECT_TRUE(list[0]["failures"].empty());
}

TEST_F(GoldenProgram, FoldersBesideAnIndex) {
  std::filesystem::create_directory(folder_.path() + "/given");
  folder_.write("given/kerple.json", kerple_case().dump());
  folder_.write("index.json",
                R"([{"id": "kerple", "split": "given"}, {"id": "lost", "split": "given"},
                    {"id": "elsewhere", "split": "hidden"}])");
  folder_.write("atlas.json", "[]");
  const RunResult result = run(folder_.path());
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.out, HasSubstr("FAIL lost: "));
  EXPECT_THAT(result.out, HasSubstr("1 of    2"));
}

TEST_F(GoldenProgram, NothingToRunIsNoPass) {
  EXPECT_EQ(run(folder_.path()).status, 2) << "an empty folder";
  EXPECT_EQ(run(folder_.path() + "/nowhere").status, 2);
  EXPECT_EQ(run(folder_.path(), "--no-such-option").status, 2);
}

TEST_F(GoldenProgram, GivenValues) {
  const auto shared = shared_folder();
  if (!shared) GTEST_SKIP() << "no shared folder: the golden values are NOT tested";
  const RunResult result = run((*shared / "golden/given").string());
  std::printf("%s", result.out.c_str());  // what fails, and the count by rule
  EXPECT_EQ(result.status, 0);
  EXPECT_NE(result.out.find("178 of  178"), std::string::npos);
}

TEST_F(GoldenProgram, FarValues) {
  const auto shared = shared_folder();
  if (!shared) GTEST_SKIP() << "no shared folder: the golden values are NOT tested";
  const RunResult result = run((*shared / "golden/far").string());
  EXPECT_EQ(result.status, 0) << result.out;
}

}  // namespace
}  // namespace ropewalk
