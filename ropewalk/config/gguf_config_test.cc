#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ropewalk/config/test_support.h"
#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<float> divisors(float last) {
  std::vector<float> values(64, 1.0F);
  values.back() = last;
  return values;
}

// inv_freq of the last pair, over that of plain RoPE.
double last_pair_scale(const ModelConfig& config, int64_t n = 1) {
  const Rotary& rotary = config.layer(0).value();
  const Spectrum plain = apply_scheme("rope", rotary).spectrum.at(1);
  return spectrum_at(config, n).inv_freq().back() / plain.inv_freq().back();
}

TEST(GgufConfig, ReadsAFileThatOthersWrote) {
  const GgufFile file = GgufFile::open(fixture("tiny_llama.gguf"));
  const ModelConfig config = read_gguf_config(file);
  EXPECT_EQ(config.architecture, "llama");
  EXPECT_EQ(config.group_of_layer.size(), 2U);
  EXPECT_EQ(config.shape.n_layers, 2);
  EXPECT_EQ(config.shape.hidden, 32);
  EXPECT_EQ(config.shape.n_heads, 4);
  EXPECT_EQ(config.shape.n_kv_heads, 2);
  EXPECT_EQ(config.shape.head_dim, 8);
  EXPECT_EQ(config.shape.ffn, 24);
  EXPECT_EQ(config.shape.vocabulary, 272);
  EXPECT_EQ(config.shape.norm_epsilon, static_cast<double>(1e-5F));
  EXPECT_EQ(config.groups[0].scheme, "rope");
  EXPECT_EQ(trained_length(config), 128);
  const Rotary& rotary = config.layer(0).value();
  EXPECT_EQ(rotary.layout.order, PairOrder::kInterleaved);
  EXPECT_EQ(rotary.layout.strip(), "00112233");
  EXPECT_THAT(config.findings, IsEmpty());
}

TEST(GgufConfig, SaysWhereEachNumberIsFrom) {
  const ModelConfig config = plain_gguf().set("llama.rope.freq_base", 5e5F).positions();
  const DeclaredField* const base = find_field(config, "base");
  ASSERT_NE(base, nullptr);
  EXPECT_EQ(base->value, "500000");
  EXPECT_EQ(base->provenance, Provenance::kFile);
  EXPECT_EQ(base->from, "llama.rope.freq_base");
  EXPECT_EQ(find_field(config, "head_dim")->provenance, Provenance::kDerived);
  EXPECT_EQ(find_field(config, "rotary_dim")->provenance, Provenance::kFamilyDefault);
}

TEST(GgufConfig, TakesFloat32ValuesExactly) {
  const ModelConfig config = plain_gguf().set("llama.rope.freq_base", 11158840.1F).positions();
  EXPECT_EQ(config.layer(0)->source.base.hi, static_cast<double>(11158840.1F));
}

TEST(GgufConfig, WidthMustBeTheHeadsForLlama) {
  EXPECT_THAT(
      message_of([] { plain_gguf().set("llama.rope.dimension_count", uint32_t{64}).positions(); }),
      HasSubstr("llama.rope.dimension_count: must equal the head width 128, got 64"));
  const ModelConfig config =
      plain_gguf("gptneox").set("gptneox.rope.dimension_count", uint32_t{32}).positions();
  EXPECT_EQ(config.layer(0)->layout.rotary_dim, 32);
  EXPECT_THAT(message_of([] {
                plain_gguf("gptneox").set("gptneox.rope.dimension_count", uint32_t{31}).positions();
              }),
              HasSubstr("must be even"));
}

TEST(GgufConfig, HeadDimFromItsOwnKey) {
  const ModelConfig config =
      plain_gguf().set("llama.attention.key_length", uint32_t{64}).positions();
  EXPECT_EQ(config.shape.head_dim, 64);
  EXPECT_THAT(message_of([] {
                plain_gguf().set("llama.attention.value_length", uint32_t{64}).positions();
              }),
              HasSubstr("llama.attention.value_length"));
}

TEST(GgufConfig, LinearFromEitherKey) {
  const ModelConfig now = plain_gguf().set("llama.rope.scaling.factor", 4.0F).positions();
  EXPECT_EQ(now.groups[0].scheme, "linear,factor=4");
  const ModelConfig legacy = plain_gguf().set("llama.rope.scale_linear", 4.0F).positions();
  EXPECT_EQ(legacy.groups[0].scheme, "linear,factor=4");
  EXPECT_THAT(legacy.findings, IsEmpty());
}

TEST(GgufConfig, TypeNoneScalesNothing) {
  const ModelConfig config = plain_gguf()
                                 .set("llama.rope.scaling.type", std::string("none"))
                                 .set("llama.rope.scaling.factor", 4.0F)
                                 .positions();
  EXPECT_EQ(config.groups[0].scheme, "rope");
  EXPECT_TRUE(notes_mention(config, "llama.rope.scaling.factor is not used"));
}

TEST(GgufConfig, UnknownTypeIsRefusedWithTheKnownOnes) {
  EXPECT_THAT(message_of([] {
                plain_gguf().set("llama.rope.scaling.type", std::string("dynamic")).positions();
              }),
              HasSubstr("must be none, linear, yarn or longrope, got dynamic"));
}

GgufBuilder yarn_gguf() {
  return plain_gguf()
      .set("llama.rope.scaling.type", std::string("yarn"))
      .set("llama.rope.scaling.factor", 4.0F)
      .set("llama.rope.scaling.original_context_length", uint32_t{1024});
}

TEST(GgufConfig, YarnHasLlamaCppsNetAmplitude) {
  const ModelConfig config = yarn_gguf().positions();
  EXPECT_EQ(config.groups[0].scheme, "yarn,factor=4,original=1024");
  EXPECT_EQ(trained_length(config), 1024);
  EXPECT_NEAR(spectrum_at(config, 1).amplitude, 1 + 0.1 * std::log(4.0), 1e-15);
  EXPECT_NEAR(last_pair_scale(config), 0.25, 1e-15);
}

TEST(GgufConfig, SchemeStringRebuildsTheDeclaration) {
  const ModelConfig config = yarn_gguf().positions();
  const Rotary& declared = config.layer(0).value();
  const Rotary plain = plain_rotary(declared.source, declared.layout);
  EXPECT_EQ(apply_scheme(config.groups[0].scheme, plain).spectrum.at(1).inv_freq(),
            declared.spectrum.at(1).inv_freq());
}

TEST(GgufConfig, BetasOfTheFileAreTheModels) {
  const ModelConfig config = yarn_gguf().set("llama.rope.scaling.yarn_beta_fast", 8.0F).positions();
  EXPECT_EQ(config.groups[0].scheme, "yarn,factor=4,beta_fast=8,original=1024");
  const Finding* const finding = find_finding(config, "yarn_beta_fast");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->kind, FaultKind::kInconsistent);
  EXPECT_THAT(finding->text, HasSubstr("llama.cpp does not look at it and takes 32"));
  // What the loader takes anyway is worth no line.
  EXPECT_THAT(yarn_gguf().set("llama.rope.scaling.yarn_beta_fast", 32.0F).positions().findings,
              IsEmpty());
}

TEST(GgufConfig, AmplitudeMultiplies) {
  const ModelConfig config = yarn_gguf().set("llama.rope.scaling.attn_factor", 0.5F).positions();
  EXPECT_NEAR(spectrum_at(config, 1).amplitude, 0.5 * (1 + 0.1 * std::log(4.0)), 1e-15);
  EXPECT_EQ(config.groups[0].scheme, "");
}

TEST(GgufConfig, TensorDividesFrequencies) {
  const ModelConfig plain = plain_gguf().tensor("rope_freqs.weight", divisors(8)).positions();
  EXPECT_EQ(plain.groups[0].scheme, "");
  EXPECT_NEAR(last_pair_scale(plain), 1.0 / 8, 1e-16);
  EXPECT_EQ(find_field(plain, "frequency_divisors")->value, "1 to 8");
  // The divisor meets what the scaling made, both branches of YaRN's ramp included.
  EXPECT_NEAR(last_pair_scale(yarn_gguf().tensor("rope_freqs.weight", divisors(8)).positions()),
              1.0 / 32, 1e-16);
}

TEST(GgufConfig, BadDivisorsAreRefused) {
  for (const float bad : {0.0F, -1.0F, INFINITY, NAN}) {
    EXPECT_THAT(
        message_of([&] { plain_gguf().tensor("rope_freqs.weight", divisors(bad)).positions(); }),
        HasSubstr("rope_freqs.weight[63]"));
  }
  EXPECT_THAT(message_of([] {
                plain_gguf().tensor("rope_freqs.weight", {1.0F, 1.0F}).positions();
              }),
              HasSubstr("rope_freqs.weight"));
}

TEST(GgufConfig, FactorListsByLength) {
  GgufBuilder builder = plain_gguf();
  builder.set("llama.rope.scaling.type", std::string("longrope"))
      .set("llama.rope.scaling.original_context_length", uint32_t{1024})
      .set("llama.rope.scaling.attn_factor", 1.5F)
      .tensor("rope_factors_long.weight", divisors(16))
      .tensor("rope_factors_short.weight", divisors(2));
  const ModelConfig config = builder.positions();
  EXPECT_NEAR(last_pair_scale(config, 1024), 1.0 / 2, 1e-16);
  EXPECT_NEAR(last_pair_scale(config, 1025), 1.0 / 16, 1e-16);
  EXPECT_EQ(spectrum_at(config, 1).amplitude, 1.5);
  // Without the type, llama.cpp's loader for this architecture does not take the lists.
  builder.remove("llama.rope.scaling.type");
  EXPECT_TRUE(notes_mention(builder.positions(), "rope_factors_* are not used"));
}

TEST(GgufConfig, KeysNobodyUsesAreNamed) {
  const ModelConfig config = plain_gguf()
                                 .set("llama.attention.sliding_window", uint32_t{512})
                                 .set("llama.rope.freq_base_swa", 1e4F)
                                 .positions();
  EXPECT_TRUE(notes_mention(config, "llama.attention.sliding_window is not used"));
  EXPECT_TRUE(notes_mention(config, "llama.rope.freq_base_swa is not used"));
}

TEST(GgufConfig, PositionsWithoutRotation) {
  const ModelConfig config = plain_gguf("gpt2").positions();
  EXPECT_EQ(config.group_of_layer.size(), 2U);
  EXPECT_FALSE(config.layer(0).has_value());
  EXPECT_EQ(trained_length(config), 0);
  EXPECT_TRUE(notes_mention(config, "learned table"));
}

TEST(GgufConfig, WhatDoesNotRunIsRefusedByName) {
  EXPECT_THAT(message_of([] { plain_gguf("gemma33").positions(); }), HasSubstr("got gemma33"));
  EXPECT_THAT(message_of([] { plain_gguf().config(); }), HasSubstr("feed_forward_length"));
  EXPECT_THAT(message_of([] { plain_gguf().remove("llama.context_length").positions(); }),
              HasSubstr("llama.context_length: must be present"));
  GgufBuilder whole = plain_gguf();
  whole.set("llama.feed_forward_length", uint32_t{64})
      .set("llama.attention.layer_norm_rms_epsilon", 1e-5F);
  EXPECT_THAT(message_of([&] { whole.config(); }), HasSubstr("token_embd.weight"));
  whole.tensor("token_embd.weight", std::vector<float>(32));
  EXPECT_EQ(whole.config().shape.n_layers, 2);
  EXPECT_THAT(message_of([&] { GgufBuilder(whole).set("llama.attention.causal", false).config(); }),
              HasSubstr("llama.attention.causal"));
}

TEST(GgufConfig, NoFileDecidesHowMuchMemoryIsTaken) {
  EXPECT_THAT(
      message_of([] { plain_gguf().set("llama.block_count", uint32_t{1} << 31).positions(); }),
      HasSubstr("llama.block_count: must not exceed 4096"));
  EXPECT_THAT(message_of([] {
                plain_gguf().set("llama.attention.key_length", uint32_t{1} << 31).positions();
              }),
              HasSubstr("llama.attention.key_length: must not exceed 8192"));
  for (const std::string key : {"attention.head_count", "attention.head_count_kv",
                                "embedding_length", "feed_forward_length", "vocab_size"}) {
    EXPECT_THAT(
        message_of([&] { plain_gguf().set("llama." + key, uint32_t{1} << 29).positions(); }),
        AllOf(HasSubstr("llama." + key + ": must not exceed"), HasSubstr("got 536870912")));
  }
}

TEST(GgufConfig, InconsistentHeadsAreRefused) {
  EXPECT_THAT(
      message_of([] { plain_gguf().set("llama.attention.head_count", uint32_t{48}).positions(); }),
      HasSubstr("llama.attention.head_count: must divide embedding_length 4096"));
  EXPECT_THAT(message_of([] {
                plain_gguf().set("llama.attention.head_count_kv", uint32_t{5}).positions();
              }),
              HasSubstr("llama.attention.head_count_kv: must divide the 32 heads, got 5"));
  EXPECT_THAT(
      message_of([] { plain_gguf().set("llama.attention.head_count", uint32_t{0}).positions(); }),
      HasSubstr("llama.attention.head_count"));
}

}  // namespace
}  // namespace ropewalk
