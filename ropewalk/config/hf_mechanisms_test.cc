#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <variant>

#include "ropewalk/config/test_support.h"
#include "ropewalk/formats/test_support.h"

namespace ropewalk {
namespace {

using testing::HasSubstr;
using Json = nlohmann::ordered_json;

ModelConfig read(const Json& config) { return read_hf_positions(config, "config.json"); }

// A model of heads of 64.
Json model(const std::string& type, const Json& more = Json::object()) {
  Json config = {{"model_type", type}, {"hidden_size", 768}, {"num_attention_heads", 12}};
  config.update(more);
  return config;
}

template <typename Mechanism>
Mechanism only(const ModelConfig& config, size_t at = 0) {
  EXPECT_LT(at, config.mechanisms.size());
  EXPECT_FALSE(config.layer(0));
  return std::get<Mechanism>(config.mechanisms.at(at));
}

TEST(HfMechanisms, LearnedRows) {
  const ModelConfig opt = read(model("opt", {{"max_position_embeddings", 2048}}));
  EXPECT_EQ(only<LearnedTable>(opt).offset, 2);
  EXPECT_EQ(only<LearnedTable>(opt).n_rows, 2050);
  EXPECT_EQ(opt.usable_length, 2048);

  const ModelConfig roberta =
      read(model("roberta", {{"max_position_embeddings", 514}, {"pad_token_id", 1}}));
  EXPECT_EQ(only<LearnedTable>(roberta).offset, 2);
  EXPECT_EQ(roberta.usable_length, 512);

  const ModelConfig bert = read(model("bert", {{"type_vocab_size", 3}}));
  EXPECT_EQ(only<LearnedTable>(bert).n_rows, 512);
  EXPECT_EQ(only<SegmentTable>(bert, 1).n_types, 3);
  EXPECT_EQ(read(model("bert", {{"type_vocab_size", 0}})).mechanisms.size(), 1U);
}

TEST(HfMechanisms, TheTypeOfPositionsIsRead) {
  const auto typed = [](const std::string& family, const std::string& type) {
    return read(model(family, {{"position_embedding_type", type}}));
  };
  EXPECT_TRUE(typed("esm", "rotary").layer(0));
  EXPECT_FALSE(typed("esm", "absolute").layer(0));
  EXPECT_FALSE(typed("granitemoehybrid", "nope").layer(0));
  EXPECT_TRUE(typed("granite", "rope").layer(0));
  EXPECT_TRUE(std::holds_alternative<AlibiBias>(typed("bert", "alibi").mechanisms[0]));
  EXPECT_EQ(std::get<ClippedDistance>(typed("bert", "relative_key").mechanisms[1]).limit, 511);
  EXPECT_THAT(message_of([&] { typed("bert", "strange"); }), HasSubstr("position_embedding_type"));
  const ModelConfig jina = read(
      model("xlm-roberta", {{"position_embedding_type", "rotary"}, {"rotary_emb_base", 20000.0}}));
  EXPECT_EQ(jina.layer(0)->source.base.hi, 20000);
}

TEST(HfMechanisms, DistancesNeedALength) {
  const auto distances = [](const char* family, const Json& keys) {
    return message_of([&] { read(model(family, keys)); });
  };
  EXPECT_THAT(distances("bert", {{"position_embedding_type", "relative_key"},
                                 {"max_position_embeddings", 1}}),
              HasSubstr("max_position_embeddings: must be above 1"));
}

TEST(HfMechanisms, Alibi) {
  const ModelConfig bloom = read({{"model_type", "bloom"}, {"n_head", 8}});
  ASSERT_NE(find_field(bloom, "max_bias"), nullptr);
  EXPECT_EQ(find_field(bloom, "max_bias")->value, "8");
  EXPECT_EQ(find_field(bloom, "max_bias")->provenance, Provenance::kFamilyDefault);
  EXPECT_EQ(only<AlibiBias>(read({{"model_type", "bloom"}, {"n_head", 112}})).slopes.size(), 112U);
  const Json mpt = {{"model_type", "mpt"},
                    {"n_heads", 16},
                    {"attn_config", {{"alibi", true}, {"alibi_bias_max", 16}}}};
  EXPECT_EQ(only<AlibiBias>(read(mpt)).slopes[0], 0.5);
  EXPECT_TRUE(
      std::holds_alternative<AlibiBias>(read(model("falcon", {{"alibi", true}})).mechanisms[0]));
  EXPECT_TRUE(read(model("falcon", {{"alibi", false}})).layer(0));
  const Json baichuan = {{"model_type", "baichuan"}, {"hidden_size", 5120}};
  Json large = baichuan;
  large["num_attention_heads"] = 40;
  EXPECT_FALSE(read(large).layer(0));
  Json small = baichuan;
  small["num_attention_heads"] = 32;
  EXPECT_TRUE(read(small).layer(0));
  EXPECT_EQ(read(large).usable_length, 0);
}

TEST(HfMechanisms, BucketsAndSines) {
  const ModelConfig t5 = read({{"model_type", "t5"}, {"relative_attention_num_buckets", 64}});
  EXPECT_TRUE(only<T5Buckets>(t5).bidirectional);
  EXPECT_FALSE(only<T5Buckets>(t5, 1).bidirectional);
  EXPECT_EQ(only<T5Buckets>(t5, 1).n_buckets, 64);

  const ModelConfig deberta = read(model("deberta-v2", {{"relative_attention", true},
                                                        {"position_buckets", 256},
                                                        {"position_biased_input", false},
                                                        {"max_relative_positions", -1}}));
  EXPECT_EQ(only<DebertaBuckets>(deberta).max_distance, 512);
  EXPECT_EQ(deberta.mechanisms.size(), 1U);

  const ModelConfig whisper = read({{"model_type", "whisper"}, {"d_model", 384}});
  EXPECT_EQ(only<SinusoidalTable>(whisper).order, SinusoidOrder::kTensor2Tensor);
  EXPECT_EQ(only<LearnedTable>(whisper, 1).n_rows, 448);
  EXPECT_EQ(only<SinusoidalTable>(read(model("marian"))).order, SinusoidOrder::kConcatenated);
  EXPECT_EQ(only<SinusoidalTable>(read(model("m2m_100", {{"pad_token_id", 1}}))).offset, 2);
  EXPECT_EQ(only<TransformerXlScores>(read({{"model_type", "xlnet"}, {"d_model", 64}})).dim, 64);
  EXPECT_EQ(only<ConvolutionalEmbedding>(read(model("wav2vec2"))).width, 128);
}

TEST(HfMechanisms, NothingAtAll) {
  const ModelConfig hybrid = read(model("nemotron_h", {{"head_dim", 64}, {"rope_theta", 10000}}));
  EXPECT_FALSE(hybrid.layer(0));
  EXPECT_TRUE(hybrid.mechanisms.empty());
  EXPECT_TRUE(notes_mention(hybrid, "rope_theta = 10000 is not used"));
  EXPECT_THAT(hybrid.usable_reason, HasSubstr("causal"));
}

}  // namespace
}  // namespace ropewalk
