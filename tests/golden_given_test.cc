// Schemes against values computed outside this project: the shared golden files, whose
// configurations are translated to scheme strings here, and the frequencies of the reference
// losses. Rules without a scheme are counted and named.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "ropewalk/math/turns.h"
#include "ropewalk/schemes/scheme_string.h"
#include "ropewalk/testing/exact_values.h"

namespace ropewalk {
namespace {

using exact_values::decimal_of;
using exact_values::read_json;
using exact_values::shared_folder;
using exact_values::ulps;
using nlohmann::json;

#define SKIP_WITHOUT_SHARED_FILES(folder) \
  const auto folder = shared_folder();    \
  if (!folder) GTEST_SKIP() << "no ../shared: the golden values of other projects are not tested"

std::string text_of(const json& number) { return to_text(number.get<double>()); }

// ",key=value" where the object has the field and it is not null.
std::string field(const json& object, const char* from, const std::string& key) {
  const auto found = object.find(from);
  if (found == object.end() || found->is_null()) return "";
  return "," + key + "=" + (found->is_boolean() ? found->dump() : text_of(*found));
}

// The object of a Hugging Face configuration that holds the scaling, empty where there is none.
json scaling_of(const json& config) {
  const json& inner = config.contains("text_config") ? config.at("text_config") : config;
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (inner.contains(key) && inner.at(key).is_object()) return inner.at(key);
  }
  return json::object();
}

std::string list_text(const json& list) {
  std::string text;
  for (const json& number : list) text += (text.empty() ? "" : ":") + text_of(number);
  return text;
}

struct Translated {
  std::string scheme;
  int64_t trained_length = 0;
};

// Where the file tells a multiplier of the softmax scale, it is DeepSeek's.
std::string yarn_text(const json& resolved, const json& scaling, const json& variant) {
  if (!resolved.contains("factor")) return "rope";  // sliding layers of a YaRN model
  return "yarn" + field(resolved, "factor", "factor") + field(resolved, "beta_fast", "beta_fast") +
         field(resolved, "beta_slow", "beta_slow") + field(resolved, "truncate", "truncate") +
         field(resolved, "original_max_position_embeddings", "original") +
         field(scaling, "attention_factor", "attention_factor") +
         field(scaling, "mscale", "mscale") + field(scaling, "mscale_all_dim", "mscale_all_dim") +
         (variant.contains("softmax_scale_multiplier") ? ",mscale_logits=true" : "");
}

// k = int(partial_rotary_factor * head_dim // 2), the scaling in the layer type's own object where
// there is one.
std::string proportional_text(const json& golden, const json& scaling) {
  const json layer_type = golden.at("layer_type");
  const json& own = layer_type.is_string() ? scaling.at(layer_type.get<std::string>()) : scaling;
  const double width = own.at("partial_rotary_factor").get<double>() *
                       golden.at("resolved").at("head_dim").get<double>();
  return "proportional,rotating=" + to_text(std::floor(width / 2)) + field(own, "factor", "factor");
}

Translated longrope_text(const json& golden, const json& variant, const json& scaling) {
  return {"longrope,long=" + list_text(scaling.at("long_factor")) +
              ",short=" + list_text(scaling.at("short_factor")) +
              ",amplitude=" + variant.at("attention_factor").get<std::string>(),
          golden.at("resolved").at("original_max_position_embeddings").get<int64_t>()};
}

// The scheme string for a frequency case; empty where its rule is no scheme of this library.
// "ntk_by_parts" of these files is the formula of two ramps, the scheme part_ntk. The length that
// dynamic YaRN counts from is in no field of its file: Llama 2's 4096.
Translated translate(const json& golden, const json& variant) {
  const std::string rule = golden.at("rule");
  const json& resolved = golden.at("resolved");
  const json scaling = scaling_of(golden.at("config"));
  if (rule == "default" || rule == "partial" || rule == "per_layer_theta") return {"rope"};
  if (rule == "linear") {
    const std::string factor = field(resolved, "factor", "factor");
    return {factor.empty() ? "rope" : "linear" + factor};
  }
  if (rule == "ntk_fixed") return {"ntk" + field(variant, "scale", "factor")};
  if (rule == "ntk_alpha") return {"ntk" + field(scaling, "alpha", "factor")};
  if (rule == "ntk_mixed") {
    return {"ntk_mixed" + field(variant, "scale", "factor") + field(variant, "mixed_b", "power")};
  }
  if (rule == "yarn" || rule == "yarn_mscale" || rule == "yarn_no_truncate") {
    return {yarn_text(resolved, scaling, variant)};
  }
  if (rule == "llama3") {
    return {"llama3" + field(scaling, "factor", "factor") +
            field(scaling, "low_freq_factor", "low") + field(scaling, "high_freq_factor", "high") +
            field(scaling, "original_max_position_embeddings", "original")};
  }
  if (rule == "longrope") return longrope_text(golden, variant, scaling);
  if (rule == "dynamic_ntk_hf") {
    return {"dynamic_ntk,block=all" + field(resolved, "factor", "factor"),
            resolved.at("max_position_embeddings").get<int64_t>()};
  }
  if (rule == "ntk_vllm_fixed") return {"ntk_fixed" + field(variant, "scale", "factor")};
  if (rule == "ntk_by_parts") {
    return {"part_ntk" + field(variant, "scale", "factor") +
            field(variant, "original_max", "original")};
  }
  if (rule == "qwen1_dynamic_ntk") {
    return {"qwen_dynamic_ntk", golden.at("config").at("seq_length").get<int64_t>()};
  }
  if (rule == "dynamic_yarn") return {"dynamic_yarn", 4096};
  if (rule == "proportional") return {proportional_text(golden, scaling)};
  return {};
}

// The model's theta by any of its names; 10000 where the configuration is silent.
double theta_of(const json& golden) {
  const json& resolved = golden.at("resolved");
  if (resolved.contains("theta") && resolved.at("theta").is_number()) return resolved.at("theta");
  const json& config = golden.at("config");
  return config.contains("rope_theta") && config.at("rope_theta").is_number()
             ? config.at("rope_theta").get<double>()
             : 10000.0;
}

Rotary declared_rotary(double base, int64_t rotary_dim, int64_t head_dim, int64_t trained_length) {
  return plain_rotary({.base = base, .frequency_dim = rotary_dim, .trained_length = trained_length},
                      {PairOrder::kHalf, head_dim, rotary_dim});
}

// A table entry: 2 ulps, or 2^-62 where it is next to zero. `exact` has 17 digits, half an ulp
// more.
void expect_entry(double got, const json& exact) {
  const DoubleDouble wanted = decimal_of(exact);
  if (abs(DoubleDouble(got) - wanted) <= 0x1p-62) return;
  EXPECT_LE(ulps(got, wanted), 2.5) << exact;
}

// cos and sin of `pairs` at `positions`; columns are pairs.
int64_t check_table(const Spectrum& spectrum, const json& table, bool keyed_by_position) {
  int64_t checks = 0;
  for (size_t row = 0; row < table.at("positions").size(); ++row) {
    const auto position = table.at("positions").at(row).get<int64_t>();
    const auto row_of = [&](const char* name) -> const json& {
      const json& rows = table.at(name);
      return keyed_by_position ? rows.at(std::to_string(position)) : rows.at(row);
    };
    for (size_t column = 0; column < table.at("pairs").size(); ++column) {
      const auto pair = table.at("pairs").at(column).get<size_t>();
      const CosSin got = cos_sin_at(DoubleDouble(position), spectrum.turns_per_token[pair]);
      expect_entry(got.cos, row_of("cos").at(column));
      expect_entry(got.sin, row_of("sin").at(column));
      checks += 2;
    }
  }
  return checks;
}

// The multiplier of all logits: 1 where the file tells none.
int64_t check_softmax_scale(const Spectrum& spectrum, const json& variant) {
  if (!variant.contains("softmax_scale_multiplier")) {
    EXPECT_EQ(spectrum.logit_multiplier, 1);
    return 1;
  }
  EXPECT_LE(ulps(spectrum.logit_multiplier, decimal_of(variant.at("softmax_scale_multiplier"))),
            1.0);
  const double scale =
      spectrum.logit_multiplier / std::sqrt(variant.at("qk_head_dim").get<double>());
  EXPECT_LE(ulps(scale, decimal_of(variant.at("softmax_scale"))), 2.0);
  return 2;
}

std::vector<std::filesystem::path> files_of(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST(GoldenGiven, FrequenciesAgreeWithTheirRule) {
  SKIP_WITHOUT_SHARED_FILES(shared);
  std::map<std::string, int> passed;
  std::set<std::string> left;
  int64_t checks = 0;
  for (const auto& path : files_of(*shared / "golden/given")) {
    const json golden = read_json(path);
    if (golden.at("kind") != "frequencies") continue;
    if (!golden.contains("variants") ||
        translate(golden, golden.at("variants").at(0)).scheme.empty()) {
      left.insert(golden.at("rule"));
      continue;
    }
    for (const json& variant : golden.at("variants")) {
      const Translated translated = translate(golden, variant);
      SCOPED_TRACE(golden.at("id").get<std::string>() + ": " + translated.scheme.substr(0, 200));
      const json& resolved = golden.at("resolved");
      const Rotary rotary = apply_scheme(
          translated.scheme, declared_rotary(theta_of(golden), resolved.at("rotary_dim"),
                                             resolved.at("head_dim"), translated.trained_length));
      const Spectrum spectrum = rotary.spectrum.at(variant.value("seq_len", int64_t{1}));

      const std::vector<double> inv_freq = spectrum.inv_freq();
      ASSERT_EQ(inv_freq.size(), variant.at("inv_freq").size());
      for (size_t pair = 0; pair < inv_freq.size(); ++pair) {
        EXPECT_LE(ulps(inv_freq[pair], decimal_of(variant.at("inv_freq").at(pair))), 1.0) << pair;
      }
      EXPECT_LE(ulps(spectrum.amplitude, decimal_of(variant.at("attention_factor"))), 1.0);
      checks += check_softmax_scale(spectrum, variant);
      checks += static_cast<int64_t>(inv_freq.size()) + 1 + check_table(spectrum, variant, true);
    }
    ++passed[golden.at("rule")];
  }
  int files = 0;
  for (const auto& [rule, count] : passed) {
    std::printf("  %-20s %3d files\n", rule.c_str(), count);
    files += count;
  }
  std::printf("  %d files, %lld values; rules that are no scheme here:", files,
              static_cast<long long>(checks));
  for (const std::string& rule : left) std::printf(" %s", rule.c_str());
  std::printf("\n");
  EXPECT_EQ(passed.size(), 18u);
}

TEST(GoldenGiven, DistancesAreExact) {
  SKIP_WITHOUT_SHARED_FILES(shared);
  const Rotary declared = declared_rotary(10000, 8, 8, 4096);
  int files = 0;
  for (const auto& path : files_of(*shared / "golden/given")) {
    const json golden = read_json(path);
    const std::string rule = golden.at("rule");
    std::string scheme;
    if (rule == "rerope") scheme = "cap" + field(golden, "window", "window");
    if (rule == "leaky_rerope") {
      scheme =
          "leaky" + field(golden, "window", "window") + field(golden, "scaling_factor", "divisor");
    }
    if (rule == "self_extend") {
      scheme = "self_extend" + field(golden, "window", "window") + field(golden, "group", "group");
    }
    if (scheme.empty()) continue;
    SCOPED_TRACE(scheme);
    const DistanceMap map = apply_scheme(scheme, declared).distance;
    for (int64_t i = 0; i < golden.at("n").get<int64_t>(); ++i) {
      for (int64_t j = 0; j <= i; ++j) {
        const json& wanted = golden.at("distance").at(i).at(j);
        const DoubleDouble exact =
            wanted.is_string() ? decimal_of(wanted) : DoubleDouble(wanted.get<double>());
        EXPECT_EQ(static_cast<double>(map.at(i, j)), static_cast<double>(exact)) << i << " " << j;
      }
    }
    ++files;
  }
  std::printf("  %d files\n", files);
  EXPECT_EQ(files, 4);
}

TEST(GoldenGiven, SinksStandInsideTheKeptSet) {
  SKIP_WITHOUT_SHARED_FILES(shared);
  const json golden = read_json(*shared / "golden/given/streaming_llm__s2_w5.json");
  const Rotary rotary =
      apply_scheme("sinks" + field(golden, "sinks", "count") + field(golden, "window", "size"),
                   declared_rotary(10000, 8, 8, 4096));
  for (const json& row : golden.at("rows")) {
    const auto i = row.at("query").get<int64_t>();
    std::vector<int64_t> kept;
    for (int64_t j = 0; j <= i; ++j) {
      if (rotary.visibility.sees(i, j)) kept.push_back(j);
    }
    ASSERT_EQ(kept, row.at("kept").get<std::vector<int64_t>>());
    for (size_t k = 0; k < kept.size(); ++k) {
      EXPECT_EQ(
          rotary.visibility.standing(i, kept[k]) - kept[k],
          row.at("query_position").get<int64_t>() - row.at("cache_position").at(k).get<int64_t>());
    }
  }
}

// A position-dependent scale: its scheme, and what it multiplies the logits of row i by in a
// sequence of i + 1 tokens.
struct ScaleCase {
  std::string scheme;
  const char* index;    // the field that lists positions or lengths
  int64_t index_of_i0;  // its value for the first token
};

ScaleCase scale_case(const json& golden) {
  const std::string rule = golden.at("rule");
  const char* const original = "original_max_position_embeddings";
  if (rule == "attn_temperature_llama4") {
    return {"step_temperature,offset=1" + field(golden, "attn_scale", "scale") +
                field(golden, "floor_scale", "length"),
            "positions", 0};
  }
  if (rule == "attn_temperature_ministral3") {
    return {"step_temperature" + field(golden, "llama_4_scaling_beta", "scale") +
                field(golden, original, "length"),
            "positions", 0};
  }
  if (rule == "dca_softmax_scale") {
    return {"length_temperature" + field(golden, original, "original"), "seq_len", 1};
  }
  if (rule == "logn_clip") return {"logn", "position", 0};
  if (rule == "logn_qwen1") return {"logn", "key_length", 1};
  return {};
}

TEST(GoldenGiven, ScalesAgreeWithTheirRule) {
  SKIP_WITHOUT_SHARED_FILES(shared);
  std::map<std::string, int> values;
  for (const auto& path : files_of(*shared / "golden/given")) {
    const json golden = read_json(path);
    if (golden.at("kind") != "scale") continue;
    const ScaleCase scale = scale_case(golden);
    SCOPED_TRACE(golden.at("id").get<std::string>() + ": " + scale.scheme);
    ASSERT_FALSE(scale.scheme.empty());
    const int64_t trained = golden.value("training_length", golden.value("seq_length", 4096));
    const Rotary rotary = apply_scheme(scale.scheme, declared_rotary(10000, 8, 8, trained));
    const json& indices = golden.at(scale.index);
    for (size_t k = 0; k < indices.size(); ++k) {
      const int64_t i = indices.at(k).get<int64_t>() - scale.index_of_i0;
      const double got = rotary.temperature.at(i) * rotary.spectrum.at(i + 1).logit_multiplier;
      EXPECT_LE(ulps(got, decimal_of(golden.at("scale").at(k))), 2.0) << i;
      ++values[golden.at("rule")];
    }
  }
  for (const auto& [rule, count] : values) std::printf("  %-28s %3d values\n", rule.c_str(), count);
  EXPECT_EQ(values.size(), 5u);
}

// Positions up to 2^40 - 1, from formulas evaluated at 60 digits.
TEST(GoldenFar, TablesAreRightFarAway) {
  SKIP_WITHOUT_SHARED_FILES(shared);
  int64_t checks = 0;
  for (const auto& path : files_of(*shared / "golden/far")) {
    const json golden = read_json(path);
    std::string scheme = golden.at("rule");
    for (const auto& [key, value] : golden.at("parameters").items()) {
      scheme += "," + key + "=" + text_of(value);
    }
    SCOPED_TRACE(scheme);
    const auto rotary_dim = golden.at("rotary_dim").get<int64_t>();
    const Rotary rotary =
        apply_scheme(scheme, declared_rotary(golden.at("base"), rotary_dim, rotary_dim, 4096));
    checks += check_table(rotary.spectrum.at(1), golden, false);
  }
  std::printf("  %lld values\n", static_cast<long long>(checks));
  EXPECT_GT(checks, 0);
}

// Each reference loss run, as a scheme string.
const std::map<std::string, std::string> kReferenceSchemes = {
    {"direct", "declared"},
    {"direct+logn", "logn"},
    {"swa w=256", "window,size=256"},
    {"swa w=512", "window,size=512"},
    {"stream sink4 w=252", "sinks,count=4,size=252"},
    {"PI f=2", "linear,factor=2"},
    {"PI f=4", "linear,factor=4"},
    {"PI f=8", "linear,factor=8"},
    {"base x4", "base,factor=4"},
    {"base x8", "base,factor=8"},
    {"base x16", "base,factor=16"},
    {"NTK-aware s=4 (x6.35)", "ntk,factor=4"},
    {"NTK-by-parts s=8 no-temp", "ntk_by_parts,factor=8"},
    {"YaRN s=8 (by-parts+temp)", "yarn,factor=8,ramp=turns"},
    {"YaRN s=8 HF/code ramp +temp", "yarn,factor=8"},
    {"dynNTK consistent", "dynamic_ntk"},
    {"dynNTK stale cache", "stale_dynamic_ntk"},
    {"ReRoPE w=128", "cap,window=128"},
    {"ReRoPE w=256", "cap,window=256"},
    {"ReRoPE w=384", "cap,window=384"},
    {"ReRoPE w=512", "cap,window=512"},
    {"ReRoPE w=256+logn", "cap,window=256+logn"},
    {"Leaky w=128 k=16", "leaky,window=128,divisor=16"},
    {"Leaky w=256 k=8", "leaky,window=256,divisor=8"},
    {"Leaky w=256 k=16", "leaky,window=256,divisor=16"},
    {"SelfExtend w=256 G=16", "self_extend,window=256,group=16"},
    {"log tail w=128", "log_tail,window=128"},
    {"log tail w=256", "log_tail,window=256"},
    {"log tail w=512", "log_tail,window=512"},
    {"mask: zero after 1 turn", "full_turn"},
    {"mask: freeze at 1 turn (2pi)", "full_turn,mode=freeze"},
    {"cap pairs [2] at 512", "cap,window=512,pairs=2:2"},
    {"cap pairs [3] at 512", "cap,window=512,pairs=3:3"},
};

// The file's frequencies carry the noise of the double arithmetic they were made with.
TEST(Reference, SchemesHaveTheirFrequencies) {
  SKIP_WITHOUT_SHARED_FILES(shared);
  const json reference = read_json(*shared / "reference/schemes.json");
  const Rotary declared = declared_rotary(10000, 8, 8, 512);
  for (const auto& [name, entry] : reference.items()) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(kReferenceSchemes.count(name));
    const Rotary rotary = apply_scheme(kReferenceSchemes.at(name), declared);
    if (!entry.contains("theta")) continue;
    const Spectrum spectrum = rotary.spectrum.at(512);
    for (size_t pair = 0; pair < 4; ++pair) {
      const double theta = entry.at("theta").at(pair);
      EXPECT_NEAR(spectrum.inv_freq()[pair] / theta, 1, 1e-14);
    }
    EXPECT_NEAR(spectrum.amplitude * spectrum.amplitude, entry.value("logit_factor", 1.0), 1e-14);
  }
  std::printf("  %zu schemes\n", reference.size());
}

}  // namespace
}  // namespace ropewalk
