// What went wrong elsewhere, by the codes of the collected reports: frequencies by length, by width,
// by layer and by axis. Numbers are those of the reports, of which most have seven digits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ropewalk/config/hf_test_support.h"

namespace ropewalk {
namespace {

using namespace reports;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// ---- YRN: correction range

TEST(Reports, YRN_01_Golden) {
  const ModelConfig declared = read(
      llama(128, 1e6, 131072,
            R"({"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 32768})"));
  EXPECT_EQ(frequency(declared, 0), 1);
  EXPECT_DIGITS(frequency(declared, 23), 6.978306e-3);
  EXPECT_DIGITS(frequency(declared, 40), 4.445699e-5);
  EXPECT_DIGITS(frequency(declared, 63), 3.102344e-7);
}

TEST(Reports, YRN_03_LowerBoundBelowZero) {
  const ModelConfig declared =
      read(llama(8, 1e4, 256,
                 R"({"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 64})"));
  const std::vector<double> wanted = {1, 0.0625, 0.0025, 0.00025};
  for (size_t pair = 0; pair < 4; ++pair) EXPECT_DIGITS(frequency(declared, pair), wanted[pair]);
}

TEST(Reports, YRN_05_KimiK25) {
  Json config = deepseek(R"({"mscale": 1.0, "mscale_all_dim": 1.0})", "kimi_k2");
  config["rope_theta"] = 50000;
  config["max_position_embeddings"] = 262144;
  config["rope_scaling"]["factor"] = 64;
  const Spectrum spectrum = spectrum_at(read(config), 1);
  EXPECT_EQ(spectrum.amplitude, 1);
  EXPECT_DIGITS(spectrum.logit_multiplier, 2.004740);
  const double step = std::pow(50000.0, -2.0 / 64);
  EXPECT_DIGITS(spectrum.inv_freq()[8], std::pow(step, 8));
  EXPECT_DIGITS(spectrum.inv_freq()[20], std::pow(step, 20) / 64);
}

TEST(Reports, YRN_06_SwappedBetas) {
  EXPECT_THAT(refusal(llama(128, 1e6, 131072,
                            R"({"rope_type": "yarn", "factor": 4, "beta_fast": 1, "beta_slow": 32,
                                "original_max_position_embeddings": 32768})")),
              HasSubstr("swapped"));
}

TEST(Reports, YRN_09_TruncatedToTheWidth) {
  const ModelConfig declared = read(
      llama(64, 10000, 524288,
            R"({"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 131072})"));
  EXPECT_DIGITS(frequency(declared, 28), 2.067643e-4);
  EXPECT_DIGITS(frequency(declared, 31), 6.411161e-5);
}

// ---- LNG: short and long lists

Json phi(const char* more = "{}") {
  Json config = llama(8, 10000, 131072);
  config["model_type"] = "phi3";
  config["original_max_position_embeddings"] = 4096;
  config["rope_scaling"] = {
      {"type", "longrope"}, {"short_factor", {1, 1, 1, 1}}, {"long_factor", {1, 2, 4, 8}}};
  config["rope_scaling"].update(Json::parse(more));
  return config;
}

TEST(Reports, LNG_02_LNG_04_OneListForAllTokens) {
  const ModelConfig declared = read(phi());
  EXPECT_EQ(rotary(declared).spectrum.length(), SpectrumRule::Length::kSequence);
  EXPECT_DIGITS(frequency(declared, 3, 4096), 1e-3);
  EXPECT_DIGITS(frequency(declared, 3, 4097), 1e-3 / 8);
  EXPECT_TRUE(notes_mention(declared, "above 4096 tokens"));
  EXPECT_TRUE(notes_mention(declared, "cost short texts"));
}

TEST(Reports, LNG_06_Amplitudes) {
  EXPECT_DIGITS(spectrum_at(read(phi()), 1).amplitude, 1.190238);
  const ModelConfig own = read(phi(R"({"short_mscale": 1.1, "long_mscale": 1.25})"));
  EXPECT_EQ(spectrum_at(own, 4096).amplitude, 1.1);
  EXPECT_NEAR(spectrum_at(own, 4097).amplitude, 1.25, 1e-15);
  EXPECT_EQ(spectrum_at(read(phi(R"({"factor": 1.0})")), 1).amplitude, 1);
}

// ---- DYN: dynamic NTK

TEST(Reports, DYN_01_BaseGrowsWithTheLength) {
  const ModelConfig declared = read(llama(128, 1e4, 4096, R"({"type": "dynamic", "factor": 2})"));
  EXPECT_DIGITS(base_at(declared, 4096), 10000);
  EXPECT_DIGITS(base_at(declared, 8192), 30527.74);
  EXPECT_DIGITS(base_at(declared, 16384), 72195.86);
}

TEST(Reports, DYN_02_DYN_05_DYN_07_NothingBelowTheTrainedLength) {
  const ModelConfig declared = read(llama(128, 1e4, 2048, R"({"type": "dynamic", "factor": 2})"));
  const std::vector<double> plain = spectrum_at(read(llama(128, 1e4, 2048)), 1).inv_freq();
  for (const int64_t n : {1, 1024, 2047, 2048}) {
    EXPECT_EQ(spectrum_at(declared, n).inv_freq(), plain) << n;
  }
}

TEST(Reports, DYN_06_Nomic) {
  const ModelConfig declared = read({{"model_type", "nomic_bert"},
                                     {"n_embd", 768},
                                     {"n_head", 12},
                                     {"n_positions", 8192},
                                     {"max_trained_positions", 2048},
                                     {"rotary_emb_base", 1000},
                                     {"rotary_emb_fraction", 1.0},
                                     {"rotary_scaling_factor", 2}});
  EXPECT_EQ(declared.usable_length, 8192);
  const double power = 64.0 / 62;
  EXPECT_DIGITS(base_at(declared, 2048), 1000);
  EXPECT_DIGITS(base_at(declared, 4096), 1000 * std::pow(3, power));
  EXPECT_DIGITS(base_at(declared, 8192), 1000 * std::pow(7, power));
}

// flash-attn's key for xPos, which no published model sets.
TEST(HfScaling, NomicMayDecay) {
  Json file = {{"model_type", "nomic_bert"},
               {"n_embd", 768},
               {"n_head", 12},
               {"n_positions", 2048},
               {"rotary_emb_base", 10000},
               {"rotary_emb_fraction", 1.0},
               {"rotary_emb_scale_base", nullptr}};
  EXPECT_TRUE(spectrum_at(read(file), 1).decay.empty());
  file["rotary_emb_scale_base"] = 256;
  const ModelConfig declared = read(file);
  EXPECT_EQ(declared.groups[0].scheme, "xpos,scale_base=256");
  const Spectrum spectrum = spectrum_at(declared, 1);
  ASSERT_EQ(spectrum.decay.size(), 32U);
  EXPECT_NEAR(spectrum.decay[31], std::log((62 + 0.4 * 64) / (1.4 * 64)) / 256, 1e-17);
  EXPECT_EQ(spectrum.inv_freq()[0], 1);
  Json both = file;
  both["max_trained_positions"] = 2048;
  both["rotary_scaling_factor"] = 2;
  EXPECT_THROW(read(both), Error);
  for (const double wrong : {0.0, -512.0, 1e300}) {
    file["rotary_emb_scale_base"] = wrong;
    EXPECT_THROW(read(file), Error) << wrong;
  }
}

TEST(Reports, DYN_09_LengthIsAnArgument) {
  const ModelConfig declared = read(llama(128, 1e4, 2048, R"({"type": "dynamic", "factor": 2})"));
  const std::vector<double> first = spectrum_at(declared, 100).inv_freq();
  EXPECT_NE(spectrum_at(declared, 8192).inv_freq(), first);
  EXPECT_EQ(spectrum_at(declared, 100).inv_freq(), first);
}

// ---- PAR: partial rotary

TEST(Reports, PAR_01_ExponentsOverTheRotatedPart) {
  Json config = llama(256, 1e7, 4096);
  config["partial_rotary_factor"] = 0.25;
  const ModelConfig declared = read(config);
  EXPECT_EQ(rotary(declared).layout.second(0), 32);
  EXPECT_DIGITS(frequency(declared, 1), 0.604296);
  EXPECT_DIGITS(frequency(declared, 31), 1.654817e-7);
}

TEST(Reports, PAR_02_GlmTurnsHalf) {
  const ModelConfig declared =
      read({{"model_type", "glm"}, {"head_dim", 128}, {"max_position_embeddings", 8192}});
  EXPECT_EQ(rotary(declared).layout.rotary_dim, 64);
  EXPECT_EQ(find_field(declared, "rotary_dim")->provenance, Provenance::kFamilyDefault);
  EXPECT_THAT(find_field(declared, "rotary_dim")->from, HasSubstr("0.5"));
}

TEST(Reports, PAR_04_ShareWithoutAndWithABlock) {
  for (const char* scaling : {"null", R"({"type": "linear", "factor": 2})"}) {
    Json config = llama(128, 10000, 4096, scaling);
    config["partial_rotary_factor"] = 0.5;
    EXPECT_EQ(rotary(read(config)).layout.rotary_dim, 64) << scaling;
  }
}

TEST(Reports, PAR_05_Proportional) {
  Json config = {{"model_type", "gemma4_text"},
                 {"num_hidden_layers", 6},
                 {"head_dim", 256},
                 {"global_head_dim", 512}};
  config["rope_parameters"] = Json::parse(R"({
      "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25,
                         "rope_theta": 1000000.0},
      "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}})");
  const ModelConfig declared = read(config);
  const Rotary& full = rotary(declared, 5);
  const std::vector<double> inv_freq = full.spectrum.at(1).inv_freq();
  ASSERT_EQ(inv_freq.size(), 256U);
  EXPECT_DIGITS(inv_freq[1], 0.947464);
  EXPECT_DIGITS(inv_freq[63], 3.337625e-2);
  for (size_t pair = 64; pair < 256; ++pair) EXPECT_EQ(inv_freq[pair], 0);
  EXPECT_EQ(full.layout.second(0), 256);
}

TEST(Reports, PAR_07_HeadWidthIsRead) {
  const ModelConfig nemo = read({{"model_type", "mistral"},
                                 {"hidden_size", 5120},
                                 {"num_attention_heads", 32},
                                 {"head_dim", 128}});
  EXPECT_EQ(rotary(nemo).layout.head_dim, 128);
  const ModelConfig gemma = read({{"model_type", "gemma2"},
                                  {"hidden_size", 3584},
                                  {"num_hidden_layers", 2},
                                  {"num_attention_heads", 16},
                                  {"head_dim", 256}});
  EXPECT_EQ(rotary(gemma).layout.head_dim, 256);
}

TEST(Reports, PAR_08_OddWidthsAreRefused) {
  EXPECT_THAT(refusal({{"model_type", "llama"}, {"hidden_size", 520}, {"num_attention_heads", 8}}),
              AllOf(HasSubstr("must be even"), HasSubstr("65")));
  EXPECT_THAT(refusal({{"model_type", "gpt_neox"},
                       {"hidden_size", 32},
                       {"num_attention_heads", 8},
                       {"rotary_pct", 0.75}}),
              AllOf(HasSubstr("rotary_pct"), HasSubstr("3")));
}

// ---- LYR: layers that differ

TEST(Reports, LYR_01_LYR_10_Gemma3) {
  const ModelConfig declared = read(gemma3(R"({"rope_type": "linear", "factor": 8.0})"));
  ASSERT_EQ(declared.groups.size(), 2U);
  EXPECT_THAT(declared.groups[1].layers, ElementsAre(5, 11, 17, 23, 29));
  EXPECT_EQ(declared.groups[1].name, "full_attention");
  EXPECT_EQ(declared.groups[1].scheme, "linear,factor=8");
  EXPECT_DIGITS(rotary(declared, 5).spectrum.at(1).inv_freq()[1], 0.1122109);
  EXPECT_DIGITS(rotary(declared, 0).spectrum.at(1).inv_freq()[1], 0.9305720);
  EXPECT_EQ(declared.groups[0].scheme, "rope+window,size=1024");
}

TEST(Reports, LYR_03_ModernBertBeginsGlobal) {
  const ModelConfig declared = read({{"model_type", "modernbert"},
                                     {"hidden_size", 768},
                                     {"num_attention_heads", 12},
                                     {"num_hidden_layers", 22},
                                     {"global_attn_every_n_layers", 3}});
  for (size_t layer = 0; layer < 22; ++layer) {
    EXPECT_EQ(rotary(declared, layer).source.base.hi, layer % 3 == 0 ? 160000 : 10000) << layer;
  }
}

Json smollm3(const Json& list) {
  return {{"model_type", "smollm3"},
          {"hidden_size", 2048},
          {"num_attention_heads", 16},
          {"num_hidden_layers", 36},
          {"no_rope_layers", list}};
}

TEST(Reports, LYR_04_OneMeansRotated) {
  Json list = Json::array();
  Json inverted = Json::array();
  for (int layer = 0; layer < 36; ++layer) {
    list.push_back(layer % 4 == 3 ? 0 : 1);
    inverted.push_back(layer % 4 == 3 ? 1 : 0);
  }
  for (const Json& said : {Json(), Json::array(), list}) {
    const ModelConfig declared = read(smollm3(said));
    for (size_t layer = 0; layer < 36; ++layer) {
      EXPECT_EQ(declared.layer(layer).has_value(), layer % 4 != 3) << said << " " << layer;
    }
    EXPECT_EQ(warning(declared, "no_rope_layers"), nullptr);
  }
  const ModelConfig declared = read(smollm3(inverted));
  ASSERT_NE(warning(declared, "no_rope_layers"), nullptr);
  EXPECT_THAT(warning(declared, "no_rope_layers")->text,
              AllOf(HasSubstr("75%"), HasSubstr("inverted?")));
}

TEST(Reports, LYR_06_ThreeStates) {
  Json config = gemma3("null");
  config.erase("rope_scaling");
  config.erase("rope_theta");
  config.erase("rope_local_base_freq");
  const Json block = {{"rope_type", "default"}, {"rope_theta", 5e5}};
  config["rope_parameters"] = {{"full_attention", nullptr}, {"sliding_attention", block}};
  const ModelConfig declared = read(config);
  EXPECT_TRUE(declared.layer(0));
  EXPECT_FALSE(declared.layer(5));
  config["rope_parameters"] = {{"sliding_attention", block}};
  EXPECT_THAT(refusal(config), HasSubstr("rope_parameters.full_attention: must be present"));
}

TEST(Reports, LYR_08_Temperatures) {
  const ModelConfig scout = read({{"model_type", "llama4_text"}, {"num_hidden_layers", 4}});
  EXPECT_EQ(scout.groups[scout.group_of_layer[3]].temperature,
            (QueryTemperature{.step_scale = 0.1, .step_length = 8192, .step_offset = 1}));
  EXPECT_EQ(rotary(scout, 0).temperature, QueryTemperature{});

  Json config = {{"model_type", "ministral3"}, {"head_dim", 128}};
  config["max_position_embeddings"] = 262144;
  config["rope_parameters"] = {{"rope_type", "yarn"},
                               {"factor", 16},
                               {"rope_theta", 1e6},
                               {"llama_4_scaling_beta", 0.1},
                               {"original_max_position_embeddings", 16384}};
  const QueryTemperature steps = rotary(read(config)).temperature;
  EXPECT_EQ(steps.at(16383), 1);
  EXPECT_DIGITS(steps.at(16384), 1.069315);
  EXPECT_DIGITS(steps.at(65536), 1.160944);
}

// ---- MRP: several axes

Json vl(const char* block) {
  Json config = llama(128, 1e6, 32768, block);
  config["model_type"] = "qwen2_vl";
  return config;
}

TEST(Reports, MRP_02_BlocksOrInTurn) {
  const auto first = [](const char* block) {
    const std::vector<uint8_t> axis = spectrum_at(read(vl(block)), 1).axis;
    return std::vector<int>(axis.begin(), axis.begin() + 6);
  };
  EXPECT_THAT(first(R"({"type": "mrope", "mrope_section": [16, 24, 24]})"),
              ElementsAre(0, 0, 0, 0, 0, 0));
  EXPECT_THAT(
      first(R"({"type": "mrope", "mrope_section": [16, 24, 24], "mrope_interleaved": true})"),
      ElementsAre(0, 1, 2, 0, 1, 2));
}

TEST(Reports, MRP_07_AxesInTurn) {
  Json config = {{"model_type", "qwen3_5_text"}, {"num_hidden_layers", 4}, {"head_dim", 256}};
  config["rope_parameters"] = Json::parse(R"({"rope_type": "default", "rope_theta": 10000000,
      "partial_rotary_factor": 0.25, "mrope_interleaved": true, "mrope_section": [11, 11, 10]})");
  const ModelConfig declared = read(config);
  const Spectrum spectrum = rotary(declared, 3).spectrum.at(1);
  ASSERT_EQ(spectrum.axis.size(), 32U);
  for (size_t pair = 0; pair < 32; ++pair) EXPECT_EQ(spectrum.axis[pair], pair % 3) << pair;
  // For text, which has one coordinate, the table is the same.
  config["model_type"] = "qwen3_next";
  config["rope_parameters"].erase("mrope_section");
  config["rope_parameters"].erase("mrope_interleaved");
  const ModelConfig text = read(config);
  EXPECT_EQ(rotary(text, 3).spectrum.at(1).inv_freq(), spectrum.inv_freq());
  EXPECT_TRUE(rotary(text, 3).spectrum.at(1).axis.empty());
}

}  // namespace
}  // namespace ropewalk
