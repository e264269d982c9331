// config.json cases made outside this project: spectra, axes and layers of public models, and
// malformed files with the kind of fault and the key that has it.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "ropewalk/base/error.h"
#include "ropewalk/config/test_support.h"
#include "ropewalk/math/turns.h"
#include "ropewalk/schemes/scheme_string.h"
#include "ropewalk/testing/exact_values.h"

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;
using exact_values::shared_folder;
using exact_values::ulps;

constexpr double kUlps = 4;

// {"__float__": "nan"} stands for what JSON has no word for.
Json with_floats(const Json& value) {
  if (value.is_object() && value.contains("__float__")) {
    const std::string name = value["__float__"];
    const double infinity = std::numeric_limits<double>::infinity();
    return name == "nan" ? Json(std::numeric_limits<double>::quiet_NaN())
                         : Json(name.starts_with('-') ? -infinity : infinity);
  }
  if (!value.is_object()) return value;
  Json out = Json::object();
  for (const auto& [key, entry] : value.items()) out[key] = with_floats(entry);
  return out;
}

DoubleDouble exact(const Json& text) { return from_decimal(text.get<std::string>()); }

class GoldenHf : public testing::Test {
 protected:
  void SetUp() override {
    const auto shared = shared_folder();
    if (!shared) GTEST_SKIP() << "no shared folder: the golden cases are NOT tested";
    for (const auto& entry : std::filesystem::directory_iterator(*shared / "golden/given")) {
      std::ifstream file(entry.path());
      Json golden = Json::parse(file);
      const std::string id = golden["id"];
      cases_[id] = std::move(golden);
    }
  }

  std::map<std::string, Json> cases_;
};

// ---- frequencies

bool is_of_text(const Json& golden) {
  const std::string rule = golden["rule"];
  return golden["kind"] == "frequencies" && golden.contains("config") &&
         golden["config"].is_object() && !rule.starts_with("vision_2d") &&
         !rule.starts_with("axial");
}

// What a user asks for on top of a file that declares nothing of it.
std::string asked_for(const Json& golden, const Json& variant) {
  const std::string rule = golden["rule"];
  const auto with_factor = [&](const std::string& scheme) {
    return scheme + ",factor=" + variant["scale"].dump();
  };
  // Llama-2's own length, of which this copy of its file has half.
  if (rule == "dynamic_yarn") return "dynamic_yarn,original=4096";
  if (rule == "ntk_fixed") return with_factor("ntk");
  if (rule == "ntk_by_parts") {
    return with_factor("part_ntk") + ",original=" + variant["original_max"].dump();
  }
  return "declared";
}

const LayerGroup& group_of(const ModelConfig& config, const Json& layer_type) {
  for (const LayerGroup& group : config.groups) {
    const bool wanted = layer_type.is_null() ? group.rotary.has_value() : group.name == layer_type;
    if (wanted) return group;
  }
  ADD_FAILURE() << "no group of " << layer_type;
  return config.groups.front();
}

void expect_spectrum(const Spectrum& spectrum, const Json& golden) {
  const std::vector<double> inv_freq = spectrum.inv_freq();
  ASSERT_EQ(inv_freq.size(), golden["inv_freq"].size());
  for (size_t pair = 0; pair < inv_freq.size(); ++pair) {
    EXPECT_LE(ulps(inv_freq[pair], exact(golden["inv_freq"][pair])), kUlps) << "pair " << pair;
  }
  if (golden.contains("attention_factor")) {
    EXPECT_LE(ulps(spectrum.amplitude, exact(golden["attention_factor"])), kUlps);
  }
  if (golden.contains("softmax_scale_multiplier")) {
    EXPECT_LE(ulps(spectrum.logit_multiplier, exact(golden["softmax_scale_multiplier"])), kUlps);
    const DoubleDouble head = golden["qk_head_dim"].get<double>();
    const DoubleDouble scale = DoubleDouble(spectrum.logit_multiplier) / sqrt(head);
    EXPECT_LE(ulps(static_cast<double>(scale), exact(golden["softmax_scale"])), kUlps);
  }
}

const DeclaredField* field_of(const ModelConfig& config, const LayerGroup& group,
                              const std::string& name) {
  for (const auto* fields : {&group.fields, &config.fields}) {
    const auto found = std::ranges::find(*fields, name, &DeclaredField::name);
    if (found != fields->end()) return &*found;
  }
  return nullptr;
}

// The case's own spelling of DeepSeek-V4's layout is against the atlas, and against the model's
// code: its pairs are interleaved.
const std::set<std::string> kOtherLayout = {"yarn__deepseek_v4_flash"};

void expect_resolved(const ModelConfig& config, const LayerGroup& group, const Json& golden) {
  const Json& resolved = golden["resolved"];
  const Rotary& rotary = *group.rotary;
  EXPECT_EQ(rotary.layout.rotary_dim, resolved["rotary_dim"]);
  // Under multi-head latent attention some cases mean the whole head, some the rotated part.
  const int64_t head = resolved["head_dim"];
  EXPECT_TRUE(head == rotary.layout.head_dim || head == config.shape.head_dim) << head;
  const bool half = rotary.layout.order == PairOrder::kHalf;
  if (!kOtherLayout.contains(golden["id"])) {
    EXPECT_EQ(half ? "half" : "interleaved", resolved["layout_hf"]);
  }
  if (resolved.contains("theta") && !resolved["theta"].is_null()) {
    EXPECT_EQ(static_cast<double>(rotary.source.base), resolved["theta"].get<double>());
  }
  const std::pair<const char*, const char*> fields[] = {
      {"factor", "factor"},
      {"original_max_position_embeddings", "original_length"},
      {"beta_fast", "beta_fast"},
      {"beta_slow", "beta_slow"},
      {"truncate", "truncate"},
      {"max_position_embeddings", "context_length"},
      {"rotating_pairs", "rotating_pairs"}};
  for (const auto& [key, name] : fields) {
    if (!resolved.contains(key)) continue;
    const DeclaredField* const field = field_of(config, group, name);
    ASSERT_NE(field, nullptr) << name;
    EXPECT_EQ(Json::parse(field->value), resolved[key]) << name;
  }
}

// Axes by the letters of the cases.
void expect_axes(const Rotary& rotary, const Json& golden) {
  const Spectrum spectrum = rotary.spectrum.at(1);
  const bool four = golden["rule"] == "mrope_xdrope";
  const std::string letters = four ? "pwht" : "thw";
  ASSERT_EQ(spectrum.axis.size(), golden["axis_per_pair"].size());
  for (size_t pair = 0; pair < spectrum.axis.size(); ++pair) {
    EXPECT_EQ(std::string(1, letters[spectrum.axis[pair]]), golden["axis_per_pair"][pair]) << pair;
  }
  for (const Json& at : golden["cases"]) {
    for (size_t pair = 0; pair < spectrum.axis.size(); ++pair) {
      const std::string axis(1, letters[spectrum.axis[pair]]);
      const auto position = at["position"][axis].get<int64_t>();
      EXPECT_EQ(position, at["angle_axis_pos"][pair]);
      const CosSin got = cos_sin_at(DoubleDouble(position), spectrum.turns_per_token[pair]);
      EXPECT_NEAR(got.cos, static_cast<double>(exact(at["cos"][pair])), 4e-16);
      EXPECT_NEAR(got.sin, static_cast<double>(exact(at["sin"][pair])), 4e-16);
    }
  }
}

TEST_F(GoldenHf, Frequencies) {
  std::map<std::string, int> by_rule;
  for (const auto& [id, golden] : cases_) {
    if (!is_of_text(golden)) continue;
    SCOPED_TRACE(id);
    Json config = golden["config"];
    if (!config.contains("model_type")) config["model_type"] = "llama";  // a case of no model
    const ModelConfig read = read_hf_positions(config, "config.json");
    const LayerGroup& group = group_of(read, golden.value("layer_type", Json()));
    ASSERT_TRUE(group.rotary);
    expect_resolved(read, group, golden);
    if (golden.contains("axis_per_pair")) {
      expect_spectrum(group.rotary->spectrum.at(1), golden);
      expect_axes(*group.rotary, golden);
    } else {
      for (const Json& variant : golden["variants"]) {
        const int64_t n = variant.value("seq_len", 1);
        SCOPED_TRACE(std::to_string(n) + " tokens");
        const Rotary rotary = apply_scheme(asked_for(golden, variant), *group.rotary);
        expect_spectrum(rotary.spectrum.at(n), variant);
      }
    }
    ++by_rule[golden["rule"]];
  }
  int all = 0;
  for (const auto& [rule, count] : by_rule) {
    std::printf("  %-20s %3d cases\n", rule.c_str(), count);
    all += count;
  }
  EXPECT_GE(all, 47);
}

// ---- layers

void expect_layer(const Json& golden, const LayerGroup& group) {
  const std::string wanted = golden;
  if (wanted.starts_with("none")) {
    EXPECT_FALSE(group.rotary) << wanted;
    EXPECT_EQ(group.temperature.step_length != 0, wanted == "none+attn_temperature");
    return;
  }
  ASSERT_TRUE(group.rotary) << wanted;
  if (wanted.starts_with("theta=")) {
    EXPECT_EQ(group.rotary->source.base.hi, std::stod(wanted.substr(6)));
  } else if (wanted == "mrope") {
    EXPECT_FALSE(group.rotary->spectrum.at(1).axis.empty());
  } else if (wanted != "rope") {
    EXPECT_TRUE(group.scheme.starts_with(wanted + ",")) << group.scheme;
  }
}

TEST_F(GoldenHf, Layers) {
  int count = 0;
  for (const auto& [id, golden] : cases_) {
    if (golden["kind"] != "layers") continue;
    SCOPED_TRACE(id);
    ++count;
    const ModelConfig read = read_hf_positions(golden["config"], "config.json");
    const Json& wanted = golden["per_layer"];
    ASSERT_EQ(read.group_of_layer.size(), wanted.size());
    for (size_t layer = 0; layer < wanted.size(); ++layer) {
      SCOPED_TRACE("layer " + std::to_string(layer));
      expect_layer(wanted[layer], read.groups[read.group_of_layer[layer]]);
    }
  }
  EXPECT_EQ(count, 7);
}

// ---- malformed

// Two keys of one setting: either is right.
bool names_key(const std::string& place, const std::string& key) {
  const auto ends = [&](const std::string& wanted) {
    return place == wanted || place.ends_with(" " + wanted);
  };
  const size_t dot = key.rfind('.');
  return ends(key) || (dot != key.npos && ends(key.substr(dot + 1))) || place.ends_with("." + key);
}

void expect_warnings(const Json& golden, const ModelConfig& config) {
  std::vector<Finding> warnings;
  for (const Finding& finding : config.findings) {
    if (finding.severity == Finding::Severity::kWarning) warnings.push_back(finding);
  }
  if (golden["expect"] == "ok") {
    for (const Finding& finding : warnings) ADD_FAILURE() << "warns: " << finding.text;
    return;
  }
  const bool found = std::ranges::any_of(warnings, [&](const Finding& finding) {
    return to_string(finding.kind) == golden["error_kind"] &&
           names_key(finding.key, golden["error_key"]);
  });
  EXPECT_TRUE(found) << "no warning " << golden["error_kind"] << " at " << golden["error_key"];
}

void expect_outcome(const Json& golden) {
  try {
    const ModelConfig config = read_hf_positions(with_floats(golden["config"]), "config.json");
    ASSERT_NE(golden["expect"], "error") << "accepted; should name " << golden["error_key"];
    expect_warnings(golden, config);
  } catch (const Error& error) {
    ASSERT_EQ(golden["expect"], "error") << "refused: " << error.what();
    EXPECT_EQ(to_string(error.kind()), golden["error_kind"]) << error.what();
    EXPECT_TRUE(names_key(error.place(), golden["error_key"])) << error.what();
  }
}

TEST_F(GoldenHf, Malformed) {
  std::map<std::string, int> by_outcome;
  for (const auto& [id, golden] : cases_) {
    if (golden["kind"] != "malformed" || golden["form"] != "hf") continue;
    SCOPED_TRACE(id);
    ++by_outcome[golden["expect"]];
    expect_outcome(golden);
  }
  EXPECT_GE(by_outcome["error"], 38);
  EXPECT_GE(by_outcome["warning"], 5);
  EXPECT_GE(by_outcome["ok"], 4);
}

}  // namespace
}  // namespace ropewalk
