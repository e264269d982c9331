// What llama.cpp takes for granted of architectures, rule by rule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "ropewalk/config/gguf_architectures.h"
#include "ropewalk/config/test_support.h"
#include "ropewalk/math/axes.h"

namespace ropewalk {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

template <typename Mechanism>
const Mechanism* find_mechanism(const ModelConfig& config) {
  for (const PositionMechanism& mechanism : config.mechanisms) {
    if (const auto* found = std::get_if<Mechanism>(&mechanism)) return found;
  }
  return nullptr;
}

FaultKind fault_of(const GgufBuilder& builder) {
  try {
    builder.positions();
  } catch (const Error& error) {
    return error.kind();
  }
  ADD_FAILURE() << "no Error";
  return FaultKind::kUnspecified;
}

// With what any of them must have.
GgufBuilder any_gguf(const GgufArchitecture& architecture) {
  const std::string name(architecture.name);
  GgufBuilder builder = plain_gguf(name);
  builder.set(name + ".block_count", uint32_t{architecture.by_layer_count ? 32U : 12U})
      .set(name + ".attention.sliding_window", uint32_t{64})
      .set(name + ".rope.dimension_count", uint32_t{128});
  const std::vector<int32_t> list = {1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0};
  if (architecture.sliding.period == 0)
    builder.set(name + ".attention.sliding_window_pattern", list);
  if (architecture.compressed) {
    builder.set(name + ".attention.compress_ratios", list)
        .set(name + ".attention.compress_rope_freq_base", 160000.0F);
  }
  if (architecture.axes != GgufArchitecture::Axes::kOne) {
    builder.set(name + ".rope.dimension_sections", std::vector<int32_t>{24, 20, 20, 0});
  }
  if (architecture.positions == GgufArchitecture::Positions::kRelativeBuckets) {
    builder.set(name + ".attention.relative_buckets_count", uint32_t{32});
  }
  return builder;
}

TEST(GgufArchitectures, AreManyAndInOrder) {
  std::string last;
  for (const GgufArchitecture& architecture : gguf_architectures()) {
    EXPECT_LT(last, architecture.name);
    last = architecture.name;
  }
  EXPECT_GE(gguf_architectures().size(), 148U);
}

TEST(GgufArchitectures, EveryOneResolves) {
  for (const GgufArchitecture& architecture : gguf_architectures()) {
    SCOPED_TRACE(architecture.name);
    ModelConfig config;
    ASSERT_NO_THROW(config = any_gguf(architecture).positions());
    const bool rotary = architecture.positions == GgufArchitecture::Positions::kRotary;
    EXPECT_EQ(config.group_of_layer.size(), architecture.by_layer_count ? 32U : 12U);
    size_t layers = 0;
    bool turns = false;
    for (const LayerGroup& group : config.groups) {
      layers += group.layers.size();
      if (!group.rotary) continue;
      turns = true;
      const bool adjacent = architecture.order == PairOrder::kInterleaved &&
                            architecture.axes == GgufArchitecture::Axes::kOne;
      EXPECT_EQ(group.rotary->layout.order, adjacent ? PairOrder::kInterleaved : PairOrder::kHalf);
    }
    EXPECT_EQ(turns, rotary);
    EXPECT_EQ(layers, config.group_of_layer.size());
  }
}

// Without a count of layers there is a group of each kind, and one entry that stands for all.
TEST(GgufArchitectures, EveryOneResolvesWithoutACountOfLayers) {
  for (const GgufArchitecture& architecture : gguf_architectures()) {
    if (architecture.by_layer_count) continue;
    SCOPED_TRACE(architecture.name);
    GgufBuilder builder = any_gguf(architecture);
    builder.remove(std::string(architecture.name) + ".block_count");
    ModelConfig config;
    ASSERT_NO_THROW(config = builder.positions());
    EXPECT_THAT(config.group_of_layer, ElementsAre(0));
    for (const LayerGroup& group : config.groups) EXPECT_THAT(group.layers, IsEmpty());
  }
}

// ---- layers

TEST(GgufPositions, PatternsByNumberAndByList) {
  const auto layers = [](const ModelConfig& config) {
    return find_group(config, "full_attention")->layers;
  };
  GgufBuilder builder = plain_gguf("gemma3");
  builder.set("gemma3.block_count", uint32_t{8})
      .set("gemma3.attention.sliding_window", uint32_t{64})
      .set("gemma3.attention.sliding_window_pattern", uint32_t{4});
  EXPECT_THAT(layers(builder.positions()), ElementsAre(3, 7));
  // A list is what the file says; llama.cpp goes by the period all the same.
  builder.set("gemma3.attention.sliding_window_pattern",
              std::vector<int32_t>{0, 1, 1, 1, 1, 1, 1, 0});
  const ModelConfig listed = builder.positions();
  EXPECT_THAT(layers(listed), ElementsAre(0, 7));
  EXPECT_THAT(find_finding(listed, "sliding_window_pattern")->text, HasSubstr("period of 6"));
  builder.set("gemma3.attention.sliding_window_pattern", std::vector<int32_t>{0, 1});
  EXPECT_EQ(fault_of(builder), FaultKind::kWrongLength);
}

TEST(GgufPositions, FurtherPredictionLayersDoNotSlide) {
  const ModelConfig config = plain_gguf("step35")
                                 .set("step35.block_count", uint32_t{4})
                                 .set("step35.nextn_predict_layers", uint32_t{1})
                                 .set("step35.attention.sliding_window", uint32_t{64})
                                 .set("step35.attention.sliding_window_pattern", uint32_t{0})
                                 .positions();
  EXPECT_THAT(find_group(config, "full_attention")->layers, ElementsAre(3));
}

TEST(GgufPositions, UnrotatedLayers) {
  const auto unrotated = [](const std::string& name, uint32_t layers, uint32_t window) {
    GgufBuilder builder = plain_gguf(name);
    builder.set(name + ".block_count", layers).set(name + ".attention.sliding_window", window);
    const ModelConfig config = builder.positions();
    std::vector<size_t> found;
    for (size_t layer = 0; layer < config.group_of_layer.size(); ++layer) {
      if (!config.layer(layer)) found.push_back(layer);
    }
    return found;
  };
  EXPECT_THAT(unrotated("cohere2", 8, 64), ElementsAre(3, 7));
  EXPECT_THAT(unrotated("afmoe", 8, 64), ElementsAre(3, 7));
  EXPECT_THAT(unrotated("llama4", 8, 64), ElementsAre(3, 7));
  EXPECT_THAT(unrotated("llama4", 8, 0), IsEmpty());
  EXPECT_THAT(unrotated("smallthinker", 8, 64), ElementsAre(0, 4));
  EXPECT_THAT(unrotated("smallthinker", 8, 0), IsEmpty());
  EXPECT_THAT(unrotated("exaone-moe", 8, 64), ElementsAre(3, 7));
  EXPECT_THAT(unrotated("exaone4", 8, 0), IsEmpty());
  EXPECT_EQ(unrotated("exaone4", 64, 4096).size(), 16U);
}

TEST(GgufPositions, Exaone4SlidesInItsLargeModel) {
  EXPECT_EQ(
      plain_gguf("exaone4").set("exaone4.block_count", uint32_t{64}).positions().groups.size(), 2U);
  EXPECT_EQ(
      plain_gguf("exaone4").set("exaone4.block_count", uint32_t{30}).positions().groups.size(), 1U);
  const ModelConfig odd = plain_gguf("exaone4")
                              .set("exaone4.block_count", uint32_t{30})
                              .set("exaone4.attention.sliding_window", uint32_t{64})
                              .positions();
  EXPECT_THAT(find_finding(odd, "sliding_window")->text, HasSubstr("the model of 64 only"));
}

TEST(GgufPositions, FinetunedFalseMeansNoRotation) {
  for (const std::string name : {"granite", "granitehybrid", "minicpm"}) {
    EXPECT_TRUE(plain_gguf(name).positions().layer(0).has_value()) << name;
    GgufBuilder builder = plain_gguf(name);
    builder.set(name + ".rope.scaling.finetuned", false);
    EXPECT_FALSE(builder.positions().layer(0).has_value()) << name;
    EXPECT_NE(find_finding(builder.positions(), "finetuned"), nullptr) << name;
    ASSERT_NE(find_field(plain_gguf(name).positions(), "finetuned"), nullptr) << name;
    EXPECT_EQ(find_field(builder.positions(), "finetuned")->value, "false") << name;
  }
  // Elsewhere it is information.
  EXPECT_TRUE(
      plain_gguf().set("llama.rope.scaling.finetuned", false).positions().layer(0).has_value());
}

TEST(GgufPositions, RecurrentLayers) {
  const ModelConfig next =
      plain_gguf("qwen3next").set("qwen3next.block_count", uint32_t{8}).positions();
  EXPECT_THAT(find_group(next, "full_attention")->layers, ElementsAre(3, 7));
  EXPECT_THAT(find_group(next, "recurrent")->layers, ElementsAre(0, 1, 2, 4, 5, 6));
  EXPECT_FALSE(next.layer(0).has_value());
  const ModelConfig listed =
      plain_gguf("qwen3next")
          .set("qwen3next.attention.recurrent_layers", std::vector<int32_t>{0, 1})
          .positions();
  EXPECT_TRUE(listed.layer(0).has_value());
  EXPECT_FALSE(listed.layer(1).has_value());
  // Where a layer has no keys, it has no attention.
  const ModelConfig lfm = plain_gguf("lfm2")
                              .set("lfm2.attention.head_count_kv", std::vector<int32_t>{0, 8})
                              .positions();
  EXPECT_FALSE(lfm.layer(0).has_value());
  EXPECT_TRUE(lfm.layer(1).has_value());
  EXPECT_EQ(find_field(lfm, "kv_heads")->value, "0 to 8");
}

// ---- scaling by kind of layer

GgufBuilder yarn_gguf(const std::string& name) {
  return plain_gguf(name)
      .set(name + ".block_count", uint32_t{4})
      .set(name + ".attention.sliding_window", uint32_t{64})
      .set(name + ".rope.freq_base", 5e5F)
      .set(name + ".rope.scaling.type", "yarn")
      .set(name + ".rope.scaling.factor", 4.0F)
      .set(name + ".rope.scaling.original_context_length", uint32_t{1024});
}

TEST(GgufPositions, Olmo3SlidesUnscaledWithTheSameBase) {
  const ModelConfig config = yarn_gguf("olmo2").positions();
  EXPECT_EQ(find_group(config, "sliding_attention")->scheme, "window,size=64");
  EXPECT_EQ(find_group(config, "full_attention")->scheme, "yarn,factor=4,original=1024");
  EXPECT_EQ(find_group(config, "sliding_attention")->rotary->source.base, 5e5);
  // Without a window it is OLMo 2.
  EXPECT_EQ(yarn_gguf("olmo2").remove("olmo2.attention.sliding_window").positions().groups.size(),
            1U);
}

TEST(GgufPositions, GptOssSlidesScaled) {
  const ModelConfig config = yarn_gguf("gpt-oss").positions();
  EXPECT_EQ(find_group(config, "sliding_attention")->scheme,
            "yarn,factor=4,original=1024+window,size=64");
}

TEST(GgufPositions, ASecondBaseThatLlamaCppDoesNotLookAt) {
  const ModelConfig config =
      yarn_gguf("cohere2").set("cohere2.rope.freq_base_swa", 1e4F).positions();
  EXPECT_EQ(find_group(config, "sliding_attention")->rotary->source.base, 1e4);
  EXPECT_THAT(find_finding(config, "freq_base_swa")->text, HasSubstr("does not look at it"));
}

TEST(GgufPositions, GrokReadsAllOfYarnsKeys) {
  GgufBuilder builder = yarn_gguf("grok");
  EXPECT_EQ(builder.positions().groups[0].scheme, "yarn,factor=4,beta_fast=8,original=1024");
  builder.set("grok.rope.scaling.yarn_beta_fast", 16.0F);
  EXPECT_EQ(builder.positions().groups[0].scheme, "yarn,factor=4,beta_fast=16,original=1024");
  builder.set("grok.rope.scaling.yarn_ext_factor", 0.0F);
  EXPECT_EQ(builder.positions().groups[0].scheme, "linear,factor=4");
  builder.set("grok.rope.scaling.yarn_ext_factor", 0.5F);
  EXPECT_EQ(fault_of(builder), FaultKind::kUnknownValue);
}

TEST(GgufPositions, WidthsOfTheirOwn) {
  const ModelConfig step =
      plain_gguf("step35")
          .set("step35.attention.sliding_window", uint32_t{64})
          .set("step35.attention.sliding_window_pattern", std::vector<int32_t>{0, 1})
          .set("step35.rope.dimension_count", uint32_t{128})
          .tensor("rope_freqs.weight", std::vector<float>(64, 2.0F))
          .positions();
  EXPECT_EQ(step.layer(0)->layout.rotary_dim, 64);
  EXPECT_EQ(step.layer(1)->layout.rotary_dim, 128);
  EXPECT_EQ(step.layer(0)->spectrum.at(1).inv_freq()[0], 0.5);
  EXPECT_EQ(step.layer(1)->spectrum.at(1).inv_freq()[0], 1);

  const ModelConfig gemma =
      plain_gguf("gemma4")
          .set("gemma4.attention.key_length", uint32_t{512})
          .set("gemma4.attention.key_length_swa", uint32_t{256})
          .set("gemma4.rope.dimension_count", uint32_t{512})
          .set("gemma4.rope.dimension_count_swa", uint32_t{256})
          .set("gemma4.attention.sliding_window", uint32_t{64})
          .set("gemma4.attention.sliding_window_pattern", std::vector<int32_t>{1, 0})
          .positions();
  EXPECT_EQ(gemma.layer(0)->layout.head_dim, 256);
  EXPECT_EQ(gemma.layer(1)->layout.head_dim, 512);
}

TEST(GgufPositions, LatentAttentionRotatesAPartOfItsOwn) {
  const ModelConfig config = plain_gguf("deepseek2")
                                 .set("deepseek2.attention.key_length", uint32_t{576})
                                 .set("deepseek2.attention.key_length_mla", uint32_t{192})
                                 .set("deepseek2.rope.dimension_count", uint32_t{64})
                                 .positions();
  EXPECT_EQ(config.shape.head_dim, 192);
  EXPECT_EQ(config.layer(0)->layout.head_dim, 64);
  EXPECT_EQ(config.layer(0)->layout.order, PairOrder::kInterleaved);
  EXPECT_EQ(find_field(config, "rotated_part")->value, "the last 64 of 192");
}

TEST(GgufPositions, DeepSeekV4HasTwoBases) {
  const ModelConfig config =
      yarn_gguf("deepseek4")
          .set("deepseek4.rope.dimension_count", uint32_t{64})
          .set("deepseek4.attention.compress_rope_freq_base", 160000.0F)
          .set("deepseek4.attention.compress_ratios", std::vector<int32_t>{0, 0, 4, 128})
          .positions();
  const LayerGroup& compressed = *find_group(config, "compressed_attention");
  EXPECT_THAT(compressed.layers, ElementsAre(2, 3));
  EXPECT_EQ(compressed.rotary->source.base, 160000.0);
  EXPECT_EQ(compressed.rotary->spectrum.at(1).amplitude, 1);
  EXPECT_THAT(compressed.scheme, HasSubstr("yarn,"));
  const LayerGroup& sliding = *find_group(config, "sliding_attention");
  EXPECT_EQ(sliding.rotary->source.base, 5e5);
  EXPECT_EQ(sliding.scheme, "window,size=64");
}

TEST(GgufPositions, AlphaIsHunyuansBase) {
  for (const std::string name : {"hunyuan_vl", "hunyuan-vl", "hunyuan-dense"}) {
    GgufBuilder builder = plain_gguf(name);
    builder.set(name + ".rope.scaling.alpha", 1000.0F);
    const ModelConfig config = builder.positions();
    EXPECT_EQ(config.groups[0].scheme, "ntk,factor=1000") << name;
    EXPECT_NEAR(spectrum_at(config, 1).inv_freq()[1], std::pow(11158839.925, -2.0 / 128), 1e-9);
  }
  const ModelConfig other = plain_gguf("qwen3").set("qwen3.rope.scaling.alpha", 9.0F).positions();
  EXPECT_EQ(other.groups[0].scheme, "rope");
  EXPECT_NE(find_finding(other, "alpha"), nullptr);
}

TEST(GgufPositions, FixedRotationLooksAtNoKey) {
  const ModelConfig config = plain_gguf("cogvlm").set("cogvlm.rope.freq_base", 5e5F).positions();
  EXPECT_EQ(config.layer(0)->source.base, 10000.0);
  EXPECT_THAT(find_finding(config, "freq_base")->text, HasSubstr("is not looked at"));
}

TEST(GgufPositions, BaichuanIsToldByItsLayers) {
  GgufBuilder builder = plain_gguf("baichuan");
  builder.set("baichuan.block_count", uint32_t{40})
      .set("baichuan.embedding_length", uint32_t{5120})
      .set("baichuan.attention.head_count", uint32_t{40});
  const ModelConfig alibi = builder.positions();
  EXPECT_FALSE(alibi.layer(0).has_value());
  EXPECT_EQ(find_mechanism<AlibiBias>(alibi)->slopes.size(), 40U);
  EXPECT_TRUE(builder.set("baichuan.block_count", uint32_t{32}).positions().layer(0).has_value());
  EXPECT_NE(
      find_finding(builder.set("baichuan.block_count", uint32_t{36}).positions(), "block_count"),
      nullptr);
}

// ---- several axes

TEST(GgufPositions, SectionsTellAxes) {
  GgufBuilder builder = plain_gguf("qwen2vl");
  builder.set("qwen2vl.rope.dimension_sections", std::vector<int32_t>{16, 24, 24, 0});
  const std::vector<uint8_t> axis = spectrum_at(builder.positions(), 1).axis;
  EXPECT_EQ(axis[15], kTimeAxis);
  EXPECT_EQ(axis[16], kHeightAxis);
  EXPECT_EQ(axis[40], kWidthAxis);
  EXPECT_EQ(find_field(builder.positions(), "sections")->value, "16:24:24:0");
  builder.set("qwen2vl.rope.dimension_sections", std::vector<int32_t>{16, 24, 20, 0});
  EXPECT_EQ(fault_of(builder), FaultKind::kSumMismatch);
  builder.set("qwen2vl.rope.dimension_sections", std::vector<int32_t>{16, -24, 72, 0});
  EXPECT_EQ(fault_of(builder), FaultKind::kOutOfRange);
  builder.set("qwen2vl.rope.dimension_sections", std::vector<int32_t>{32, 32});
  EXPECT_EQ(fault_of(builder), FaultKind::kWrongLength);
}

TEST(GgufPositions, InterleavedAxesEndInTime) {
  const ModelConfig config =
      plain_gguf("qwen3vl")
          .set("qwen3vl.rope.dimension_sections", std::vector<int32_t>{24, 20, 20, 0})
          .positions();
  const std::vector<uint8_t> axis = spectrum_at(config, 1).axis;
  EXPECT_EQ(axis[58], kHeightAxis);
  for (size_t pair = 60; pair < 64; ++pair) EXPECT_EQ(axis[pair], kTimeAxis) << pair;
  // llama.cpp has them stand still.
  EXPECT_THAT(find_finding(config, "dimension_sections")->text,
              HasSubstr("pairs 61, 62 turn with time; llama.cpp"));
}

TEST(GgufPositions, SectionsDecideForSome) {
  GgufBuilder builder = plain_gguf("glm4");
  EXPECT_EQ(builder.positions().layer(0)->layout.order, PairOrder::kInterleaved);
  builder.set("glm4.rope.dimension_count", uint32_t{64})
      .set("glm4.rope.dimension_sections", std::vector<int32_t>{8, 12, 12, 0});
  const ModelConfig vision = builder.positions();
  EXPECT_EQ(vision.layer(0)->layout.order, PairOrder::kHalf);
  EXPECT_FALSE(spectrum_at(vision, 1).axis.empty());
  builder.set("glm4.rope.dimension_sections", std::vector<int32_t>{32, 0, 0, 0});
  EXPECT_EQ(builder.positions().layer(0)->layout.order, PairOrder::kInterleaved);
  // HunyuanVL's fourth coordinate is 0 in llama.cpp.
  const ModelConfig four =
      plain_gguf("hunyuan_vl")
          .set("hunyuan_vl.rope.dimension_sections", std::vector<int32_t>{16, 16, 16, 16})
          .positions();
  EXPECT_THAT(find_finding(four, "dimension_sections")->text,
              HasSubstr("pairs 48, 49, 50 and 13 more turn by the fourth coordinate"));
}

// Minitron-8B has heads of 128 in 4096 / 48.
TEST(GgufPositions, NemotronsConverterIsNotBelieved) {
  GgufBuilder builder = plain_gguf("nemotron");
  builder.set("nemotron.attention.head_count", uint32_t{48})
      .set("nemotron.attention.key_length", uint32_t{128})
      .set("nemotron.rope.dimension_count", uint32_t{42});
  EXPECT_THAT(find_finding(builder.positions(), "dimension_count")->text, HasSubstr("of 128, 64"));
  builder.set("nemotron.rope.dimension_count", uint32_t{64});
  EXPECT_THAT(builder.positions().findings, IsEmpty());
}

// ---- mechanisms

TEST(GgufPositions, LearnedTablesEnd) {
  const ModelConfig config = plain_gguf("gpt2").positions();
  EXPECT_EQ(find_mechanism<LearnedTable>(config)->n_rows, 4096);
  EXPECT_EQ(config.usable_length, 4096);
  const ModelConfig bert =
      plain_gguf("bert").set("tokenizer.ggml.token_type_count", uint32_t{2}).positions();
  EXPECT_NE(find_mechanism<LearnedTable>(bert), nullptr);
  EXPECT_EQ(find_mechanism<SegmentTable>(bert)->n_types, 2);
}

TEST(GgufPositions, AlibiByKeyOrByName) {
  EXPECT_EQ(find_mechanism<AlibiBias>(plain_gguf("bloom").positions())->slopes, alibi_slopes(32));
  EXPECT_EQ(find_mechanism<AlibiBias>(
                plain_gguf("mpt").set("mpt.attention.max_alibi_bias", 16.0F).positions())
                ->slopes,
            alibi_slopes(32, 16));
  const ModelConfig without = plain_gguf("mpt").positions();
  EXPECT_EQ(find_mechanism<AlibiBias>(without), nullptr);
  EXPECT_EQ(find_finding(without, "max_alibi_bias")->kind, FaultKind::kMissingKey);
}

TEST(GgufPositions, T5HasBucketsForEachDirection) {
  GgufBuilder builder = plain_gguf("t5");
  EXPECT_EQ(fault_of(builder), FaultKind::kMissingKey);
  builder.set("t5.attention.relative_buckets_count", uint32_t{32});
  const ModelConfig config = builder.positions();
  ASSERT_EQ(config.mechanisms.size(), 2U);
  EXPECT_TRUE(std::get<T5Buckets>(config.mechanisms[0]).bidirectional);
  EXPECT_FALSE(std::get<T5Buckets>(config.mechanisms[1]).bidirectional);
  builder.set("t5.attention.relative_buckets_count", uint32_t{31});
  EXPECT_EQ(find_finding(builder.positions(), "relative_buckets_count")->kind,
            FaultKind::kOddDimension);
  builder.set("t5.attention.relative_buckets_count", uint32_t{1});
  EXPECT_EQ(fault_of(builder), FaultKind::kOutOfRange);
}

TEST(GgufPositions, NoPositionsAtAll) {
  const ModelConfig config = plain_gguf("mamba")
                                 .set("mamba.attention.head_count", uint32_t{0})
                                 .set("mamba.feed_forward_length", uint32_t{0})
                                 .positions();
  EXPECT_FALSE(config.layer(0).has_value());
  EXPECT_THAT(config.mechanisms, IsEmpty());
  // Nemotron-H's converter writes rope keys all the same.
  const ModelConfig nemotron =
      plain_gguf("nemotron_h").set("nemotron_h.rope.freq_base", 1e4F).positions();
  EXPECT_THAT(find_finding(nemotron, "freq_base")->text, HasSubstr("are not rotated"));
}

}  // namespace
}  // namespace ropewalk
