#include "ropewalk/config/hf_layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "ropewalk/formats/test_support.h"

namespace ropewalk {
namespace {

using testing::HasSubstr;
using Json = nlohmann::ordered_json;

struct Read {
  HfLayers layers;
  HfNotes notes;
};

Read layers_of(const std::string& family, int64_t n_layers, const Json& config) {
  Read result;
  JsonFields top(config, "config.json");
  HfReading reading = {.file = "config.json",
                       .top = top,
                       .family = *find_hf_family(family),
                       .notes = result.notes,
                       .length = {}};
  result.layers = read_hf_layers(reading, n_layers);
  return result;
}

// A letter for each layer: f, s, c, l, r; upper case where it is not rotated.
std::string letters(const std::string& family, int64_t n_layers,
                    const Json& config = Json::object()) {
  std::string text;
  for (const HfLayer& layer : layers_of(family, n_layers, config).layers.layers) {
    const char letter = layer.type[0];
    text += layer.rotates ? letter : static_cast<char>(letter - 'a' + 'A');
  }
  return text;
}

std::string refusal(const std::string& family, int64_t n_layers, const Json& config) {
  return message_of([&] { layers_of(family, n_layers, config); });
}

TEST(HfLayers, RulesOfFamilies) {
  EXPECT_EQ(letters("llama", 3), "fff");
  EXPECT_EQ(letters("gemma3", 7), "sssssfs");
  EXPECT_EQ(letters("gemma3", 4, {{"sliding_window_pattern", 2}}), "sfsf");
  EXPECT_EQ(letters("gemma2", 4), "sfsf");
  EXPECT_EQ(letters("gpt_oss", 4), "sfsf");
  EXPECT_EQ(letters("modernbert", 5), "fssfs");
  EXPECT_EQ(letters("olmo3", 5), "sssfs");
  EXPECT_EQ(letters("qwen3_next", 5), "LLLfL");
  EXPECT_EQ(letters("cohere2", 5), "sssFs");
  EXPECT_EQ(letters("exaone4", 5, {{"sliding_window_pattern", "LLG"}}), "ssFss");
  EXPECT_EQ(letters("exaone4", 3, {{"sliding_window", nullptr}}), "fff");
  EXPECT_EQ(letters("recurrent_gemma", 4), "RRaR");
  EXPECT_EQ(letters("lfm2", 3, {{"full_attn_idxs", {1}}}), "CfC");
  EXPECT_EQ(letters("bamba", 3, {{"attn_layer_indices", {2}}}), "LLf");
  EXPECT_EQ(letters("mimo_v2_flash", 3, {{"hybrid_layer_pattern", {0, 1, 1}}}), "fss");
  EXPECT_EQ(letters("deepseek_v4", 3, {{"compress_ratios", {0, 4, 128, 0}}}), "scc");
  EXPECT_EQ(letters("qwen2", 3, {{"use_sliding_window", true}, {"max_window_layers", 2}}), "ffs");
  EXPECT_EQ(letters("qwen2", 2, {{"use_sliding_window", false}, {"max_window_layers", 1}}), "ff");
}

TEST(HfLayers, LayersWithoutRotation) {
  EXPECT_EQ(letters("llama4", 4), "cccF");
  EXPECT_EQ(letters("llama4", 4, {{"attention_chunk_size", nullptr}}), "fffF");
  EXPECT_EQ(letters("llama4", 3, {{"no_rope_layers", {0, 1, 1}}}), "Fcc");
  EXPECT_EQ(letters("smollm3", 4, {{"no_rope_layer_interval", 2}}), "fFfF");
  EXPECT_EQ(letters("smollm3", 0, {{"no_rope_layers", {1, 0}}}), "fF");
}

TEST(HfLayers, ListsComeFirst) {
  const Json list = {{"layer_types", {"full_attention", "sliding_attention"}}};
  EXPECT_EQ(letters("gemma3", 2, list), "fs");
  EXPECT_EQ(letters("gemma3", 0, list), "fs");
  EXPECT_EQ(letters("cohere2", 2, list), "Fs");
  EXPECT_THAT(refusal("gemma3", 3, list), HasSubstr("one entry for each of 3 layers"));
  EXPECT_THAT(refusal("llama", 1, {{"layer_types", {"what"}}}), HasSubstr("layer_types[0]"));
  EXPECT_THAT(refusal("llama", 1, {{"layer_types", {3}}}), HasSubstr("must be a string"));
}

TEST(HfLayers, OnePeriodWhereLayersAreNotCounted) {
  const Read read = layers_of("gemma3", 0, Json::object());
  EXPECT_FALSE(read.layers.counted);
  EXPECT_EQ(read.layers.layers.size(), 6U);
  EXPECT_EQ(letters("llama4", 0), "cccF");
}

TEST(HfLayers, FaultsAreNamed) {
  EXPECT_THAT(refusal("exaone4", 4, {{"sliding_window_pattern", "GL"}}), HasSubstr("LLLG"));
  EXPECT_THAT(refusal("mimo_v2_flash", 2, {{"hybrid_layer_pattern", {0, 2}}}),
              HasSubstr("hybrid_layer_pattern[1]"));
  EXPECT_THAT(refusal("smollm3", 2, {{"no_rope_layers", {1, 2}}}), HasSubstr("no_rope_layers[1]"));
  EXPECT_THAT(refusal("lfm2", 2, {{"full_attn_idxs", {2}}}), HasSubstr("below 2"));
  EXPECT_THAT(refusal("gemma3", 2, {{"sliding_window_pattern", 100000}}), HasSubstr("4096"));
}

}  // namespace
}  // namespace ropewalk
