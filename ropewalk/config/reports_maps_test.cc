// What went wrong elsewhere with distance maps and log n that a configuration declares, by the codes
// of the collected reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "ropewalk/config/hf_test_support.h"
#include "ropewalk/math/distance_map.h"

namespace ropewalk {
namespace {

using namespace reports;
using testing::AllOf;
using testing::HasSubstr;

Json qwen(int64_t positions) {
  return {{"model_type", "qwen2"},     {"hidden_size", 3584},
          {"num_attention_heads", 28}, {"num_hidden_layers", 28},
          {"rope_theta", 10000000.0},  {"max_position_embeddings", positions}};
}

std::string field(const ModelConfig& config, const std::string& name) {
  const auto found = std::ranges::find(config.fields, name, &DeclaredField::name);
  return found == config.fields.end() ? "" : found->value;
}

// Log n is read where it is declared, and its scale goes by the position.
TEST(Reports, SCH_05_LogNIsDeclared) {
  Json config = {{"model_type", "qwen"},
                 {"hidden_size", 4096},
                 {"num_attention_heads", 32},
                 {"num_hidden_layers", 32},
                 {"kv_channels", 128},
                 {"seq_length", 2048},
                 {"max_position_embeddings", 8192},
                 {"rotary_emb_base", 10000},
                 {"use_dynamic_ntk", false},
                 {"use_logn_attn", true}};
  const QueryTemperature scale = rotary(read(config)).temperature;
  EXPECT_EQ(scale.at(2047), 1);
  EXPECT_DIGITS(scale.at(2999), 1.050068);
  EXPECT_DIGITS(scale.at(8191), 1.181818);
  config["use_logn_attn"] = false;
  EXPECT_EQ(rotary(read(config)).temperature.at(8191), 1);
}

// Dual chunk attention is told, and run: no engine is started without it unnoticed.
TEST(Reports, SCH_08_DualChunksAreDeclared) {
  Json config = qwen(1010000);
  config["dual_chunk_attention_config"] = {
      {"chunk_size", 262144}, {"local_size", 8192}, {"original_max_position_embeddings", 262144}};
  const ModelConfig declared = read(config);
  EXPECT_EQ(field(declared, "chunk"), "262144");
  EXPECT_EQ(field(declared, "local"), "8192");
  EXPECT_THAT(declared.groups.front().scheme,
              AllOf(HasSubstr("dca,chunk=262144,local=8192"), HasSubstr("length_temperature")));
  const DistanceMap& map = rotary(declared).distance;
  EXPECT_EQ(map.chunk(), 262144 - 8192);
  EXPECT_EQ(map.at(1000000, 0), 262144.0);
  const auto told =
      std::ranges::find(declared.findings, "dual_chunk_attention_config", &Finding::key);
  ASSERT_NE(told, declared.findings.end());
  EXPECT_THAT(told->text, AllOf(HasSubstr("transformers"), HasSubstr("ignore")));
  config["dual_chunk_attention_config"].erase("local_size");
  EXPECT_THAT(refusal(config), HasSubstr("local_size"));
}

// A window of w: the query and the w - 1 before it.
TEST(Reports, SWA_01_AWindowCountsTheQuery) {
  Json config = qwen(32768);
  config["use_sliding_window"] = true;
  config["sliding_window"] = 128;
  config["max_window_layers"] = 0;
  const Visibility sees = rotary(read(config)).visibility;
  EXPECT_FALSE(sees.sees(500, 372));
  EXPECT_TRUE(sees.sees(500, 373));
  EXPECT_TRUE(sees.sees(500, 500));
  EXPECT_FALSE(sees.sees(500, 501));
}

TEST(Reports, SWA_03_AWindowWithoutItsSwitchIsNone) {
  Json config = qwen(32768);
  config["use_sliding_window"] = false;
  config["sliding_window"] = 4096;
  const ModelConfig declared = read(config);
  ASSERT_EQ(declared.groups.size(), 1u);
  EXPECT_TRUE(rotary(declared).visibility.sees(32767, 0));
  EXPECT_EQ(field(declared, "window"), "none");
}

}  // namespace
}  // namespace ropewalk
