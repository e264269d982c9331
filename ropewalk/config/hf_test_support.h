// What tests of reported faults share.
#ifndef ROPEWALK_CONFIG_HF_TEST_SUPPORT_H_
#define ROPEWALK_CONFIG_HF_TEST_SUPPORT_H_

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "ropewalk/config/test_support.h"
#include "ropewalk/formats/test_support.h"

namespace ropewalk::reports {

using Json = nlohmann::ordered_json;

constexpr double kDigits = 1e-6;  // relative; what the reports are rounded to

inline ModelConfig read(const Json& config) { return read_hf_positions(config, "config.json"); }

inline std::string refusal(const Json& config) {
  return message_of([&] { read(config); });
}

// A Llama of heads of `head_dim` with this scaling.
inline Json llama(int64_t head_dim, double base, int64_t positions, const char* scaling = "null") {
  return {{"model_type", "llama"},
          {"head_dim", head_dim},
          {"num_hidden_layers", 2},
          {"rope_theta", base},
          {"max_position_embeddings", positions},
          {"rope_scaling", Json::parse(scaling)}};
}

inline const Rotary& rotary(const ModelConfig& config, size_t layer = 0) {
  return config.layer(layer).value();
}

inline double frequency(const ModelConfig& config, size_t pair, int64_t n = 1) {
  return spectrum_at(config, n).inv_freq().at(pair);
}

inline double base_at(const ModelConfig& config, int64_t n) {
  const Spectrum spectrum = spectrum_at(config, n);
  const auto d = static_cast<double>(rotary(config).layout.rotary_dim);
  return std::pow(spectrum.inv_freq().at(1), -d / 2);
}

inline const Finding* warning(const ModelConfig& config, const std::string& key) {
  for (const Finding& finding : config.findings) {
    if (finding.severity == Finding::Severity::kWarning && finding.key == key) return &finding;
  }
  return nullptr;
}

#define EXPECT_DIGITS(got, wanted) EXPECT_NEAR((got) / (wanted), 1, kDigits)

inline Json gemma3(const char* scaling) {
  return {{"model_type", "gemma3_text"},
          {"head_dim", 256},
          {"num_hidden_layers", 34},
          {"hidden_size", 2560},
          {"rope_theta", 1e6},
          {"num_attention_heads", 8},
          {"rope_local_base_freq", 1e4},
          {"sliding_window", 1024},
          {"max_position_embeddings", 131072},
          {"rope_scaling", Json::parse(scaling)}};
}

inline Json deepseek(const char* mscales, const char* model_type = "deepseek_v3") {
  Json config = {{"model_type", model_type},          {"qk_rope_head_dim", 64},
                 {"qk_nope_head_dim", 128},           {"num_hidden_layers", 2},
                 {"max_position_embeddings", 163840}, {"rope_theta", 10000}};
  config["rope_scaling"] = Json::parse(mscales);
  config["rope_scaling"].update({{"type", "yarn"},
                                 {"factor", 40},
                                 {"beta_fast", 32},
                                 {"beta_slow", 1},
                                 {"original_max_position_embeddings", 4096}});
  return config;
}

}  // namespace ropewalk::reports

#endif  // ROPEWALK_CONFIG_HF_TEST_SUPPORT_H_
