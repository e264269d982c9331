// Cases made outside this project: spectra of real configurations, and malformed ones with the key
// at fault.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "ropewalk/base/error.h"
#include "ropewalk/config/hf_families.h"
#include "ropewalk/config/test_support.h"
#include "ropewalk/testing/exact_values.h"

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;
using exact_values::shared_folder;
using exact_values::ulps;

constexpr double kUlps = 4;

// Of model types that are read, but whose frequencies are no declaration: they name what a user
// would ask for on top of the file (a scheme), and are tested where the schemes are.
const std::set<std::string> kRulesNotDeclared = {"dynamic_yarn", "ntk_by_parts", "ntk_fixed",
                                                 "ntk_vllm_fixed", "ntk_mixed"};

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

Json read_case(const std::filesystem::path& path) {
  std::ifstream file(path);
  return Json::parse(file);
}

DoubleDouble exact(const Json& text) { return from_decimal(text.get<std::string>()); }

void expect_spectrum(const Spectrum& spectrum, const Json& golden, const std::string& what) {
  SCOPED_TRACE(what);
  const std::vector<double> inv_freq = spectrum.inv_freq();
  ASSERT_EQ(inv_freq.size(), golden["inv_freq"].size());
  for (size_t pair = 0; pair < inv_freq.size(); ++pair) {
    EXPECT_LE(ulps(inv_freq[pair], exact(golden["inv_freq"][pair])), kUlps) << "pair " << pair;
  }
  EXPECT_LE(ulps(spectrum.amplitude, exact(golden["attention_factor"])), kUlps);
}

class GoldenConfig : public testing::Test {
 protected:
  void SetUp() override {
    const auto shared = shared_folder();
    if (!shared) GTEST_SKIP() << "no shared folder: the golden cases are NOT tested";
    folder_ = *shared / "golden/given";
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      paths_.insert(entry.path());
    }
  }

  std::filesystem::path folder_;
  std::set<std::filesystem::path> paths_;
};

TEST_F(GoldenConfig, SpectraOfHuggingFaceConfigurations) {
  int count = 0;
  for (const auto& path : paths_) {
    const Json golden = read_case(path);
    if (golden["kind"] != "frequencies" || !golden["config"].is_object()) continue;
    if (find_hf_family(golden["config"].value("model_type", "")) == nullptr) continue;
    if (kRulesNotDeclared.contains(golden["rule"])) continue;
    ++count;
    const ModelConfig config = read_hf_positions(golden["config"], "config.json");
    const Json& variant = golden["variants"][0];
    expect_spectrum(spectrum_at(config, 1), variant, golden["id"]);
  }
  EXPECT_GE(count, 8);
}

TEST_F(GoldenConfig, LongRopeListsByLength) {
  // Phi-3's positions are Llama-like; its model type waits for its engine.
  const Json golden = read_case(folder_ / "longrope__phi3_5_mini.json");
  Json config = golden["config"];
  config["model_type"] = "llama";
  const ModelConfig read = read_hf_positions(config, "config.json");
  for (const Json& variant : golden["variants"]) {
    const int64_t n = variant["seq_len"];
    expect_spectrum(spectrum_at(read, n), variant, std::to_string(n) + " tokens");
  }
}

TEST_F(GoldenConfig, DynamicBaseByLength) {
  const Json golden = read_case(folder_ / "dynamic__internlm2_5_7b.json");
  Json config = golden["config"];
  config["model_type"] = "llama";
  const ModelConfig read = read_hf_positions(config, "config.json");
  for (const Json& variant : golden["variants"]) {
    const int64_t n = variant["seq_len"];
    expect_spectrum(spectrum_at(read, n), variant, std::to_string(n) + " tokens");
  }
}

// What a malformed case asks for, against what reading it does.
void expect_outcome(const Json& golden, const std::function<ModelConfig()>& read) {
  const std::string id = golden["id"];
  SCOPED_TRACE(id);
  const std::string key = golden["error_key"];
  try {
    const ModelConfig config = read();
    ASSERT_NE(golden["expect"], "error") << "accepted; should name " << key;
    if (golden["expect"] != "warning") return;
    const std::string last = key.substr(key.rfind('.') + 1);
    EXPECT_TRUE(notes_mention(config, last)) << "no note names " << key;
  } catch (const Error& error) {
    ASSERT_EQ(golden["expect"], "error") << "refused: " << error.what();
    EXPECT_NE(error.place().find(key), std::string::npos) << error.what();
  }
}

TEST_F(GoldenConfig, MalformedConfigurations) {
  int count = 0;
  for (const auto& path : paths_) {
    const Json golden = read_case(path);
    if (golden["kind"] != "malformed" || golden["form"] != "hf") continue;
    Json config = with_floats(golden["config"]);
    if (golden["id"] == "malformed__phi3_top_vs_nested_original") config["model_type"] = "llama";
    if (find_hf_family(config["model_type"].get<std::string>()) == nullptr) continue;
    ++count;
    expect_outcome(golden, [&] { return read_hf_positions(config, "config.json"); });
  }
  EXPECT_GE(count, 45);
}

}  // namespace
}  // namespace ropewalk
