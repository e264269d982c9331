// Lengths that scalings and multipliers count from.
#include "ropewalk/config/hf_scaling.h"

#include <gmock/gmock.h>

#include "ropewalk/config/hf_test_support.h"

namespace ropewalk {
namespace {

using namespace reports;
using testing::HasSubstr;

Json qwen_1m(const char* scaling = "null") {
  Json config = llama(128, 1e7, 1010000, scaling);
  config["model_type"] = "qwen2";
  config["dual_chunk_attention_config"] = {
      {"chunk_size", 262144}, {"local_size", 8192}, {"original_max_position_embeddings", 262144}};
  return config;
}

TEST(HfScaling, DualChunksKeepTheirOwnLength) {
  const ModelConfig plain = read(qwen_1m());
  EXPECT_THAT(plain.groups[0].scheme, HasSubstr("length_temperature,original=262144"));
  EXPECT_EQ(rotary(plain).source.trained_length, 262144);
  const ModelConfig yarn =
      read(qwen_1m(R"({"type": "yarn", "factor": 4, "original_max_position_embeddings": 32768})"));
  EXPECT_THAT(yarn.groups[0].scheme, HasSubstr("yarn,factor=4,original=32768"));
  EXPECT_THAT(yarn.groups[0].scheme, HasSubstr("length_temperature,original=262144"));
  EXPECT_EQ(rotary(yarn).source.trained_length, 32768);
}

TEST(HfScaling, DynamicTellsTheLengthThatVllmCountsFrom) {
  const ModelConfig config = read(llama(
      128, 10000, 4096, R"({"type": "dynamic", "factor": 2, "max_trained_positions": 2048})"));
  EXPECT_EQ(rotary(config).source.trained_length, 4096);
  ASSERT_NE(find_field(config, "max_trained_positions"), nullptr);
  EXPECT_EQ(find_field(config, "max_trained_positions")->value, "2048");
  EXPECT_NE(warning(config, "rope_scaling.max_trained_positions"), nullptr);
  EXPECT_THAT(refusal(llama(128, 10000, 4096,
                            R"({"type": "dynamic", "factor": 2, "max_trained_positions": 0})")),
              HasSubstr("rope_scaling.max_trained_positions"));
}

TEST(HfScaling, TheTopLevelIsNamedWhereBothPlacesHaveTheLength) {
  Json config = llama(128, 5e5, 131072, R"({"rope_type": "llama3", "factor": 8,
      "low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 4096})");
  EXPECT_EQ(find_field(read(config), "original_length")->from,
            "rope_scaling.original_max_position_embeddings");
  config["original_max_position_embeddings"] = 4096;
  EXPECT_EQ(find_field(read(config), "original_length")->from, "original_max_position_embeddings");
}

TEST(HfScaling, DualChunksWithoutALengthCountFromTheModels) {
  Json config = qwen_1m();
  config["dual_chunk_attention_config"].erase("original_max_position_embeddings");
  EXPECT_THAT(read(config).groups[0].scheme, HasSubstr("length_temperature,original=1010000"));
}

TEST(HfScaling, AModelTypesWidthThatDoesNotFitIsMissing) {
  Json gptj = {{"model_type", "gptj"}, {"n_embd", 128}, {"n_head", 4}, {"n_positions", 2048}};
  EXPECT_THAT(refusal(gptj), HasSubstr("rotary_dim"));
  gptj["rotary_dim"] = 16;
  EXPECT_EQ(rotary(read(gptj)).layout.rotary_dim, 16);
}

}  // namespace
}  // namespace ropewalk
