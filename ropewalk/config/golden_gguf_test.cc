// Cases of GGUF files made outside this project: spectra, and malformed ones with the key at fault.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "ropewalk/base/error.h"
#include "ropewalk/config/test_support.h"
#include "ropewalk/testing/exact_values.h"

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;
using exact_values::shared_folder;
using exact_values::ulps;

constexpr double kUlps = 4;

DoubleDouble exact(const Json& text) { return from_decimal(text.get<std::string>()); }

void expect_spectrum(const Spectrum& spectrum, const Json& golden, const char* list = "inv_freq") {
  const std::vector<double> inv_freq = spectrum.inv_freq();
  ASSERT_EQ(inv_freq.size(), golden[list].size());
  for (size_t pair = 0; pair < inv_freq.size(); ++pair) {
    EXPECT_LE(ulps(inv_freq[pair], exact(golden[list][pair])), kUlps) << "pair " << pair;
  }
  EXPECT_LE(ulps(spectrum.amplitude, exact(golden["attention_factor"])), kUlps);
}

// A list of numbers, or {"repeat": [[value, times], ...]}.
std::vector<float> factors_of(const Json& values) {
  std::vector<float> factors;
  if (values.is_object()) {
    for (const Json& run : values["repeat"]) {
      factors.insert(factors.end(), run[1].get<size_t>(), static_cast<float>(run[0].get<double>()));
    }
  } else {
    for (const Json& value : values) factors.push_back(static_cast<float>(exact(value)));
  }
  return factors;
}

void set(GgufBuilder& builder, const std::string& name, const Json& value) {
  if (name.ends_with(".weight")) {  // "shape [48]"
    builder.tensor(name, std::vector<float>(48, 1.0F));
  } else if (value.is_string()) {
    builder.set(name, value.get<std::string>());
  } else if (value.is_number_float()) {
    builder.set(name, static_cast<float>(value.get<double>()));
  } else if (value.is_boolean()) {
    builder.set(name, value.get<bool>());
  } else {
    builder.set(name, value.get<uint32_t>());
  }
}

// Keys of a case, over sizes that cases leave out. "A" stands for any architecture.
GgufBuilder gguf_of(const Json& keys, const std::string& architecture) {
  GgufBuilder builder = plain_gguf(architecture);
  for (const auto& [key, value] : keys.items()) {
    set(builder, key.starts_with("A.") ? architecture + key.substr(1) : key, value);
  }
  return builder;
}

// What the cases of these architectures need beside their own keys.
void complete(GgufBuilder& builder, const std::string& architecture) {
  const std::string own = architecture + ".";
  if (architecture == "deepseek2") builder.set(own + "attention.key_length_mla", uint32_t{192});
  if (architecture == "gpt-oss") {
    builder.set(own + "attention.key_length", uint32_t{64})
        .set(own + "attention.sliding_window", uint32_t{128});
  }
  if (architecture == "phi3") builder.set(own + "embedding_length", uint32_t{3072});
  if (architecture == "gemma3") builder.set(own + "block_count", uint32_t{34});
  if (architecture == "gemma4") {
    builder.set(own + "attention.key_length", uint32_t{512})
        .set(own + "attention.key_length_swa", uint32_t{256})
        .set(own + "attention.sliding_window", uint32_t{1024})
        .set(own + "attention.sliding_window_pattern", std::vector<int32_t>{1, 0});
  }
}

std::string architecture_of(const Json& golden) {
  const std::string first = golden["gguf"].items().begin().key();
  const std::string prefix = first.substr(0, first.find('.'));
  if (prefix == "A") return "qwen3";
  return golden["gguf"].value("general.architecture", prefix);
}

class GoldenGguf : public testing::Test {
 protected:
  void SetUp() override {
    const auto shared = shared_folder();
    if (!shared) GTEST_SKIP() << "no shared folder: the golden cases are NOT tested";
    for (const auto& entry : std::filesystem::directory_iterator(*shared / "golden/given")) {
      std::ifstream file(entry.path());
      const Json golden = Json::parse(file);
      if (golden["kind"] == "gguf") cases_[golden["id"]] = golden;
      if (golden.value("form", "") == "gguf") malformed_[golden["id"]] = golden;
    }
  }

  static GgufBuilder build(const Json& golden) {
    const std::string architecture = architecture_of(golden);
    GgufBuilder builder = gguf_of(golden["gguf"], architecture);
    complete(builder, architecture);
    // Numbers that the cases spell as decimals are float32 in files.
    for (const auto& [key, value] : golden["gguf"].items()) {
      if (value.is_string() && (key.ends_with("freq_base") || key.ends_with("attn_factor"))) {
        builder.set(key, static_cast<float>(exact(value)));
      }
    }
    if (golden.contains("tensors")) {
      for (const auto& [tensor, values] : golden["tensors"].items()) {
        builder.tensor(tensor, factors_of(values));
      }
    }
    return builder;
  }

  std::map<std::string, Json> cases_;
  std::map<std::string, Json> malformed_;
};

TEST_F(GoldenGguf, EverySpectrumIsAsTheMetadataSays) {
  std::map<std::string, int> by_rule;
  for (const auto& [id, golden] : cases_) {
    SCOPED_TRACE(id);
    const ModelConfig config = build(golden).positions();
    if (golden.contains("full_attention")) {
      for (const std::string kind : {"full_attention", "sliding_attention"}) {
        SCOPED_TRACE(kind);
        const LayerGroup* const group = find_group(config, kind);
        ASSERT_NE(group, nullptr);
        expect_spectrum(group->rotary.value().spectrum.at(1), golden[kind]);
      }
    } else if (golden.contains("variants")) {
      for (const Json& variant : golden["variants"]) {
        expect_spectrum(spectrum_at(config, variant["n_ctx_per_seq"]), variant);
      }
    } else {
      const LayerGroup* const full = find_group(config, "full_attention");
      const Rotary& rotary = full == nullptr ? config.layer(0).value() : full->rotary.value();
      expect_spectrum(rotary.spectrum.at(1), golden);
      const std::string layout = golden["layout_gguf"];
      EXPECT_EQ(rotary.layout.order == PairOrder::kHalf, layout.starts_with("half"));
    }
    ++by_rule[golden["rule"]];
  }
  int total = 0;
  for (const auto& [rule, count] : by_rule) {
    RecordProperty(rule, count);
    total += count;
  }
  EXPECT_GE(total, 11);
}

TEST_F(GoldenGguf, DeepSeeksLogitsAreMultiplied) {
  const Json& golden = cases_.at("gguf__deepseek_v3_yarn");
  const ModelConfig config = build(golden).positions();
  const double multiplier = spectrum_at(config, 1).logit_multiplier;
  EXPECT_LE(ulps(multiplier, exact(golden["softmax_scale_multiplier"])), kUlps);
  const double scale = multiplier / std::sqrt(static_cast<double>(config.shape.head_dim));
  EXPECT_LE(ulps(scale, exact(golden["softmax_scale"])), kUlps);
}

// Kimi K2's file says one ramp and llama.cpp takes another.
TEST_F(GoldenGguf, WhatLlamaCppMakesOfKimisRampIsAFinding) {
  const Json& golden = cases_.at("gguf__kimi_k2_beta");
  const ModelConfig config = build(golden).positions();
  ASSERT_NE(find_finding(config, "yarn_beta_fast"), nullptr);
  const ModelConfig theirs =
      build(golden).set("deepseek2.rope.scaling.yarn_beta_fast", 32.0F).positions();
  expect_spectrum(spectrum_at(theirs, 1), golden, "llama_cpp_effective_inv_freq");
}

TEST_F(GoldenGguf, LayersOfGemma3) {
  const ModelConfig config = build(cases_.at("gguf__gemma3_4b")).positions();
  EXPECT_EQ(find_group(config, "full_attention")->layers,
            (std::vector<int64_t>{5, 11, 17, 23, 29}));
}

// What a malformed case asks for, against what reading it does.
TEST_F(GoldenGguf, MalformedFilesAreRefusedOrNamed) {
  for (const auto& [id, golden] : malformed_) {
    SCOPED_TRACE(id);
    const std::string architecture = golden["config"]["general.architecture"];
    const std::string key = golden["error_key"];
    const std::string kind = golden["error_kind"];
    try {
      GgufBuilder builder = gguf_of(golden["config"], architecture);
      complete(builder, architecture);
      const ModelConfig config = builder.positions();
      ASSERT_NE(golden["expect"], "error") << "accepted; should name " << key;
      if (golden["expect"] != "warning") continue;
      const Finding* const finding = find_finding(config, key);
      ASSERT_NE(finding, nullptr);
      EXPECT_EQ(finding->severity, Finding::Severity::kWarning);
      EXPECT_EQ(to_string(finding->kind), kind);
    } catch (const Error& error) {
      ASSERT_EQ(golden["expect"], "error") << "refused: " << error.what();
      EXPECT_NE(error.place().find(key), std::string::npos) << error.what();
      EXPECT_EQ(to_string(error.kind()), kind) << error.what();
    }
  }
  EXPECT_GE(malformed_.size(), 9U);
}

}  // namespace
}  // namespace ropewalk
