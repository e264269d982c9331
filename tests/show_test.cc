// `ropewalk show` as a user runs it.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "ropewalk/config/test_support.h"
#include "tests/run_command.h"

namespace ropewalk {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class ShowCommand : public ProgramTest {
 protected:
  RunResult show(const std::string& model, std::vector<std::string> options = {}) const {
    options.insert(options.begin(), {"show", model});
    const RunResult result = run(options);
    EXPECT_EQ(result.status, 0) << result.err;
    return result;
  }
  Json show_json(const std::string& model, std::vector<std::string> options = {}) const {
    options.insert(options.begin(), {"show", model});
    return run_json(options);
  }
  std::string refused(const std::string& model, std::vector<std::string> options) const {
    options.insert(options.begin(), {"show", model});
    const RunResult result = run(options);
    EXPECT_GT(result.status, 0);
    EXPECT_EQ(result.out, "");
    return result.err;
  }

  const std::string llama_ = config("llama", small_llama());
  const std::string tiny_ = fixture("tiny_llama.gguf");
};

TEST_F(ShowCommand, PairsHaveTheNumbersOfTheFormula) {
  const Json shown = show_json(llama_);
  const Json& pairs = shown["groups"][0]["rotary"]["spectra"][0]["pairs"];
  ASSERT_EQ(pairs.size(), 64u);
  for (size_t p = 0; p < pairs.size(); ++p) {
    const double inv_freq = std::pow(10000, -2.0 * static_cast<double>(p) / 128);
    EXPECT_NEAR(pairs[p]["inv_freq"].get<double>(), inv_freq, 1e-15);
    EXPECT_NEAR(pairs[p]["wavelength"].get<double>() * inv_freq, 2 * std::numbers::pi, 1e-12);
    EXPECT_NEAR(pairs[p]["turns"].get<double>(), 4096 * inv_freq / (2 * std::numbers::pi), 1e-9);
  }
  EXPECT_EQ(pairs[0]["band"], "1-10");
  EXPECT_EQ(pairs[16]["band"], "10-100");  // exactly 10 tokens for a radian
  EXPECT_EQ(pairs[63]["band"], "1000-10000");
}

TEST_F(ShowCommand, EveryNumberSaysWhereItIsFrom) {
  const RunResult text = show(llama_);
  EXPECT_THAT(text.out, AllOf(HasSubstr("max_position_embeddings"), HasSubstr("rope_theta"),
                              HasSubstr("family default: implied by model_type llama")));
  const Json shown = show_json(llama_);
  for (const Json& field : shown["fields"]) EXPECT_NE(field["from"], "") << field["name"];
}

TEST_F(ShowCommand, NoLineIsTooLong) {
  for (const std::vector<std::string>& options : {std::vector<std::string>{},
                                                  {"--pairs"},
                                                  {"--positions", "1,1099511627776"},
                                                  {"--digits", "123456"},
                                                  {"--context", "8192"}}) {
    for (const std::string& model : {llama_, tiny_}) {
      const std::string out = show(model, options).out;
      EXPECT_LE(longest_line(out.substr(out.find('\n'))), 110u) << out;  // the path is first
    }
  }
}

TEST_F(ShowCommand, PositionsAreOfTheExactAngle) {
  const Json shown = show_json(llama_, {"--positions", "1,4096,1099511627776"});
  const Json& positions = shown["groups"][0]["rotary"]["spectra"][0]["positions"];
  ASSERT_EQ(positions.size(), 3u);
  EXPECT_EQ(positions[1]["position"], 4096);
  EXPECT_DOUBLE_EQ(positions[0]["cos"][0].get<double>(), std::cos(1.0));
  EXPECT_DOUBLE_EQ(positions[0]["sin"][63].get<double>(), std::sin(std::pow(10000, -126.0 / 128)));
  // cos(2^40) of pair 0, whose inv_freq is 1.
  EXPECT_NEAR(positions[2]["cos"][0].get<double>(), std::cos(1099511627776.0), 1e-15);
  EXPECT_NEAR(positions[1]["turns"][0].get<double>(), 4096 / (2 * std::numbers::pi), 1e-12);
  EXPECT_THAT(show(llama_, {"--positions", "7"}).out, HasSubstr("At position 7"));
  EXPECT_THAT(refused(llama_, {"--positions", "-1"}), HasSubstr("--positions"));
  EXPECT_THAT(refused(llama_, {"--positions", "1x"}), HasSubstr("--positions"));
}

TEST_F(ShowCommand, CsvHasALineForEachPair) {
  const std::string csv = show(llama_, {"--csv", "--positions", "3,5"}).out;
  EXPECT_THAT(csv, StartsWith("layers,length,pair,axis,inv_freq"));
  EXPECT_EQ(std::ranges::count(csv, '\n'), 1 + 64 * 2);
  EXPECT_THAT(csv, HasSubstr("\n\"0, 1\",4096,0,,1,"));
  EXPECT_EQ(run({"show", llama_, "--csv", "--json"}).status, 2);
}

// A decay has columns of its own where there is one; other files' output knows nothing of it.
TEST_F(ShowCommand, ADecayIsShown) {
  const std::string decaying = config("decaying", {{"model_type", "nomic_bert"},
                                                   {"n_embd", 64},
                                                   {"n_head", 4},
                                                   {"n_layer", 2},
                                                   {"n_positions", 2048},
                                                   {"rotary_emb_base", 10000},
                                                   {"rotary_emb_fraction", 1.0},
                                                   {"rotary_emb_scale_base", 512}});
  const double first = std::log(0.4 / 1.4) / 512;
  const Json pairs = show_json(decaying)["groups"][0]["rotary"]["spectra"][0]["pairs"];
  EXPECT_NEAR(pairs[0]["decay"].get<double>(), first, 1e-17);
  EXPECT_EQ(pairs.size(), 8U);
  const std::string text = show(decaying, {"--pairs"}).out;
  EXPECT_THAT(text, AllOf(HasSubstr("distances     decay"), HasSubstr("log/token"),
                          HasSubstr("-0.00244680")));
  EXPECT_THAT(show(decaying).out, HasSubstr("-0.0024468 to -0.000182668"));
  const std::string csv = show(decaying, {"--csv", "--positions", "3"}).out;
  EXPECT_THAT(csv, HasSubstr(",band,decay,position,cos,sin,turns\n"));
  EXPECT_THAT(csv, HasSubstr(",1-10,-0.0024468"));
  for (const std::vector<std::string>& options :
       std::vector<std::vector<std::string>>{{"--pairs"}, {"--json"}, {"--csv"}, {}}) {
    EXPECT_THAT(show(llama_, options).out, Not(HasSubstr("decay")));
  }
}

TEST_F(ShowCommand, NpyHoldsFrequenciesOrAngles) {
  const std::string frequencies = path("inv_freq.npy");
  show(llama_, {"--npy", frequencies});
  const std::string file = read_file(frequencies);
  EXPECT_THAT(file, HasSubstr("'shape': (64,), "));
  double first = 0;
  std::memcpy(&first, file.data() + file.size() - 64 * sizeof(double), sizeof(first));
  EXPECT_EQ(first, 1);
  show(llama_, {"--npy", path("angles.npy"), "--positions", "1,2,3"});
  EXPECT_THAT(read_file(path("angles.npy")), HasSubstr("'shape': (3, 64, 2), "));
}

TEST_F(ShowCommand, NpyOfWhatDependsOnTheLengthNeedsOne) {
  Json document = small_llama();
  document["rope_scaling"] = {{"rope_type", "dynamic"}, {"factor", 2.0}};
  const std::string model = config("dynamic", document);
  EXPECT_THAT(refused(model, {"--npy", path("a.npy")}), HasSubstr("--context"));
  show(model, {"--npy", path("a.npy"), "--context", "8192"});
}

// The digits of 1000 in base 10, which is what 8 coordinates of base 10000 write it in.
TEST_F(ShowCommand, DigitsAreThoseOfThePosition) {
  const Json shown = show_json(tiny_, {"--digits", "1000"});
  const Json& digits = shown["groups"][0]["rotary"]["spectra"][0]["digits"];
  ASSERT_EQ(digits.size(), 4u);
  for (size_t p = 0; p < 3; ++p) EXPECT_EQ(digits[p]["digit"], 0);
  EXPECT_EQ(digits[3]["digit"], 1);
  EXPECT_NEAR(digits[1]["radix"].get<double>(), 10, 1e-12);
  EXPECT_THAT(show(tiny_, {"--digits", "1000"}).out, HasSubstr("one digit to a pair"));
  // Scaling by 10 shifts it by one digit.
  const std::string scaled = config("scaled", [] {
    Json document = small_llama(8);
    document["rope_scaling"] = {{"rope_type", "linear"}, {"factor", 10.0}};
    return document;
  }());
  const Json moved = show_json(scaled, {"--digits", "1000"});
  EXPECT_EQ(moved["groups"][0]["rotary"]["plain_digits"][3]["digit"], 1);
  EXPECT_EQ(moved["groups"][0]["rotary"]["spectra"][0]["digits"][2]["digit"], 1);
}

TEST_F(ShowCommand, TheContextChoosesTheBase) {
  Json document = small_llama();
  document["rope_scaling"] = {{"rope_type", "dynamic"}, {"factor", 2.0}};
  const std::string model = config("dynamic", document);
  const auto slowest = [&](const std::string& context) {
    const Json shown = show_json(model, {"--context", context});
    const Json& spectra = shown["groups"][0]["rotary"]["spectra"];
    EXPECT_EQ(spectra.size(), 1u);
    return spectra[0]["pairs"][63]["inv_freq"].get<double>();
  };
  EXPECT_NEAR(slowest("4096"), std::pow(10000.0, -126.0 / 128), 1e-18);
  EXPECT_NEAR(slowest("8192"), std::pow(30527.74, -126.0 / 128), 1e-11);
  EXPECT_THAT(show(model, {"--context", "8192"}).out, HasSubstr("in a sequence of 8192 tokens"));
}

TEST_F(ShowCommand, EnginesAreToldApart) {
  Json document = small_llama();
  document["rope_scaling"] = {{"rope_type", "dynamic"}, {"factor", 2.0}};
  const std::string model = config("dynamic", document);
  const std::string text = show(model).out;
  EXPECT_THAT(text, HasSubstr("What engines make of this file"));
  EXPECT_THAT(text, HasSubstr("plain RoPE"));
  std::vector<std::string> engines;
  const Json shown = show_json(model);
  for (const Json& view : shown["engines"]) engines.push_back(view["engine"]);
  EXPECT_THAT(engines, testing::UnorderedElementsAre("llama.cpp", "vllm", "transformers"));
  EXPECT_EQ(show_json(llama_)["engines"].size(), 0u);
}

TEST_F(ShowCommand, MechanismsHaveTheirNumbers) {
  const Json bloom = {{"model_type", "bloom"}, {"hidden_size", 48}, {"n_head", 6}, {"n_layer", 2}};
  const Json alibi = show_json(config("bloom", bloom))["mechanisms"][0];
  EXPECT_EQ(alibi["kind"], "alibi");
  ASSERT_EQ(alibi["slopes"].size(), 6u);  // those of 4 heads, then every other one of 8
  EXPECT_DOUBLE_EQ(alibi["slopes"][0].get<double>(), 0.25);
  EXPECT_DOUBLE_EQ(alibi["slopes"][5].get<double>(), 0.125);
}

TEST_F(ShowCommand, ReadsAHeaderAlone) {
  const std::string header = file("header.gguf", read_file(tiny_).substr(0, 40000));
  EXPECT_EQ(show_json(header)["groups"], show_json(tiny_)["groups"]);
}

TEST_F(ShowCommand, OverridesAreReadAsIfTheFileSaidThem) {
  const std::string block = R"(rope_scaling={"rope_type":"linear","factor":4.0})";
  EXPECT_EQ(show_json(llama_, {"--override", block})["groups"][0]["scheme"], "linear,factor=4");
  // Keys inside a block, and several of them.
  const Json both = show_json(llama_, {"--override", block, "--override", "rope_scaling.factor=8",
                                       "--override", "rope_theta=1e6"});
  EXPECT_EQ(both["groups"][0]["scheme"], "linear,factor=8");
  EXPECT_EQ(both["groups"][0]["rotary"]["base"], 1e6);
  EXPECT_THAT(refused(llama_, {"--override", "rope_theta"}), HasSubstr("key=JSON"));
  EXPECT_THAT(refused(llama_, {"--override", "rope_theta.x=1"}), HasSubstr("rope_theta"));
  EXPECT_THAT(refused(tiny_, {"--override", "rope_theta=1"}), HasSubstr("config.json only"));
}

}  // namespace
}  // namespace ropewalk
