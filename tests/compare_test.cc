// `ropewalk compare` as a user runs it.
#include <cmath>

#include "ropewalk/config/test_support.h"
#include "tests/run_command.h"

namespace ropewalk {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class CompareCommand : public ProgramTest {
 protected:
  std::string llama(const std::string& name, double base = 10000, int64_t length = 4096) const {
    return config(name, small_llama(128, base, length));
  }
};

TEST_F(CompareCommand, AFileIsEqualToItself) {
  const std::string a = llama("a");
  const RunResult result = run({"compare", a, a + "/config.json"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("equal: identical tables"));
  EXPECT_THAT(result.err, IsEmpty());
  const Json json = run_json({"compare", a, a});
  EXPECT_EQ(json["equal"], true);
  EXPECT_EQ(json["largest_ratio"], 1.0);
  EXPECT_TRUE(json["parting"].is_null());
  for (const Json& point : json["curve"]) EXPECT_EQ(point["mean_cosine"], 1.0);
}

// An implementation that takes 10000 for a model of base 1e6: 0.4446 at distance 64.
TEST_F(CompareCommand, NamesTheFirstPairLayerPositionAndLength) {
  const Json json = run_json({"compare", llama("a"), llama("b", 1e6)}, 1);
  EXPECT_EQ(json["equal"], false);
  const Json& parting = json["parting"];
  EXPECT_EQ(parting["layer"], 0);
  EXPECT_EQ(parting["pair"], 1);  // pair 0 turns one radian per token under any base
  EXPECT_EQ(parting["position"], 1);
  EXPECT_TRUE(parting["length"].is_null());
  EXPECT_EQ(parting["worst_pair"], 63);
  EXPECT_NEAR(parting["largest_ratio"].get<double>(), std::pow(100, 126.0 / 128), 1e-9);
  std::vector<int64_t> distances;
  for (const Json& point : json["curve"]) {
    distances.push_back(point["distance"]);
    if (point["distance"] == 64) {
      EXPECT_NEAR(point["mean_cosine"].get<double>(), 0.4446, 5e-5);
    }
  }
  EXPECT_EQ(distances.front(), 1);
  EXPECT_EQ(distances[6], 64);
  EXPECT_EQ(distances.back(), 4095);
  const RunResult text = run({"compare", llama("a"), llama("b", 1e6)});
  EXPECT_EQ(text.status, 1);
  EXPECT_THAT(text.out, HasSubstr("in layer 0, at pair 1, from position 1 on"));
  EXPECT_LE(longest_line(text.out), 110u + path("").size());
}

TEST_F(CompareCommand, SeesADecay) {
  Json model = {{"model_type", "nomic_bert"},
                {"n_embd", 64},
                {"n_head", 4},
                {"n_layer", 2},
                {"n_positions", 2048},
                {"rotary_emb_base", 10000},
                {"rotary_emb_fraction", 1.0}};
  const std::string plain = config("plain", model);
  model["rotary_emb_scale_base"] = 512;
  const std::string decaying = config("decaying", model);
  EXPECT_EQ(run({"compare", decaying, decaying}).status, 0);
  const Json json = run_json({"compare", plain, decaying}, 1);
  EXPECT_TRUE(json["parting"].is_null());
  ASSERT_EQ(json["differences"].size(), 1U);
  EXPECT_EQ(json["differences"][0]["what"], "decay");
  EXPECT_EQ(json["differences"][0]["a"], "none");
}

// The smallest position at which rotations differ by more than 1e-6, of bases that hardly differ.
TEST_F(CompareCommand, ThePositionIsTheSmallest) {
  const Json json = run_json({"compare", llama("a", 10000), llama("b", 10000.02)}, 1);
  const Json& parting = json["parting"];
  const double apart = parting["inv_freq"][0].get<double>() - parting["inv_freq"][1].get<double>();
  const auto position = parting["position"].get<int64_t>();
  EXPECT_GT(2 * std::sin(apart * static_cast<double>(position) / 2), 1e-6);
  EXPECT_LE(2 * std::sin(apart * static_cast<double>(position - 1) / 2), 1e-6);
}

TEST_F(CompareCommand, SpectraThatPartPastALengthOnly) {
  Json dynamic = small_llama();
  dynamic["rope_scaling"] = {{"rope_type", "dynamic"}, {"factor", 2.0}};
  const Json json = run_json({"compare", llama("a"), config("b", dynamic)}, 1);
  EXPECT_EQ(json["parting"]["length"], 4097);
}

TEST_F(CompareCommand, ComparesAGgufFileWithItsConfig) {
  const RunResult result = run({"compare", fixture("tiny_llama.gguf"), fixture("tiny_llama_hf")});
  EXPECT_EQ(result.status, 0) << result.out;
  EXPECT_THAT(result.out, HasSubstr("the rotation is the same"));
}

// A base that float32 cannot hold: the two forms of one model are equal, and the rounding is told.
TEST_F(CompareCommand, Float32KeysAreRoundedNotDifferent) {
  GgufBuilder gguf = plain_gguf();
  gguf.set("llama.embedding_length", uint32_t{512})
      .set("llama.attention.head_count", uint32_t{4})
      .set("llama.attention.head_count_kv", uint32_t{2})
      .set("llama.rope.freq_base", 11158839.9251F);
  const std::string converted = file("model.gguf", gguf.file());
  const RunResult result = run({"compare", llama("a", 11158839.9251), converted});
  EXPECT_EQ(result.status, 0) << result.out;
  EXPECT_THAT(result.out, HasSubstr("but for rounding"));
}

TEST_F(CompareCommand, AmplitudeWindowAndLayersAreTold) {
  Json yarn = small_llama();
  yarn["rope_scaling"] = {
      {"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 4096}};
  Json louder = yarn;
  louder["rope_scaling"]["attention_factor"] = 1.5;
  const Json amplitude = run_json({"compare", config("a", yarn), config("b", louder)}, 1);
  EXPECT_TRUE(amplitude["parting"].is_null());
  ASSERT_EQ(amplitude["differences"].size(), 1u);
  EXPECT_EQ(amplitude["differences"][0]["what"], "amplitude");
  EXPECT_EQ(amplitude["differences"][0]["b"], "1.5");

  Json mistral = small_llama();
  mistral["model_type"] = "mistral";
  mistral["sliding_window"] = 1024;
  mistral["num_hidden_layers"] = 3;
  const Json window = run_json({"compare", llama("c"), config("d", mistral)}, 1);
  std::vector<std::string> what;
  for (const Json& difference : window["differences"]) what.push_back(difference["what"]);
  EXPECT_THAT(what, testing::UnorderedElementsAre("layers", "a query sees"));
}

TEST_F(CompareCommand, TroubleIsNotDifference) {
  const RunResult result = run({"compare", llama("a"), path("nothing.gguf")});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, HasSubstr("nothing.gguf"));
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_EQ(run({"compare", llama("a")}).status, 2);
}

}  // namespace
}  // namespace ropewalk
