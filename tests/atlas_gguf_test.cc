// The GGUF part of an atlas made outside this project: for each public model, the keys that a
// converter writes, the layout that llama.cpp gives its architecture, and whether q and k rows were
// reordered. A header is built of each entry's keys and read; sizes that an entry leaves out come
// from its config.json.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/config/gguf_architectures.h"
#include "ropewalk/config/test_support.h"
#include "ropewalk/testing/exact_values.h"

namespace ropewalk {
namespace {

using exact_values::read_json;
using exact_values::shared_folder;
using nlohmann::json;

// The converter's own, where a configuration has a name of its own.
int64_t size_of(const json& config, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (config.contains(name) && config[name].is_number()) return config[name].get<int64_t>();
  }
  return 0;
}

class EntryBuilder {
 public:
  explicit EntryBuilder(const json& entry)
      : keys_(entry["gguf"].value("keys", json::object())),
        config_(entry["config"].contains("text_config") ? entry["config"]["text_config"]
                                                        : entry["config"]),
        architecture_(entry["gguf"]["arch"]),
        own_(architecture_ + ".") {
    if (config_.contains("rope_parameters")) rope_ = config_["rope_parameters"];
    if (config_.contains("rope_scaling") && config_["rope_scaling"].is_object()) {
      rope_ = config_["rope_scaling"];
    }
  }

  GgufBuilder build() {
    builder_.set("general.architecture", architecture_);
    for (const auto& [key, value] : keys_.items()) set_key(key, value);
    complete_sizes();
    complete_rope();
    complete_layers();
    add_tensors();
    return builder_;
  }

 private:
  void set_key(const std::string& key, const json& value) {
    if (key == "tensors" || key.ends_with(".weight") || key == "general.architecture") return;
    if (value.is_array()) {
      builder_.set(key, value.get<std::vector<int32_t>>());
    } else if (value.is_string() && key.ends_with("scaling.type")) {
      builder_.set(key, value.get<std::string>());
    } else if (key.ends_with("freq_base") || key.ends_with("freq_base_swa") ||
               key.find(".rope.scaling.") != std::string::npos) {
      if (key.ends_with("original_context_length")) {
        builder_.set(key, static_cast<uint32_t>(number_of(value)));
      } else {
        builder_.set(key, static_cast<float>(number_of(value)));
      }
    } else {
      builder_.set(key, static_cast<uint32_t>(number_of(value)));
    }
  }

  // Some entries spell numbers as text, one as a sum with its result.
  static double number_of(const json& value) {
    if (value.is_number()) return value.get<double>();
    const std::string text = value;
    const size_t result = text.find("= ");
    return std::stod(result == std::string::npos ? text : text.substr(result + 2));
  }

  void complete(const std::string& suffix, GgufBuilder::Value value) {
    if (!builder_.has(own_ + suffix)) builder_.set(own_ + suffix, std::move(value));
  }
  void complete_size(const std::string& suffix, const std::vector<std::string>& names,
                     int64_t otherwise) {
    const int64_t found = size_of(config_, names);
    complete(suffix, static_cast<uint32_t>(found != 0 ? found : otherwise));
  }

  void complete_sizes() {
    complete_size("context_length",
                  {"max_position_embeddings", "n_positions", "max_seq_len", "seq_length",
                   "model_max_length", "max_sequence_length"},
                  4096);
    complete_size("embedding_length", {"hidden_size", "n_embd", "d_model"}, 4096);
    complete_size("attention.head_count", {"num_attention_heads", "n_head", "n_heads", "num_heads"},
                  32);
    // Baichuan-13B is told by its layers.
    complete_size("block_count", {"num_hidden_layers", "n_layer", "n_layers", "num_layers"},
                  architecture_ == "baichuan" ? 40 : 24);
    const int64_t head_dim = size_of(config_, {"head_dim", "attention_head_dim", "kv_channels"});
    if (head_dim != 0) complete("attention.key_length", static_cast<uint32_t>(head_dim));
    const int64_t latent =
        size_of(config_, {"qk_nope_head_dim"}) + size_of(config_, {"qk_rope_head_dim"});
    if (size_of(config_, {"qk_rope_head_dim"}) != 0) {
      builder_.set(own_ + "attention.key_length_mla", static_cast<uint32_t>(latent));
      if (architecture_ == "minicpm3") {
        builder_.set(own_ + "attention.key_length", static_cast<uint32_t>(latent));
      }
    }
    if (architecture_ == "t5")
      complete_size("attention.relative_buckets_count", {"relative_attention_num_buckets"}, 32);
    if (architecture_ == "glm4moe")
      complete("attention.key_length", uint32_t{128});  // of the class
    if (architecture_ == "mpt") complete("attention.max_alibi_bias", 8.0F);
  }

  double fraction() const {
    for (const std::string name : {"partial_rotary_factor", "rotary_pct", "rotary_emb_fraction"}) {
      if (rope_.is_object() && rope_.contains(name)) return rope_[name];
      if (config_.contains(name)) return config_[name];
    }
    return architecture_ == "chatglm" ? 0.5 : 1;
  }

  void complete_rope() {
    const int64_t width = size_of(config_, {"rotary_dim"});
    if (width != 0) {
      complete("rope.dimension_count", static_cast<uint32_t>(width));
    } else if (fraction() != 1 && architecture_ != "gemma4") {
      const int64_t head =
          architecture_ == "glm4moe" ? 128 : size_of(config_, {"head_dim", "kv_channels"});
      const double whole =
          head != 0 ? static_cast<double>(head)
                    : static_cast<double>(size_of(config_, {"hidden_size", "n_embd"})) /
                          static_cast<double>(size_of(config_, {"num_attention_heads", "n_head"}));
      complete("rope.dimension_count", static_cast<uint32_t>(whole * fraction()));
    }
    if (rope_.is_object() && rope_.contains("xdrope_section")) {
      complete("rope.dimension_sections", rope_["xdrope_section"].get<std::vector<int32_t>>());
    }
  }

  void complete_layers() {
    const int64_t window = size_of(config_, {"sliding_window"});
    const bool slides = architecture_.starts_with("gemma") || architecture_ == "gpt-oss" ||
                        architecture_ == "cohere2" || architecture_ == "exaone4" ||
                        architecture_ == "mimo2" || architecture_ == "modern-bert" ||
                        config_.contains("layer_types");
    if (slides && architecture_ != "gemma") {
      complete("attention.sliding_window", static_cast<uint32_t>(window != 0 ? window : 4096));
    }
    std::vector<int32_t> list;
    if (config_.contains("layer_types")) {
      for (const json& type : config_["layer_types"])
        list.push_back(type == "sliding_attention" ? 1 : 0);
    } else if (config_.contains("hybrid_layer_pattern")) {
      list = config_["hybrid_layer_pattern"].get<std::vector<int32_t>>();
    }
    if (architecture_ == "mimo2" || architecture_ == "gemma4") {
      complete("attention.sliding_window_pattern", list);
    }
    if (architecture_ == "gemma4") {
      builder_.set(own_ + "attention.key_length_swa", uint32_t{256})
          .set(own_ + "attention.key_length", uint32_t{512})
          .set(own_ + "rope.dimension_count", uint32_t{512})
          .set(own_ + "rope.dimension_count_swa", uint32_t{256})
          .tensor("rope_freqs.weight", std::vector<float>(256, 1.0F));
    }
  }

  // The values that are not told are 1: what they are is no matter of this test.
  void add_tensors() {
    if (keys_.contains("tensors") || keys_.contains("rope_factors_long.weight")) {
      n_pairs_ = builder_.positions().groups.front().rotary.value().layout.n_pairs();
    }
    if (keys_.contains("rope_factors_long.weight")) {
      add_factors("rope_factors_long.weight", "long_factor");
      add_factors("rope_factors_short.weight", "short_factor");
    }
    if (!keys_.contains("tensors")) return;
    for (const json& name : keys_["tensors"]) {
      const std::string tensor = name;
      add_factors(tensor,
                  tensor.find("long") != std::string::npos ? "long_factor" : "short_factor");
    }
  }
  void add_factors(const std::string& tensor, const std::string& list) {
    std::vector<float> factors;
    if (tensor != "rope_freqs.weight" && rope_.is_object() && rope_.contains(list)) {
      for (const json& value : rope_[list]) factors.push_back(value.get<float>());
    } else {
      factors.assign(n_pairs_, 1.0F);
    }
    builder_.tensor(tensor, factors);
  }

  const json keys_;
  const json config_;
  const std::string architecture_;
  const std::string own_;
  json rope_;
  int64_t n_pairs_ = 0;
  GgufBuilder builder_;
};

template <typename Mechanism>
bool has(const ModelConfig& config) {
  return std::ranges::any_of(config.mechanisms, [](const PositionMechanism& mechanism) {
    return std::holds_alternative<Mechanism>(mechanism);
  });
}

const Rotary* first_rotary(const ModelConfig& config) {
  for (const LayerGroup& group : config.groups) {
    if (group.rotary) return &*group.rotary;
  }
  return nullptr;
}

void expect_layout(const ModelConfig& config, const std::string& layout, const json& entry) {
  const Rotary* const rotary = first_rotary(config);
  if (layout == "learned" || layout.starts_with("none for BERT")) {
    EXPECT_TRUE(has<LearnedTable>(config));
  } else if (layout == "alibi") {
    EXPECT_TRUE(has<AlibiBias>(config));
  } else if (layout == "relative buckets") {
    EXPECT_TRUE(has<T5Buckets>(config));
  } else if (layout == "none") {
    EXPECT_EQ(rotary, nullptr);
    EXPECT_TRUE(config.mechanisms.empty());
  } else if (entry["name"] == "baichuan-inc/Baichuan2-13B-Chat") {
    EXPECT_TRUE(has<AlibiBias>(config)) << "as its note says: " << entry["note"];
  } else {
    ASSERT_NE(rotary, nullptr);
    const bool adjacent = layout.starts_with("interleaved");
    EXPECT_EQ(rotary->layout.order, adjacent ? PairOrder::kInterleaved : PairOrder::kHalf);
    EXPECT_EQ(!rotary->spectrum.at(1).axis.empty(),
              layout.starts_with("mrope") || layout.starts_with("imrope"));
  }
}

// Every key of the entry is behind a number, or spoken of.
void expect_keys(const ModelConfig& config, const json& keys) {
  const auto stands_behind = [&](const std::vector<DeclaredField>& fields, const std::string& key) {
    return std::ranges::any_of(fields, [&](const DeclaredField& field) {
      return field.from.find(key) != std::string::npos ||
             (field.from == "context_length" && key.ends_with(".context_length"));
    });
  };
  for (const auto& [key, value] : keys.items()) {
    if (key == "tensors" || key == "general.architecture") continue;
    bool found = stands_behind(config.fields, key) || find_finding(config, key) != nullptr;
    for (const LayerGroup& group : config.groups) found = found || stands_behind(group.fields, key);
    EXPECT_TRUE(found) << key << " is neither behind a field nor in a finding";
  }
}

TEST(AtlasGguf, EveryEntryResolvesWithItsLayoutAndItsKeys) {
  const auto shared = shared_folder();
  if (!shared) GTEST_SKIP() << "no ../shared: the atlas is NOT tested";
  const json atlas = read_json(*shared / "golden/atlas.json");
  int resolved = 0, without = 0, refused = 0, keys = 0;
  std::map<std::string, int> provenance;
  for (const json& entry : atlas) {
    SCOPED_TRACE(entry["name"]);
    const json gguf = entry.value("gguf", json());
    if (gguf.is_null()) {
      ++without;
      continue;
    }
    if (gguf["arch"].is_null()) {  // GPT-J: "loader has no rope for gptj"
      ++refused;
      const ModelConfig config = plain_gguf("gptj").positions();
      EXPECT_EQ(first_rotary(config), nullptr);
      std::printf("   refused: %s: %s\n", entry["name"].get<std::string>().c_str(),
                  gguf["rope_layout"].get<std::string>().c_str());
      continue;
    }
    ModelConfig config;
    try {
      config = EntryBuilder(entry).build().positions();
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
      continue;
    }
    ++resolved;
    keys += static_cast<int>(gguf["keys"].size());
    expect_layout(config, gguf["rope_layout"], entry);
    expect_keys(config, gguf["keys"]);
    const GgufArchitecture* const architecture =
        find_gguf_architecture(gguf["arch"].get<std::string>());
    ASSERT_NE(architecture, nullptr);
    // MiniCPM3's converter turns the rows the other way.
    if (gguf["qk_permuted_by_converter"].is_boolean()) {
      EXPECT_EQ(architecture->permuted, gguf["qk_permuted_by_converter"].get<bool>());
    }
    for (const DeclaredField& field : config.fields) ++provenance[to_string(field.provenance)];
    for (const LayerGroup& group : config.groups) {
      for (const DeclaredField& field : group.fields) ++provenance[to_string(field.provenance)];
    }
  }
  std::printf("   %zu entries: %d without a GGUF part, %d resolved with %d keys, %d refused\n",
              atlas.size(), without, resolved, keys, refused);
  for (const auto& [from, count] : provenance) {
    std::printf("   %-14s %d numbers\n", from.c_str(), count);
  }
  EXPECT_EQ(resolved + without + refused, 191);
  EXPECT_GE(resolved, 169);
}

}  // namespace
}  // namespace ropewalk
