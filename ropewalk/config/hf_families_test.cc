#include "ropewalk/config/hf_families.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "ropewalk/config/engine_table.h"
#include "ropewalk/config/gguf_architectures.h"
#include "ropewalk/config/hf_spelling.h"

namespace ropewalk {
namespace {

TEST(HfFamilies, NamesAreThereOnce) {
  std::set<std::string_view> names;
  for (const std::span<const HfFamily> group : hf_families()) {
    for (const HfFamily& family : group) {
      EXPECT_TRUE(names.insert(family.name).second) << family.name;
      EXPECT_EQ(find_hf_family(family.name), &family);
      EXPECT_TRUE(why_not_text(family.name).empty()) << family.name;
    }
  }
  EXPECT_GE(names.size(), 110U);
}

TEST(HfFamilies, TextModelsOfWrappedOnes) {
  EXPECT_EQ(find_hf_family("gemma3_text"), find_hf_family("gemma3"));
  EXPECT_EQ(find_hf_family("mllama_text_model"), find_hf_family("mllama"));
  EXPECT_EQ(find_hf_family("gemma3_tex"), nullptr);
  EXPECT_EQ(nearest_hf_family("gemma-3"), "gemma3");
  EXPECT_EQ(nearest_hf_family("nothing like it"), "");
}

// What rows must say for the rules that they name.
TEST(HfFamilies, RowsAreWhole) {
  using Layers = HfFamily::Layers;
  for (const std::span<const HfFamily> group : hf_families()) {
    for (const HfFamily& family : group) {
      SCOPED_TRACE(family.name);
      const bool periodic =
          family.layers == Layers::kLastOfEvery || family.layers == Layers::kFirstOfEvery;
      EXPECT_EQ(periodic, family.period != 0);
      EXPECT_GT(family.base, 1);
      EXPECT_GT(family.fraction, 0);
      EXPECT_LE(family.fraction, 1);
      EXPECT_EQ(family.rotary_dim % 2, 0);
      EXPECT_TRUE(family.block.empty() || nlohmann::json::accept(family.block));
      EXPECT_TRUE(family.sliding_base_keys.empty() || family.sliding_base != 0);
    }
  }
}

// Of which llama.cpp's converter knows no class.
constexpr std::string_view kNotConverted[] = {"albert",
                                              "aria",
                                              "bart",
                                              "biogpt",
                                              "blt",
                                              "codegen",
                                              "csm",
                                              "cwm",
                                              "deberta",
                                              "deberta-v2",
                                              "deberta_v2",
                                              "diffllama",
                                              "doge",
                                              "electra",
                                              "emu3",
                                              "ernie4_5_vl_moe",
                                              "esm",
                                              "flex_olmo",
                                              "fuyu",
                                              "gpt_neo",
                                              "gpt_neox_japanese",
                                              "helium",
                                              "hubert",
                                              "hyperclovax",
                                              "internlm",
                                              "jetmoe",
                                              "longcat_flash",
                                              "longt5",
                                              "m2m_100",
                                              "marian",
                                              "mbart",
                                              "mimo",
                                              "minimax",
                                              "ministral",
                                              "mllama",
                                              "modernbert-decoder",
                                              "moonshine",
                                              "moonshine_streaming",
                                              "nanochat",
                                              "opt",
                                              "pegasus",
                                              "persimmon",
                                              "phi4_multimodal",
                                              "recurrent_gemma",
                                              "roformer",
                                              "rwkv",
                                              "switch_transformers",
                                              "telechat",
                                              "telechat3",
                                              "transfo-xl",
                                              "wav2vec2",
                                              "wav2vec2_conformer",
                                              "whisper",
                                              "xlm-roberta-xl",
                                              "xlnet"};

bool is_listed(std::string_view name) {
  return std::ranges::find(kNotConverted, name) != std::end(kNotConverted);
}

TEST(HfFamilies, EveryRowIsConvertedToAnArchitectureOrNotAtAll) {
  size_t n_not_converted = 0;
  for (const std::span<const HfFamily> group : hf_families()) {
    for (const HfFamily& family : group) {
      const bool found = find_gguf_architecture(llama_cpp_architecture(family.name)) != nullptr;
      EXPECT_NE(found, is_listed(family.name)) << family.name;
      if (found) continue;
      EXPECT_EQ(family.gguf, "") << family.name;
      ++n_not_converted;
    }
  }
  EXPECT_EQ(n_not_converted, std::size(kNotConverted));
}

TEST(HfSpelling, Distances) {
  EXPECT_EQ(edit_distance("rope_scaling", "rope-Scaling"), 0);
  EXPECT_EQ(edit_distance("rotary_scaling", "rope_scaling"), 4);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(nearest_spelling("YaRN", {"linear", "yarn"}), "yarn");
  EXPECT_EQ(nearest_spelling("foo", {"linear", "yarn"}), "");
}

}  // namespace
}  // namespace ropewalk
