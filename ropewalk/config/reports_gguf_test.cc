// Faults that were reported of other programs and that concern GGUF files, each under the code it
// has in the shared list of cases.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <numbers>

#include "ropewalk/config/gguf_form.h"
#include "ropewalk/config/scheme_writer.h"
#include "ropewalk/config/test_support.h"
#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<double> inv_freq(const ModelConfig& config, const std::string& group = {}) {
  const LayerGroup* const found = find_group(config, group);
  return found->rotary.value().spectrum.at(1).inv_freq();
}

// As Llama 3.1 8B's converter writes it, but for the tensor.
GgufBuilder llama31() {
  return plain_gguf()
      .set("llama.context_length", uint32_t{131072})
      .set("llama.rope.freq_base", 5e5F);
}

// As Gemma 3 4B's converter writes it.
GgufBuilder gemma3() {
  return plain_gguf("gemma3")
      .set("gemma3.block_count", uint32_t{34})
      .set("gemma3.context_length", uint32_t{131072})
      .set("gemma3.attention.key_length", uint32_t{256})
      .set("gemma3.attention.sliding_window", uint32_t{1024})
      .set("gemma3.rope.freq_base", 1e6F)
      .set("gemma3.rope.scaling.type", "linear")
      .set("gemma3.rope.scaling.factor", 8.0F);
}

class GgufReports : public testing::Test {
 protected:
  std::string write(const GgufBuilder& builder, const std::string& name = "model.gguf") const {
    return folder_.write(name, builder.file());
  }
  std::string out() const { return (std::filesystem::path(folder_.path()) / "out.gguf").string(); }
  ModelConfig written() const { return read_gguf_positions(GgufFile::open(out())); }

  const TempDirectory folder_;
};

// ---- GGU

TEST_F(GgufReports, GGU_01_LinearScaleSurvivesTheFile) {
  const std::string model = write(plain_gguf().tensor("weights", {1, 2}));
  write_model({.model = model, .scheme = "linear,factor=4", .output = out()});
  const GgufFile file = GgufFile::open(out());
  EXPECT_EQ(file.metadata().get_string("llama.rope.scaling.type"), "linear");
  EXPECT_EQ(file.metadata().get_f64("llama.rope.scaling.factor"), 4);
  const std::vector<double> plain = inv_freq(plain_gguf().positions());
  const std::vector<double> scaled = inv_freq(read_gguf_positions(file));
  for (size_t pair = 0; pair < plain.size(); ++pair) EXPECT_EQ(scaled[pair], plain[pair] / 4);
}

TEST_F(GgufReports, GGU_02_DenseAndSparseModelsReadAlike) {
  std::vector<std::vector<double>> read;
  for (const std::string name : {"qwen3", "qwen3moe"}) {
    GgufBuilder builder = plain_gguf(name);
    builder.set(name + ".context_length", uint32_t{131072})
        .set(name + ".rope.freq_base", 1e6F)
        .set(name + ".rope.scaling.type", "yarn")
        .set(name + ".rope.scaling.factor", 4.0F)
        .set(name + ".rope.scaling.original_context_length", uint32_t{32768});
    read.push_back(inv_freq(builder.positions()));
    const GgufForm form = gguf_form(plain_gguf(name).positions(), "yarn,factor=4");
    EXPECT_EQ(form.scaling_type, "yarn") << name;
    EXPECT_EQ(form.factor, 4.0F) << name;
  }
  EXPECT_EQ(read[0], read[1]);
}

TEST_F(GgufReports, GGU_05_KeysGoByTheFilesArchitecture) {
  for (const std::string name : {"qwen2", "gemma3", "phi3"}) {
    const ModelConfig config =
        plain_gguf(name).set(name + ".context_length", uint32_t{8192}).positions();
    EXPECT_EQ(find_field(config, "context_length")->from, name + ".context_length");
    EXPECT_EQ(config.usable_length, 8192);
  }
  const ModelConfig config = plain_gguf("qwen2").set("llama.rope.freq_base", 5e5F).positions();
  EXPECT_EQ(config.layer(0)->source.base, 10000.0);
  const Finding* const finding = find_finding(config, "llama.rope.freq_base");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->text, HasSubstr("the keys of this file start with qwen2."));
}

TEST_F(GgufReports, GGU_07_ALongerContextIsWrittenWhole) {
  const std::string model = write(
      plain_gguf("llama").set("llama.context_length", uint32_t{262144}).tensor("weights", {1}));
  write_model(
      {.model = model, .scheme = "yarn,factor=4", .target_length = 1048576, .output = out()});
  const GgufFile file = GgufFile::open(out());
  EXPECT_EQ(file.metadata().get_string("llama.rope.scaling.type"), "yarn");
  EXPECT_EQ(file.metadata().get_f64("llama.rope.scaling.factor"), 4);
  EXPECT_EQ(file.metadata().get_u64("llama.rope.scaling.original_context_length"), 262144U);
  EXPECT_EQ(file.metadata().get_u64("llama.context_length"), 1048576U);
  EXPECT_EQ(written().usable_length, 1048576);
  EXPECT_EQ(find_finding(written(), "context_length"), nullptr);

  // A file where someone forgot one of the four.
  const ModelConfig partial =
      plain_gguf()
          .set("llama.context_length", uint32_t{262144})
          .set("llama.rope.scaling.type", "yarn")
          .set("llama.rope.scaling.factor", 4.0F)
          .set("llama.rope.scaling.original_context_length", uint32_t{262144})
          .positions();
  const Finding* const finding = find_finding(partial, "llama.context_length");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->text, HasSubstr("stops short of what the scaling reaches"));
  EXPECT_THAT(finding->text, HasSubstr("1048576"));
}

TEST_F(GgufReports, GGU_08_ANameThatPromisesMoreThanTheFile) {
  GgufBuilder builder = plain_gguf();
  builder.set("general.name", "Yarn-Llama-2-7B-64K");
  const ModelConfig config = builder.positions();
  const Finding* const finding = find_finding(config, "general.name");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->text, HasSubstr("the name says 64k tokens"));
  EXPECT_THAT(finding->text, HasSubstr("cannot express its own training"));
  // With the scaling there is nothing to say, nor of sizes that are no lengths.
  builder.set("llama.context_length", uint32_t{65536})
      .set("llama.rope.scaling.type", "yarn")
      .set("llama.rope.scaling.factor", 16.0F)
      .set("llama.rope.scaling.original_context_length", uint32_t{4096});
  EXPECT_EQ(find_finding(builder.positions(), "general.name"), nullptr);
  for (const std::string name : {"stories260K", "Llama-2-7B", "Model-4k", "v1.128K", "Qwen 32kb"}) {
    EXPECT_EQ(find_finding(plain_gguf().set("general.name", name).positions(), "general.name"),
              nullptr)
        << name;
  }
}

// Adding a string moves the data, or it does not: either way its bytes stay and the old file too.
TEST_F(GgufReports, GGU_11_KeysAreAddedWithoutTouchingData) {
  for (const size_t padding : {size_t{1}, size_t{9}, size_t{17}, size_t{25}}) {
    const std::string model = write(plain_gguf()
                                        .set("general.name", std::string(padding, 'x'))
                                        .tensor("weights", {1, 2, 3, 4, 5}));
    const std::string before = read_file(model);
    const WriteReport report =
        write_model({.model = model, .scheme = "linear,factor=4", .output = out(), .force = true});
    EXPECT_EQ(report.data_before, report.data_after);
    EXPECT_EQ(read_file(model), before);
    const GgufFile file = GgufFile::open(out());
    EXPECT_EQ(file.find_tensor("weights")->offset % file.alignment(), 0U);
    EXPECT_EQ(read_vector(file, "weights", 5), (std::vector<float>{1, 2, 3, 4, 5}));
  }
}

TEST_F(GgufReports, GGU_13_TheLayoutSaysWhatImpliesIt) {
  const DeclaredField layout = *find_field(plain_gguf().positions(), "layout");
  EXPECT_EQ(layout.value, "interleaved");
  EXPECT_THAT(layout.from, HasSubstr("implied by architecture llama"));
  EXPECT_THAT(layout.from, HasSubstr("q and k rows reordered by the converter"));
  EXPECT_THAT(find_field(plain_gguf("command-r").positions(), "layout")->from,
              testing::Not(HasSubstr("reordered")));

  ByteWriter twice;
  twice.put_raw("GGUF").put<uint32_t>(3).put<uint64_t>(0).put<uint64_t>(2);
  for (int k = 0; k < 2; ++k) {
    twice.put_string("llama.attention.key_length").put<uint32_t>(4).put<uint32_t>(128);
  }
  EXPECT_THAT(message_of([&] { GgufFile::parse(as_bytes(twice.text()), "twice.gguf"); }),
              HasSubstr("must come once"));
}

// ---- L3

TEST_F(GgufReports, L3_01_TheMiddleBandOfDivisors) {
  const GgufForm form =
      gguf_form(llama31().positions(), "llama3,factor=8,low=1,high=4,original=8192");
  ASSERT_EQ(form.divisors.size(), 64U);
  for (size_t pair = 0; pair < 29; ++pair) EXPECT_EQ(form.divisors[pair], 1.0F) << pair;
  EXPECT_NEAR(form.divisors[29], 1.207484, 5e-7);
  EXPECT_NEAR(form.divisors[32], 2.694530, 5e-7);
  EXPECT_NEAR(form.divisors[34], 5.257327, 5e-7);
  for (size_t pair = 35; pair < 64; ++pair) EXPECT_EQ(form.divisors[pair], 8.0F) << pair;

  const ModelConfig config = llama31().tensor("rope_freqs.weight", form.divisors).positions();
  const std::vector<double> wanted = apply_scheme("llama3,factor=8,low=1,high=4,original=8192",
                                                  llama31().positions().layer(0).value())
                                         .spectrum.at(1)
                                         .inv_freq();
  for (size_t pair = 0; pair < wanted.size(); ++pair) {
    EXPECT_NEAR(inv_freq(config)[pair] / wanted[pair], 1, 1e-7) << pair;
  }
}

TEST_F(GgufReports, L3_07_Llama31WithoutItsTensor) {
  const ModelConfig config = llama31().positions();
  const Finding* const finding = find_finding(config, "rope_freqs.weight");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Finding::Severity::kWarning);
  EXPECT_EQ(finding->kind, FaultKind::kMissingKey);
  EXPECT_THAT(finding->text, HasSubstr("past 8192 tokens will degrade"));
  EXPECT_THAT(finding->text, HasSubstr("ropewalk write --scheme llama3"));
  const std::vector<float> ones(64, 1.0F);
  EXPECT_EQ(
      find_finding(llama31().tensor("rope_freqs.weight", ones).positions(), "rope_freqs.weight"),
      nullptr);
  EXPECT_EQ(find_finding(plain_gguf().positions(), "rope_freqs.weight"), nullptr);
}

TEST_F(GgufReports, L3_08_TheTensorIsPositionData) {
  std::vector<float> divisors(64, 1.0F);
  divisors[40] = 8;
  const ModelConfig config = llama31().tensor("rope_freqs.weight", divisors).positions();
  EXPECT_EQ(find_field(config, "frequency_divisors")->from, "tensor rope_freqs.weight");
  EXPECT_NEAR(inv_freq(config)[40], std::pow(5e5, -80.0 / 128) / 8, 1e-18);
}

TEST_F(GgufReports, L3_09_KeysNobodyKnowsAreWarnings) {
  const ModelConfig config = plain_gguf().set("llama.rope.scaling.low_freq", 1.0F).positions();
  const Finding* const finding = find_finding(config, "llama.rope.scaling.low_freq");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Finding::Severity::kWarning);
  EXPECT_EQ(finding->kind, FaultKind::kUnknownValue);
}

// ---- AMP

GgufBuilder scaled(const std::string& name, float multiplier) {
  return plain_gguf(name)
      .set(name + ".context_length", uint32_t{163840})
      .set(name + ".rope.dimension_count", uint32_t{name == "mistral3" ? 128U : 64U})
      .set(name + ".rope.scaling.type", "yarn")
      .set(name + ".rope.scaling.factor", 40.0F)
      .set(name + ".rope.scaling.original_context_length", uint32_t{4096})
      .set(name + ".rope.scaling.yarn_log_multiplier", multiplier);
}

TEST_F(GgufReports, AMP_05_TheLogMultiplierIsReadByArchitecture) {
  const double magnitude = 1 + 0.1 * std::log(40.0);
  const ModelConfig deepseek = scaled("deepseek2", 0.1F).positions();
  EXPECT_EQ(find_field(deepseek, "mscale_all_dim")->value, "1");
  EXPECT_EQ(spectrum_at(deepseek, 1).amplitude, 1);
  EXPECT_NEAR(spectrum_at(deepseek, 1).logit_multiplier, magnitude * magnitude, 1e-15);

  // DeepSeek-V2-Lite: both mscales 0.707.
  const ModelConfig lite = scaled("deepseek2", 0.0707F).positions();
  EXPECT_NEAR(spectrum_at(lite, 1).amplitude, 1, 1e-15);
  EXPECT_NEAR(spectrum_at(lite, 1).logit_multiplier, 1.589626, 5e-7);

  const ModelConfig mistral = scaled("mistral3", 1.0F).positions();
  EXPECT_EQ(spectrum_at(mistral, 1).amplitude, 1);
  EXPECT_EQ(spectrum_at(mistral, 1).logit_multiplier, 1);
  EXPECT_NEAR(spectrum_at(scaled("mistral3", 0.0F).positions(), 1).amplitude, magnitude, 1e-15);

  // Elsewhere llama.cpp does not look at it, and an older DeepSeek file has none.
  EXPECT_NE(find_finding(scaled("qwen3", 1.0F).positions(), "yarn_log_multiplier"), nullptr);
  const ModelConfig old = scaled("deepseek2", 0.0F).positions();
  EXPECT_THAT(find_finding(old, "yarn_log_multiplier")->text, HasSubstr("all the same"));
}

TEST_F(GgufReports, AMP_08_AnExplicitAmplitudeIsTheModels) {
  const ModelConfig config =
      scaled("qwen3", 0.0F).set("qwen3.rope.scaling.yarn_attn_factor", 1.5F).positions();
  EXPECT_EQ(spectrum_at(config, 1).amplitude, 1.5);
  EXPECT_THAT(find_finding(config, "yarn_attn_factor")->text, HasSubstr("llama.cpp puts 1.36"));
  const float computed = static_cast<float>(1 + 0.1 * std::log(40.0));
  const ModelConfig same =
      scaled("qwen3", 0.0F).set("qwen3.rope.scaling.yarn_attn_factor", computed).positions();
  EXPECT_EQ(find_finding(same, "yarn_attn_factor"), nullptr);
}

// ---- YRN

TEST_F(GgufReports, YRN_06_SwappedBetasAreRefused) {
  try {
    scaled("qwen3", 0.0F)
        .set("qwen3.rope.scaling.yarn_beta_fast", 1.0F)
        .set("qwen3.rope.scaling.yarn_beta_slow", 32.0F)
        .positions();
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), FaultKind::kOrder);
    EXPECT_THAT(error.what(), HasSubstr("swapped?"));
  }
}

// ---- LYR

TEST_F(GgufReports, LYR_01_ScalingIsOfGlobalLayersAlone) {
  const ModelConfig config = gemma3().set("gemma3.rope.freq_base_swa", 1e4F).positions();
  ASSERT_EQ(config.groups.size(), 2U);
  const LayerGroup& global = *find_group(config, "full_attention");
  EXPECT_THAT(global.layers, ElementsAre(5, 11, 17, 23, 29));
  EXPECT_EQ(global.scheme, "linear,factor=8");
  EXPECT_EQ(global.rotary->source.base, 1e6);
  const LayerGroup& local = *find_group(config, "sliding_attention");
  EXPECT_EQ(local.scheme, "window,size=1024");
  EXPECT_EQ(local.rotary->source.base, 1e4);
  EXPECT_EQ(local.rotary->visibility.window, 1024);
  EXPECT_EQ(global.rotary->visibility.window, kUnbounded);
}

TEST_F(GgufReports, LYR_03_ModernBertStartsGlobal) {
  const ModelConfig config = plain_gguf("modern-bert")
                                 .set("modern-bert.block_count", uint32_t{22})
                                 .set("modern-bert.attention.sliding_window", uint32_t{128})
                                 .set("modern-bert.rope.freq_base", 160000.0F)
                                 .set("modern-bert.rope.freq_base_swa", 10000.0F)
                                 .positions();
  for (int64_t layer = 0; layer < 22; ++layer) {
    EXPECT_EQ(config.layer(layer)->source.base, layer % 3 == 0 ? 160000.0 : 10000.0) << layer;
  }
  EXPECT_EQ(find_field(config, "sliding_attention", "sees")->value, "64 tokens on each side");
}

TEST_F(GgufReports, LYR_04_EveryFourthLayerIsNotRotated) {
  const ModelConfig config =
      plain_gguf("smollm3").set("smollm3.block_count", uint32_t{36}).positions();
  const LayerGroup& unrotated = *find_group(config, "full_attention, not rotated");
  EXPECT_THAT(unrotated.layers, ElementsAre(3, 7, 11, 15, 19, 23, 27, 31, 35));
  EXPECT_FALSE(unrotated.rotary.has_value());
}

TEST_F(GgufReports, LYR_06_ALayerIsRotatedOrNotOrTheFileIsWrong) {
  GgufBuilder builder = plain_gguf("granite_swa");
  builder.set("granite_swa.attention.sliding_window", uint32_t{512})
      .set("granite_swa.attention.sliding_window_pattern", std::vector<int32_t>{1, 0})
      .set("granite_swa.attention.rope_pattern", std::vector<int32_t>{1, 0});
  const ModelConfig config = builder.positions();
  EXPECT_TRUE(config.layer(0).has_value());
  EXPECT_FALSE(config.layer(1).has_value());
  builder.set("granite_swa.attention.rope_pattern", std::vector<int32_t>{1});
  EXPECT_THAT(message_of([&] { builder.positions(); }),
              HasSubstr("granite_swa.attention.rope_pattern: must have a value for each of the 2"));
}

TEST_F(GgufReports, LYR_08_TemperaturesDifferByFamily) {
  const ModelConfig llama4 =
      plain_gguf("llama4").set("llama4.block_count", uint32_t{48}).positions();
  EXPECT_EQ(llama4.layer(0)->temperature, QueryTemperature{});
  EXPECT_FALSE(llama4.layer(3).has_value());
  const QueryTemperature& unrotated =
      find_group(llama4, "full_attention, not rotated")->temperature;
  EXPECT_EQ(unrotated,
            (QueryTemperature{.step_scale = 0.1, .step_length = 8192, .step_offset = 1}));
  EXPECT_NEAR(unrotated.at(8191), 1 + 0.1 * std::numbers::ln2, 1e-15);

  const ModelConfig mistral =
      plain_gguf("mistral3")
          .set("mistral3.context_length", uint32_t{262144})
          .set("mistral3.rope.scaling.type", "yarn")
          .set("mistral3.rope.scaling.factor", 16.0F)
          .set("mistral3.rope.scaling.original_context_length", uint32_t{16384})
          .set("mistral3.attention.temperature_scale", 0.1F)
          .positions();
  const QueryTemperature& all = mistral.layer(1)->temperature;
  EXPECT_EQ(all.at(16383), 1);
  EXPECT_NEAR(all.at(16384), 1.069315, 5e-7);
  EXPECT_NEAR(all.at(65536), 1.160944, 5e-7);

  EXPECT_THAT(message_of([] {
                plain_gguf("deepseek2")
                    .set("deepseek2.rope.dimension_count", uint32_t{64})
                    .set("deepseek2.attention.temperature_scale", 0.1F)
                    .positions();
              }),
              HasSubstr("temperature_length: must be present"));
  const ModelConfig other =
      plain_gguf("llama").set("llama.attention.temperature_scale", 0.1F).positions();
  EXPECT_EQ(other.layer(0)->temperature, QueryTemperature{});
  EXPECT_NE(find_finding(other, "temperature_scale"), nullptr);
}

TEST_F(GgufReports, LYR_10_TheSecondBaseIsNeverTheFirstBySilence) {
  const ModelConfig config = gemma3().positions();
  const DeclaredField& base = *find_field(config, "sliding_attention", "base");
  EXPECT_EQ(base.value, "10000");
  EXPECT_EQ(base.provenance, Provenance::kFamilyDefault);
  EXPECT_NEAR(inv_freq(config, "full_attention")[1], 0.1122109, 5e-8);
  EXPECT_NEAR(inv_freq(config, "sliding_attention")[1], 0.9305720, 5e-8);
  // Where llama.cpp does copy it, the field says so.
  const ModelConfig gemma2 = plain_gguf("gemma2").set("gemma2.rope.freq_base", 5e4F).positions();
  EXPECT_EQ(find_field(gemma2, "sliding_attention", "base")->value, "50000");
  EXPECT_THAT(find_field(gemma2, "sliding_attention", "base")->from,
              HasSubstr("freq_base_swa is absent: as gemma2.rope.freq_base"));
}

// ---- INI, OVF, TAB

TEST_F(GgufReports, INI_05_AScalingStaysUnlessItIsTakenAway) {
  const std::string model =
      write(plain_gguf()
                .set("llama.context_length", uint32_t{16384})
                .set("llama.rope.scaling.type", "linear")
                .set("llama.rope.scaling.factor", 4.0F)
                .set("llama.rope.scaling.original_context_length", uint32_t{4096})
                .tensor("weights", {1}));
  write_model({.model = model, .output = out()});
  EXPECT_EQ(written().groups[0].scheme, "linear,factor=4");

  const WriteReport none = write_model({.model = model, .scheme = "rope", .output = out()});
  EXPECT_EQ(written().groups[0].scheme, "rope");
  EXPECT_THAT(none.keys,
              testing::Contains(testing::Field(&KeyChange::key, "llama.rope.scaling.factor")));

  // Four times a model that is stretched four times already is sixteen times what it was.
  EXPECT_EQ(trained_length(read_gguf_positions(GgufFile::open(model))), 4096);
  EXPECT_EQ(stretch(4096, 65536), "16");
  write_model(
      {.model = model, .scheme = "linear,factor=16", .target_length = 65536, .output = out()});
  EXPECT_NEAR(inv_freq(written())[0], 1.0 / 16, 1e-16);
}

TEST_F(GgufReports, OVF_05_AMillionPositionsAreNoMatter) {
  const ModelConfig config =
      plain_gguf().set("llama.context_length", uint32_t{1048576}).positions();
  EXPECT_EQ(config.usable_length, 1048576);
  EXPECT_THAT(message_of([] {
                plain_gguf().set("llama.context_length", uint32_t{0xFFFFFFFF}).positions();
              }),
              HasSubstr("llama.context_length: must be from 0 to 2^31"));
}

TEST_F(GgufReports, TAB_02_WhatScalingCountsFromIsNotWhatAFileIsGoodFor) {
  const ModelConfig config = plain_gguf()
                                 .set("llama.context_length", uint32_t{131072})
                                 .set("llama.rope.scaling.type", "yarn")
                                 .set("llama.rope.scaling.factor", 16.0F)
                                 .set("llama.rope.scaling.original_context_length", uint32_t{8192})
                                 .positions();
  EXPECT_EQ(trained_length(config), 8192);
  EXPECT_EQ(config.usable_length, 131072);
}

TEST_F(GgufReports, TAB_07_NoTableIsBuiltForWhatAFileClaims) {
  const ModelConfig config = plain_gguf("llama4")
                                 .set("llama4.block_count", uint32_t{48})
                                 .set("llama4.context_length", uint32_t{10485760})
                                 .positions();
  EXPECT_EQ(config.usable_length, 10485760);
  size_t numbers = 0;
  for (const LayerGroup& group : config.groups) {
    if (group.rotary) numbers += group.rotary->spectrum.at(1).turns_per_token.size();
  }
  EXPECT_EQ(numbers, 64U);
}

}  // namespace
}  // namespace ropewalk
