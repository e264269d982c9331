// Public bug reports about what tools say of a model file, restated as what must hold of `show`, `check`
// and `compare`. Codes are those of the collection that this project was given.
#include <cmath>
#include <utility>
#include <vector>

#include "ropewalk/config/test_support.h"
#include "ropewalk/math/turns.h"
#include "tests/run_command.h"

namespace ropewalk {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ReportsCli : public ProgramTest {
 protected:
  Json show(const std::string& model, std::vector<std::string> options = {}) const {
    options.insert(options.begin(), {"show", model});
    return run_json(options);
  }
  std::string text(std::vector<std::string> words) const {
    const RunResult result = run(words);
    EXPECT_EQ(result.status, 0) << result.err;
    return result.out;
  }
  static Json& spectrum(Json& shown, size_t group = 0) {
    return shown["groups"][group]["rotary"]["spectra"][0];
  }
  static Json deepseek() {
    return {{"model_type", "deepseek_v3"},
            {"hidden_size", 7168},
            {"num_attention_heads", 128},
            {"num_key_value_heads", 128},
            {"num_hidden_layers", 61},
            {"qk_nope_head_dim", 128},
            {"qk_rope_head_dim", 64},
            {"v_head_dim", 128},
            {"kv_lora_rank", 512},
            {"rope_theta", 10000},
            {"max_position_embeddings", 163840},
            {"rope_scaling",
             {{"type", "yarn"},
              {"factor", 40},
              {"beta_fast", 32},
              {"beta_slow", 1},
              {"mscale", 1.0},
              {"mscale_all_dim", 1.0},
              {"original_max_position_embeddings", 4096}}}};
  }
  static Json kimi() {
    Json document = deepseek();
    document["model_type"] = "kimi_k2";
    document["rope_theta"] = 50000;
    document["rope_scaling"]["factor"] = 64;
    return document;
  }
};

// ---- CFG: what is said of settings

TEST_F(ReportsCli, Cfg15JsonOnTheCommandLineIsOneObject) {
  const std::string model = config("m", small_llama());
  const Json shown = show(model, {"--override",
                                  "rope_scaling={\"rope_type\":\"yarn\",\"factor\":4.0,"
                                  "\"original_max_position_embeddings\":32768}",
                                  "--override", "max_position_embeddings=131072"});
  EXPECT_EQ(shown["groups"][0]["scheme"], "yarn,factor=4,original=32768");
  const RunResult broken =
      run({"show", model, "--override", "rope_scaling={\"rope_type\":\"yarn\","});
  EXPECT_EQ(broken.status, 1);
  EXPECT_THAT(broken.err, AllOf(HasSubstr("rope_scaling"), HasSubstr("column")));
}

TEST_F(ReportsCli, Cfg16ALinearFactorIsSaidInBothDirections) {
  Json document = small_llama();
  document["rope_scaling"] = {{"rope_type", "linear"}, {"factor", 8.0}};
  EXPECT_THAT(text({"show", config("m", document)}), HasSubstr("8 (= frequency scale 0.125)"));
  // The reciprocal is refused, not taken for a factor.
  document["rope_scaling"]["factor"] = 0.125;
  EXPECT_EQ(run({"show", config("m", document)}).status, 1);
}

TEST_F(ReportsCli, Cfg18ThreeFieldsForOneLength) {
  const Json gptj = {{"model_type", "gptj"}, {"n_positions", 2048}, {"n_embd", 4096},
                     {"n_head", 16},         {"n_layer", 28},       {"rotary_dim", 64}};
  const std::string model = config("gptj", gptj);
  file("gptj/tokenizer_config.json", R"({"model_max_length": 1024})");
  Json shown = show(model);
  EXPECT_EQ(shown["usable_length"], 2048);
  EXPECT_THAT(text({"show", model}), AllOf(HasSubstr("warning: "), HasSubstr("1024")));
  EXPECT_EQ(run({"check", model, "--strict"}).status, 1);

  file("gptj/tokenizer_config.json", R"({"model_max_length": 1000000000000000019884624838656})");
  EXPECT_THAT(text({"show", model}), HasSubstr("unset"));

  const Json roberta = {{"model_type", "roberta"}, {"max_position_embeddings", 514},
                        {"hidden_size", 768},      {"num_attention_heads", 12},
                        {"num_hidden_layers", 12}, {"pad_token_id", 1},
                        {"type_vocab_size", 1}};
  EXPECT_EQ(show(config("roberta", roberta))["usable_length"], 512);
}

TEST_F(ReportsCli, Cfg06AnUnknownSpellingBesideAKnownOne) {
  Json document = small_llama();
  document["rotary_scaling"] = {{"type", "linear"}, {"factor", 4.0}};
  const std::string model = config("m", document);
  EXPECT_THAT(text({"show", model}), HasSubstr("rotary_scaling"));
  EXPECT_EQ(run({"check", model}).status, 0);
  EXPECT_EQ(run({"check", model, "--strict"}).status, 1);
}

TEST_F(ReportsCli, Cfg11AnAssumedLengthIsPrintedAndStrictRefusesIt) {
  Json document = small_llama();
  document["rope_scaling"] = {{"rope_type", "yarn"}, {"factor", 2.0}};
  const std::string model = config("m", document);
  EXPECT_THAT(text({"show", model}), HasSubstr("assumed: "));
  EXPECT_EQ(run({"check", model, "--strict"}).status, 1);
}

TEST_F(ReportsCli, Cfg04TypesThatDifferNameBothValues) {
  Json document = small_llama();
  document["rope_scaling"] = {{"rope_type", "yarn"}, {"type", "linear"}, {"factor", 2.0}};
  const RunResult result = run({"show", config("m", document)});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("yarn"), HasSubstr("linear")));
}

// ---- LAY: what is said of pairs

TEST_F(ReportsCli, Lay08LayoutIsExplained) {
  Json document = deepseek();
  document["rope_interleave"] = true;
  const std::string model = config("m", document);
  EXPECT_THAT(text({"show", model}), AllOf(HasSubstr("(2i, 2i + 1) in the stored weights"),
                                           HasSubstr("must first de-interleave")));
  Json shown = show(model);
  EXPECT_EQ(shown["groups"][0]["rotary"]["layout"]["order"], "interleaved");
  EXPECT_THAT(
      text({"show", config("half", small_llama())}),
      AllOf(HasSubstr("(i, i + 64) in the stored weights"), HasSubstr("must first interleave")));
}

// The rows as `show` says to reorder them, then halves: the same scores as interleaved.
TEST_F(ReportsCli, Lay08ReorderedRowsUnderHalvesScoreTheSame) {
  constexpr int64_t kDim = 64;
  const Spectrum spectrum = rope_spectrum(10000, kDim, kDim / 2);
  const PairLayout neighbours{PairOrder::kInterleaved, kDim, kDim};
  const PairLayout halves{PairOrder::kHalf, kDim, kDim};
  const auto value = [](int64_t k, int64_t seed) {
    return std::sin(static_cast<double>(k * k + 7 * seed)) * 3;
  };
  const auto stored = [&](int64_t seed) {
    std::vector<double> x;
    for (int64_t k = 0; k < kDim; ++k) x.push_back(value(k, seed));
    return x;
  };
  const auto deinterleaved = [](const std::vector<double>& x) {
    std::vector<double> y;
    for (size_t k = 0; k < x.size(); k += 2) y.push_back(x[k]);
    for (size_t k = 1; k < x.size(); k += 2) y.push_back(x[k]);
    return y;
  };
  const auto rotated = [&](std::vector<double> x, const PairLayout& layout, int64_t position) {
    for (int64_t pair = 0; pair < layout.n_pairs(); ++pair) {
      const CosSin turn =
          cos_sin_at(DoubleDouble(position), spectrum.turns_per_token[static_cast<size_t>(pair)]);
      double& first = x[static_cast<size_t>(layout.first(pair))];
      double& second = x[static_cast<size_t>(layout.second(pair))];
      const double kept = first;
      first = kept * turn.cos - second * turn.sin;
      second = second * turn.cos + kept * turn.sin;
    }
    return x;
  };
  const auto score = [](const std::vector<double>& q, const std::vector<double>& k) {
    double sum = 0;
    for (size_t c = 0; c < q.size(); ++c) sum += q[c] * k[c];
    return sum;
  };
  for (const auto& [i, j] : {std::pair<int64_t, int64_t>{1, 0}, {64, 3}, {4096, 1000}}) {
    const double as_stored =
        score(rotated(stored(1), neighbours, i), rotated(stored(2), neighbours, j));
    const double reordered = score(rotated(deinterleaved(stored(1)), halves, i),
                                   rotated(deinterleaved(stored(2)), halves, j));
    EXPECT_NEAR(reordered / as_stored, 1, 1e-12);
    const double not_reordered =
        score(rotated(stored(1), halves, i), rotated(stored(2), halves, j));
    EXPECT_GT(std::abs(not_reordered / as_stored - 1), 1e-6);
  }
}

TEST_F(ReportsCli, Ggu13WhoImpliesTheLayoutIsSaid) {
  EXPECT_THAT(text({"show", fixture("tiny_llama.gguf")}),
              HasSubstr("implied by architecture llama, q and k rows reordered by the"));
}

// ---- LNG, DYN: frequencies by length

TEST_F(ReportsCli, Lng02TheContextChoosesTheListForAll) {
  Json document = small_llama(96);
  document["model_type"] = "phi3";
  document["max_position_embeddings"] = 131072;
  document["original_max_position_embeddings"] = 4096;
  document["rope_scaling"] = {{"type", "longrope"},
                              {"long_factor", std::vector<double>(48, 8.0)},
                              {"short_factor", std::vector<double>(48, 1.0)}};
  const std::string model = config("phi", document);
  const auto first_rate = [&](const std::string& context) {
    Json shown = show(model, {"--context", context});
    EXPECT_EQ(shown["groups"][0]["rotary"]["spectra"].size(), 1u);
    return spectrum(shown)["pairs"][0]["inv_freq"].get<double>();
  };
  EXPECT_EQ(first_rate("1"), 1);
  EXPECT_EQ(first_rate("4096"), 1);
  EXPECT_EQ(first_rate("4097"), 0.125);
  EXPECT_EQ(first_rate("131072"), 0.125);
  EXPECT_THAT(text({"show", model, "--context", "4096"}),
              AllOf(HasSubstr("the short list, for all"), Not(HasSubstr("cost quality"))));
  EXPECT_THAT(text({"show", model, "--context", "4097"}),
              AllOf(HasSubstr("the long list, for all"), HasSubstr("cost quality on texts below")));
  // Phi-3's amplitude, in both.
  Json shown = show(model);
  EXPECT_NEAR(spectrum(shown)["amplitude"].get<double>(), 1.1902380714238083, 1e-15);
}

TEST_F(ReportsCli, Dyn01TheBaseAtALength) {
  Json document = small_llama();
  document["rope_scaling"] = {{"rope_type", "dynamic"}, {"factor", 2.0}};
  const std::string model = config("m", document);
  const auto base = [&](const std::string& context) {
    Json shown = show(model, {"--context", context});
    const Json& found = spectrum(shown)["base"];
    return found.is_null() ? 10000.0 : found.get<double>();
  };
  EXPECT_EQ(base("1"), 10000);
  EXPECT_EQ(base("4096"), 10000);
  EXPECT_NEAR(base("8192"), 30527.74, 0.005);
  EXPECT_NEAR(base("16384"), 72195.86, 0.005);
}

// ---- YRN, AMP: tables and magnitudes

TEST_F(ReportsCli, Yrn05TwoFilesAreToldEqualOrApart) {
  const std::string a = config("a", kimi());
  Json shown = show(a);
  EXPECT_EQ(spectrum(shown)["amplitude"], 1.0);
  EXPECT_NEAR(spectrum(shown)["logit_multiplier"].get<double>(), 2.004740, 5e-7);
  // The ramp runs from pair 8 to pair 20: those before it are unscaled, those after it by 64.
  const Json& pairs = spectrum(shown)["pairs"];
  const auto plain = [](int pair) { return std::pow(50000.0, -2.0 * pair / 64); };
  EXPECT_NEAR(pairs[8]["inv_freq"].get<double>() / plain(8), 1, 1e-14);
  EXPECT_LT(pairs[9]["inv_freq"].get<double>() / plain(9), 1 - 1e-3);
  EXPECT_GT(pairs[19]["inv_freq"].get<double>() / plain(19) * 64, 1 + 1e-3);
  EXPECT_NEAR(pairs[20]["inv_freq"].get<double>() / plain(20) * 64, 1, 1e-13);

  EXPECT_THAT(text({"compare", a, config("b", kimi())}), HasSubstr("identical tables"));
  Json other = kimi();
  other["rope_scaling"]["beta_fast"] = 1;
  const Json compared = run_json({"compare", a, config("c", other)}, 1);
  EXPECT_EQ(compared["parting"]["pair"], 9);
}

TEST_F(ReportsCli, Amp01BothNumbersArePrintedAlways) {
  Json shown = show(config("v3", deepseek()));
  EXPECT_EQ(spectrum(shown)["amplitude"], 1.0);
  EXPECT_NEAR(spectrum(shown)["logit_multiplier"].get<double>(), 1.873854, 5e-7);
  Json without = deepseek();
  without["rope_scaling"].erase("mscale");
  without["rope_scaling"].erase("mscale_all_dim");
  Json plain = show(config("plain", without));
  EXPECT_NEAR(spectrum(plain)["amplitude"].get<double>(), 1.368888, 5e-7);
  EXPECT_EQ(spectrum(plain)["logit_multiplier"], 1.0);
  EXPECT_THAT(text({"show", config("llama", small_llama())}),
              AllOf(HasSubstr("amplitude"), HasSubstr("logit multiplier")));
}

// ---- LYR, MRP, SCH, SWA: layers, axes, scales, windows

TEST_F(ReportsCli, Lyr01OneBlockForEachKindOfLayer) {
  const Json gemma = {{"model_type", "gemma3_text"},
                      {"hidden_size", 2560},
                      {"num_attention_heads", 8},
                      {"num_key_value_heads", 4},
                      {"head_dim", 256},
                      {"num_hidden_layers", 34},
                      {"max_position_embeddings", 131072},
                      {"rope_theta", 1000000},
                      {"rope_local_base_freq", 10000},
                      {"rope_scaling", {{"rope_type", "linear"}, {"factor", 8.0}}},
                      {"sliding_window", 1024},
                      {"sliding_window_pattern", 6}};
  const std::string model = config("gemma", gemma);
  Json shown = show(model);
  ASSERT_EQ(shown["groups"].size(), 2u);
  for (const Json& group : shown["groups"]) {
    const bool full = group["name"] == "full_attention";
    if (full) {
      EXPECT_EQ(group["layers"], Json({5, 11, 17, 23, 29}));
    }
    EXPECT_NEAR(group["rotary"]["spectra"][0]["pairs"][1]["inv_freq"].get<double>(),
                full ? 0.1122109 : 0.9305720, 5e-8);
  }
  EXPECT_THAT(text({"show", model}), HasSubstr("Layers 5, 11, 17, 23, 29 (full_attention)"));
}

TEST_F(ReportsCli, Mrp02TheAxisOfEachPairIsPrinted) {
  Json document = small_llama();
  document["model_type"] = "qwen2_vl";
  document["rope_scaling"] = {{"type", "mrope"}, {"mrope_section", {16, 24, 24}}};
  const std::string model = config("qwen", document);
  Json shown = show(model);
  const Json& pairs = spectrum(shown)["pairs"];
  EXPECT_EQ(pairs[0]["axis"], "time");
  EXPECT_EQ(pairs[16]["axis"], "height");
  EXPECT_EQ(pairs[63]["axis"], "width");
  EXPECT_THAT(text({"show", model}), HasSubstr("time 16, height 24, width 24"));
}

TEST_F(ReportsCli, Sch05TheQueryScaleByPosition) {
  const Json qwen = {{"model_type", "qwen"},
                     {"hidden_size", 4096},
                     {"num_attention_heads", 32},
                     {"num_hidden_layers", 32},
                     {"kv_channels", 128},
                     {"seq_length", 2048},
                     {"max_position_embeddings", 8192},
                     {"rotary_emb_base", 10000},
                     {"rotary_pct", 1.0},
                     {"use_logn_attn", true},
                     {"use_dynamic_ntk", true}};
  Json shown = show(config("qwen", qwen), {"--positions", "0,2047,2999,8191"});
  const Json& positions = spectrum(shown)["positions"];
  EXPECT_EQ(positions[0]["query_scale"], 1.0);
  EXPECT_EQ(positions[1]["query_scale"], 1.0);
  EXPECT_NEAR(positions[2]["query_scale"].get<double>(), 1.050068, 5e-7);
  EXPECT_NEAR(positions[3]["query_scale"].get<double>(), 1.181818, 5e-7);
}

TEST_F(ReportsCli, Sch08ChunksAreToldAndWhoIgnoresThem) {
  Json document = small_llama(128, 10000, 1010000);
  document["model_type"] = "qwen2";
  document["dual_chunk_attention_config"] = {
      {"chunk_size", 262144}, {"local_size", 8192}, {"original_max_position_embeddings", 262144}};
  const std::string model = config("m", document);
  EXPECT_THAT(text({"show", model}), HasSubstr("dca,chunk=262144,local=8192"));
  std::vector<std::string> ignore;
  const Json shown = show(model);
  for (const Json& view : shown["engines"]) {
    if (view["rule"] != 16) continue;
    EXPECT_THAT(view["takes"].get<std::string>(), HasSubstr("every token sees the true distance"));
    ignore.push_back(view["engine"]);
  }
  EXPECT_THAT(ignore, testing::UnorderedElementsAre("llama.cpp", "transformers"));
}

TEST_F(ReportsCli, Swa01WhatAWindowMeansIsSaid) {
  Json document = small_llama();
  document["model_type"] = "mistral";
  document["sliding_window"] = 128;
  EXPECT_THAT(text({"show", config("m", document)}),
              HasSubstr("128 keys: itself and those before it"));
}

// ---- TAB, OVF, SEC

TEST_F(ReportsCli, Ovf05FarPositionsAreShown) {
  const Json shown = show(config("m", small_llama(128, 10000, 1048576)),
                          {"--positions", "1048575", "--context", "1048576"});
  EXPECT_NEAR(shown["groups"][0]["rotary"]["spectra"][0]["positions"][0]["cos"][0].get<double>(),
              std::cos(1048575.0), 1e-15);
}

TEST_F(ReportsCli, Sec12NumbersThatAreNoneAreNamed) {
  for (const char* value : {"Infinity", "NaN", "-1", "0", "\"1e6\""}) {
    std::string document = small_llama().dump();
    const size_t start = document.find("10000.0");
    ASSERT_NE(start, std::string::npos);
    document.replace(start, 7, value);
    const RunResult result = run({"check", file("config.json", document)});
    EXPECT_EQ(result.status, 1) << value;
    EXPECT_THAT(result.out, testing::AnyOf(HasSubstr("rope_theta"), HasSubstr("column"))) << value;
  }
}

// ---- EXT, SWA: lengths and windows

// An encoder trained at 2048 tokens that is to read 8192: both lengths and the scheme are told.
TEST_F(ReportsCli, Ext12BothLengthsOfAnEncoderAreTold) {
  const Json document = {{"model_type", "nomic_bert"},
                         {"n_embd", 768},
                         {"n_head", 12},
                         {"n_layer", 12},
                         {"n_inner", 3072},
                         {"n_positions", 8192},
                         {"max_trained_positions", 2048},
                         {"rotary_emb_base", 1000},
                         {"rotary_emb_fraction", 1.0},
                         {"rotary_emb_interleaved", false},
                         {"rotary_scaling_factor", 2}};
  const std::string model = config("m", document);
  EXPECT_THAT(text({"show", model}),
              AllOf(HasSubstr("usable length      8192 tokens"), HasSubstr("2048"),
                    HasSubstr("dynamic_ntk,factor=2,block=all")));
}

TEST_F(ReportsCli, Swa03AWindowSwitchedOffIsNone) {
  Json document = small_llama();
  document["model_type"] = "qwen2";
  document["sliding_window"] = 4096;
  document["use_sliding_window"] = false;
  EXPECT_THAT(text({"show", config("m", document)}),
              AllOf(HasSubstr("use_sliding_window is false"), HasSubstr("sliding_window"),
                    Not(HasSubstr("itself and those before it"))));
}

}  // namespace
}  // namespace ropewalk
