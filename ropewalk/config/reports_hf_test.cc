// What went wrong elsewhere, by the codes of the collected reports: which key counts, which base,
// which amplitude. Numbers are those of the reports, of which most have seven digits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ropewalk/config/hf_test_support.h"
#include "ropewalk/config/hf_tokenizer_length.h"
#include "ropewalk/math/distance_map.h"

namespace ropewalk {
namespace {

using namespace reports;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// ---- CFG: scaling block ignored, wrong key, precedence

TEST(Reports, CFG_01_DeclaredFactorCounts) {
  Json config = llama(128, 1e6, 40960, R"({"rope_type": "yarn", "factor": 4,
                                           "original_max_position_embeddings": 32768})");
  const ModelConfig declared = read(config);
  EXPECT_DIGITS(spectrum_at(declared, 1).amplitude, 1.138629);
  ASSERT_NE(warning(declared, "rope_scaling.factor"), nullptr);
  EXPECT_THAT(warning(declared, "rope_scaling.factor")->text,
              AllOf(HasSubstr("is 4"), HasSubstr("1.25")));
}

TEST(Reports, CFG_02_UsableLengthIsNotScaledTwice) {
  const ModelConfig deepseek =
      read(llama(64, 10000, 1048576, R"({"type": "deepseek_yarn", "factor": 32,
                                         "original_max_position_embeddings": 32768})"));
  EXPECT_EQ(deepseek.usable_length, 1048576);
  const ModelConfig telechat =
      read(llama(64, 10000, 32768, R"({"type": "telechat3-yarn", "factor": 4,
                                       "original_max_position_embeddings": 8192})"));
  EXPECT_EQ(telechat.usable_length, 32768);
  EXPECT_THAT(telechat.usable_reason, HasSubstr("original_length"));
}

TEST(Reports, CFG_04_TypeSpellings) {
  const auto with = [](const char* type) {
    Json config = llama(64, 5e5, 131072);
    config["rope_scaling"] = Json::parse(type);
    config["rope_scaling"].update({{"factor", 32.0},
                                   {"low_freq_factor", 1.0},
                                   {"high_freq_factor", 4.0},
                                   {"original_max_position_embeddings", 8192}});
    return config;
  };
  const std::vector<double> wanted =
      spectrum_at(read(with(R"({"rope_type": "llama3"})")), 1).inv_freq();
  EXPECT_EQ(spectrum_at(read(with(R"({"type": "llama3"})")), 1).inv_freq(), wanted);
  EXPECT_EQ(spectrum_at(read(with(R"({"type": "llama3", "rope_type": "llama3"})")), 1).inv_freq(),
            wanted);
  EXPECT_THAT(refusal(with(R"({"type": "yarn", "rope_type": "llama3"})")),
              AllOf(HasSubstr("llama3"), HasSubstr("yarn")));
}

Json gpt_oss() {
  return {{"model_type", "gpt_oss"}, {"hidden_size", 2880}, {"num_attention_heads", 64},
          {"num_hidden_layers", 24}, {"head_dim", 64},      {"max_position_embeddings", 131072},
          {"sliding_window", 128}};
}

TEST(Reports, CFG_05_BothFormsOfGptOss) {
  const Json scaling = Json::parse(R"({"rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0,
      "beta_slow": 1.0, "truncate": false, "original_max_position_embeddings": 4096})");
  Json legacy = gpt_oss();
  legacy["rope_theta"] = 150000;
  legacy["rope_scaling"] = scaling;
  Json modern = gpt_oss();
  modern["rope_parameters"] = scaling;
  modern["rope_parameters"]["rope_theta"] = 150000;
  const ModelConfig a = read(legacy);
  const ModelConfig b = read(modern);
  EXPECT_EQ(spectrum_at(a, 1).inv_freq(), spectrum_at(b, 1).inv_freq());
  EXPECT_EQ(a.groups[0].scheme, b.groups[0].scheme);
  EXPECT_DIGITS(spectrum_at(a, 1).amplitude, 1.346574);
  // Between pairs 8.0928 and 17.3980: 8 stays, 9 has begun to slow, 18 is slowed in full.
  const double step = std::pow(150000.0, -2.0 / 64);
  EXPECT_DIGITS(frequency(a, 8), std::pow(step, 8));
  EXPECT_LT(frequency(a, 9), std::pow(step, 9) * (1 - 1e-3));
  EXPECT_DIGITS(frequency(a, 18), std::pow(step, 18) / 32);
  EXPECT_EQ(rotary(a, 0).visibility.window, 128);
  EXPECT_EQ(rotary(a, 1).visibility.window, kUnbounded);
}

TEST(Reports, CFG_06_NearSpellingIsNamed) {
  Json config = llama(128, 10000, 16384);
  config.erase("rope_scaling");
  config["rotary_scaling"] = {{"type", "linear"}, {"factor", 4}};
  const ModelConfig declared = read(config);
  const Finding* const found = warning(declared, "rotary_scaling");
  ASSERT_NE(found, nullptr);
  EXPECT_THAT(found->text,
              AllOf(HasSubstr("unknown key"), HasSubstr("did you mean rope_scaling?")));
}

TEST(Reports, CFG_08_FactorIsTheFilesOwn) {
  const std::string tail = R"(, "rope_type": "llama3", "low_freq_factor": 1.0,
                              "high_freq_factor": 4.0, "original_max_position_embeddings": 8192})";
  const auto slowest = [&](const std::string& factor) {
    return frequency(read(llama(64, 5e5, 131072, ("{\"factor\": " + factor + tail).c_str())), 31);
  };
  EXPECT_DIGITS(slowest("32"), 9.41831e-8);
  EXPECT_DIGITS(slowest("8"), 3.76732e-7);
}

TEST(Reports, CFG_09_UnknownTypesAreRefused) {
  EXPECT_THAT(refusal(llama(128, 10000, 4096, R"({"rope_type": "foo", "factor": 4})")),
              AllOf(HasSubstr("foo"), HasSubstr("linear"), HasSubstr("llama3")));
  for (const char* plain : {R"({"rope_type": null})", R"({"rope_type": "default"})",
                            R"({"type": "none"})", "null", "{}"}) {
    EXPECT_EQ(read(llama(128, 10000, 4096, plain)).groups[0].scheme, "rope") << plain;
  }
}

TEST(Reports, CFG_11_AbsentOriginalLengthIsAssumedAloud) {
  const ModelConfig declared =
      read(llama(128, 10000, 4096, R"({"rope_type": "yarn", "factor": 2})"));
  const std::string key = "rope_scaling.original_max_position_embeddings";
  ASSERT_NE(warning(declared, key), nullptr);
  EXPECT_EQ(warning(declared, key)->kind, FaultKind::kAssumedValue);
  EXPECT_EQ(find_field(declared, "original_length")->provenance, Provenance::kAssumed);
  EXPECT_EQ(find_field(declared, "original_length")->value, "4096");
}

TEST(Reports, CFG_18_ThreeLengths) {
  Json gptj = {{"model_type", "gptj"}, {"n_embd", 4096}, {"n_head", 16}, {"n_positions", 2048}};
  ModelConfig declared = read(gptj);
  EXPECT_EQ(declared.usable_length, 2048);
  note_tokenizer_length(declared, {{"model_max_length", 1024}});
  EXPECT_EQ(declared.usable_length, 2048);
  ASSERT_NE(warning(declared, "model_max_length"), nullptr);
  EXPECT_THAT(warning(declared, "model_max_length")->text,
              AllOf(HasSubstr("1024"), HasSubstr("2048")));

  declared = read(gptj);
  note_tokenizer_length(declared,
                        Json::parse(R"({"model_max_length": 1000000000000000019884624838656})"));
  EXPECT_EQ(warning(declared, "model_max_length"), nullptr);
  EXPECT_THAT(declared.findings.back().text, HasSubstr("unset"));

  for (const char* const wrong : {R"("4096")", "true", "[1]", "{}"}) {
    declared.findings.clear();
    note_tokenizer_length(declared, {{"model_max_length", Json::parse(wrong)}});
    ASSERT_NE(warning(declared, "model_max_length"), nullptr) << wrong;
    EXPECT_EQ(warning(declared, "model_max_length")->kind, FaultKind::kBadType);
  }
  declared.findings.clear();
  note_tokenizer_length(declared, Json::array({1}));
  ASSERT_NE(warning(declared, "tokenizer_config.json"), nullptr);

  const ModelConfig roberta = read({{"model_type", "roberta"},
                                    {"hidden_size", 768},
                                    {"num_attention_heads", 12},
                                    {"max_position_embeddings", 514},
                                    {"pad_token_id", 1}});
  EXPECT_EQ(roberta.usable_length, 512);
}

TEST(Reports, CFG_19_FactorIsOnPositions) {
  const ModelConfig declared = read(llama(4, 10000, 4096, R"({"type": "linear", "factor": 2})"));
  EXPECT_THAT(spectrum_at(declared, 1).inv_freq(), ElementsAre(0.5, 0.005));
}

// ---- BAS: base wrong, or lost in the change of form

TEST(Reports, BAS_01_BaseInsideTheBlock) {
  Json config = {{"model_type", "llama"}, {"head_dim", 128}, {"max_position_embeddings", 8192}};
  config["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 500000}};
  EXPECT_EQ(rotary(read(config)).source.base.hi, 500000);
  config["rope_theta"] = 10000;
  EXPECT_THAT(refusal(config), AllOf(HasSubstr("rope_theta"), HasSubstr("10000"),
                                     HasSubstr("rope_parameters.rope_theta 500000")));
}

TEST(Reports, BAS_02_NestedLlama3) {
  Json config = {{"model_type", "llama"}, {"head_dim", 128}, {"max_position_embeddings", 131072}};
  config["rope_parameters"] = {
      {"rope_type", "llama3"},   {"rope_theta", 500000},
      {"factor", 8.0},           {"low_freq_factor", 1.0},
      {"high_freq_factor", 4.0}, {"original_max_position_embeddings", 8192}};
  EXPECT_NEAR(frequency(read(config), 63), 3.06893e-7, 0.5e-12);
}

TEST(Reports, BAS_06_GlobalBaseAlone) {
  Json config = gemma3("null");
  config["rope_theta"] = 2000000;
  const ModelConfig declared = read(config);
  EXPECT_EQ(rotary(declared, 5).source.base.hi, 2000000);
  EXPECT_EQ(rotary(declared, 0).source.base.hi, 10000);
}

// ---- L3: what a config decides

TEST(Reports, L3_02_Llama32) {
  const ModelConfig declared =
      read(llama(64, 5e5, 131072, R"({"rope_type": "llama3", "factor": 32, "low_freq_factor": 1,
                           "high_freq_factor": 4, "original_max_position_embeddings": 8192})"));
  EXPECT_DIGITS(frequency(declared, 14), std::pow(5e5, -28.0 / 64));
  EXPECT_DIGITS(frequency(declared, 15), 1.290548e-3);
  EXPECT_DIGITS(frequency(declared, 16), 4.295568e-4);
  EXPECT_DIGITS(frequency(declared, 17), 9.708288e-5);
  EXPECT_DIGITS(frequency(declared, 31), 9.418307e-8);
}

TEST(Reports, L3_09_ExtraKeysWarnMissingOnesFail) {
  const std::string block = R"({"rope_type": "llama3", "factor": 8, "low_freq_factor": 1,
                                "original_max_position_embeddings": 8192)";
  const ModelConfig declared =
      read(llama(128, 5e5, 131072, (block + R"(, "high_freq_factor": 4, "mystery": 1})").c_str()));
  EXPECT_NE(warning(declared, "rope_scaling.mystery"), nullptr);
  EXPECT_THAT(refusal(llama(128, 5e5, 131072, (block + "}").c_str())),
              HasSubstr("rope_scaling.high_freq_factor"));
}

// ---- AMP: amplitude and logit multiplier

TEST(Reports, AMP_01_SquareOnLogits) {
  const Spectrum both = spectrum_at(read(deepseek(R"({"mscale": 1.0, "mscale_all_dim": 1.0})")), 1);
  EXPECT_EQ(both.amplitude, 1);
  EXPECT_DIGITS(both.logit_multiplier, 1.873854);
  const Spectrum none = spectrum_at(read(deepseek("{}")), 1);
  EXPECT_DIGITS(none.amplitude, 1.368888);
  EXPECT_EQ(none.logit_multiplier, 1);
}

TEST(Reports, AMP_02_DeepSeekV2Lite) {
  const Spectrum spectrum = spectrum_at(
      read(deepseek(R"({"mscale": 0.707, "mscale_all_dim": 0.707})", "deepseek_v2")), 1);
  EXPECT_EQ(spectrum.amplitude, 1);
  EXPECT_DIGITS(spectrum.logit_multiplier, 1.589626);
}

TEST(Reports, AMP_07_EveryFamilyThatSquares) {
  for (const char* family : {"deepseek_v2", "deepseek_v3", "deepseek_v32", "kimi_k2", "glm_moe_dsa",
                             "longcat_flash", "youtu", "mistral4"}) {
    Json config = deepseek(R"({"mscale": 1.0, "mscale_all_dim": 1.0})", family);
    EXPECT_DIGITS(spectrum_at(read(config), 1).logit_multiplier, 1.873854) << family;
  }
  // Others have the keys and do not square.
  Json config = llama(128, 10000, 163840);
  config["rope_scaling"] = deepseek(R"({"mscale": 1.0, "mscale_all_dim": 1.0})")["rope_scaling"];
  EXPECT_EQ(spectrum_at(read(config), 1).logit_multiplier, 1);
}

TEST(Reports, AMP_08_AttentionFactorOfTheFile) {
  const auto amplitude = [](const char* scaling) {
    return spectrum_at(read(llama(128, 1e6, 262144, scaling)), 1).amplitude;
  };
  EXPECT_EQ(amplitude(R"({"rope_type": "yarn", "factor": 64, "attention_factor": 1.0,
                          "original_max_position_embeddings": 4096})"),
            1);
  EXPECT_DIGITS(amplitude(R"({"rope_type": "yarn", "factor": 64,
                              "original_max_position_embeddings": 4096})"),
                1.415888);
  EXPECT_EQ(amplitude(R"({"rope_type": "yarn", "factor": 8, "attention_factor": 1.2079,
                          "original_max_position_embeddings": 4096})"),
            1.2079);
}

}  // namespace
}  // namespace ropewalk
