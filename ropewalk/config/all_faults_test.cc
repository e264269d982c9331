#include "ropewalk/config/all_faults.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "ropewalk/config/test_support.h"

namespace ropewalk {
namespace {

using nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ordered_json llama() {
  return {{"model_type", "llama"},
          {"hidden_size", 4096},
          {"num_attention_heads", 32},
          {"num_hidden_layers", 2},
          {"max_position_embeddings", 4096}};
}

std::vector<std::string> keys_of(const AllFaults& found, const std::string& place) {
  std::vector<std::string> keys;
  for (const Error& fault : found.faults) keys.push_back(fault_key(fault, place));
  return keys;
}

TEST(AllFaults, ASoundFileHasNone) {
  const AllFaults found = find_hf_faults(llama(), "config.json");
  EXPECT_THAT(found.faults, IsEmpty());
  ASSERT_TRUE(found.config);
  EXPECT_EQ(found.config->architecture, "llama");
}

TEST(AllFaults, OfAConfigAreAllNamed) {
  ordered_json document = llama();
  document["rope_theta"] = -1;
  document["max_position_embeddings"] = "long";
  document["rope_scaling"] = {{"rope_type", "linear"}, {"factor", 0.125}};
  const AllFaults found = find_hf_faults(document, "config.json");
  EXPECT_THAT(keys_of(found, "config.json"),
              testing::UnorderedElementsAre("rope_theta", "max_position_embeddings",
                                            "rope_scaling.factor"));
  for (const Error& fault : found.faults) EXPECT_NE(fault.rule(), "");
}

// The factor is missing only because the wrong one was taken out.
TEST(AllFaults, WhatWasRemovedIsNotMissing) {
  ordered_json document = llama();
  document["rope_scaling"] = {{"rope_type", "linear"}, {"factor", "four"}};
  const AllFaults found = find_hf_faults(document, "config.json");
  EXPECT_THAT(keys_of(found, "config.json"), ElementsAre("rope_scaling.factor"));
  EXPECT_FALSE(found.config);
}

TEST(AllFaults, AMissingKeyEndsIt) {
  ordered_json document = llama();
  document.erase("num_attention_heads");
  const AllFaults found = find_hf_faults(document, "config.json");
  ASSERT_EQ(found.faults.size(), 1u);
  EXPECT_EQ(found.faults[0].kind(), FaultKind::kMissingKey);
}

TEST(AllFaults, OfAGgufFileAreAllNamed) {
  GgufBuilder builder = plain_gguf();
  builder.set("llama.rope.freq_base", 0.5F)
      .set("llama.rope.scaling.type", std::string("ntk"))
      .set("llama.rope.scaling.factor", -2.0F);
  for (const bool with_tensor : {false, true}) {
    if (with_tensor) builder.tensor("rope_freqs.weight", std::vector<float>(64, 2.0F));
    const std::string bytes = builder.file();
    const AllFaults found = find_gguf_faults(GgufFile::parse(as_bytes(bytes), "m.gguf"));
    EXPECT_THAT(keys_of(found, "m.gguf"),
                testing::UnorderedElementsAre("llama.rope.freq_base", "llama.rope.scaling.type",
                                              "llama.rope.scaling.factor"));
    ASSERT_TRUE(found.config);
    EXPECT_EQ(found.config->architecture, "llama");
  }
}

}  // namespace
}  // namespace ropewalk
