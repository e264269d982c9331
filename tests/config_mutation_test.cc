// No key of a config.json counts for nothing in silence: each key of each public model, changed,
// changes what is told of the file, is reported as unused, or is refused. Keys that have nothing to
// do with positions are listed here.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/config/model_config.h"
#include "ropewalk/testing/exact_values.h"

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;

const std::set<std::string> kNotOfPositions = {"architectures",
                                               "kv_lora_rank",
                                               "kv_n_heads",
                                               "max_length",
                                               "multi_query_group_num",
                                               "v_head_dim",
                                               "query_pre_attn_scalar",
                                               "new_decoder_architecture"};

void print(std::ostream& out, const PositionMechanism& mechanism) {
  out << mechanism.index() << ':';
  if (const auto* learned = std::get_if<LearnedTable>(&mechanism)) {
    out << learned->n_rows << ' ' << learned->offset;
  } else if (const auto* sines = std::get_if<SinusoidalTable>(&mechanism)) {
    out << sines->dim << ' ' << sines->offset;
  } else if (const auto* segments = std::get_if<SegmentTable>(&mechanism)) {
    out << segments->n_types;
  } else if (const auto* alibi = std::get_if<AlibiBias>(&mechanism)) {
    for (const double slope : alibi->slopes) out << slope << ' ';
  } else if (const auto* t5 = std::get_if<T5Buckets>(&mechanism)) {
    out << t5->n_buckets << ' ' << t5->max_distance;
  } else if (const auto* deberta = std::get_if<DebertaBuckets>(&mechanism)) {
    out << deberta->n_buckets << ' ' << deberta->max_distance;
  } else if (const auto* clipped = std::get_if<ClippedDistance>(&mechanism)) {
    out << clipped->limit;
  } else if (const auto* scores = std::get_if<TransformerXlScores>(&mechanism)) {
    out << scores->dim;
  } else if (const auto* convolution = std::get_if<ConvolutionalEmbedding>(&mechanism)) {
    out << convolution->width;
  }
  out << '\n';
}

void print(std::ostream& out, const std::vector<DeclaredField>& fields) {
  for (const DeclaredField& field : fields) {
    out << field.name << '=' << field.value << ' ' << field.from << '\n';
  }
}

void print(std::ostream& out, const Rotary& rotary) {
  out << rotary.layout.strip() << rotary.source.trained_length << ' ' << rotary.visibility.window;
  const QueryTemperature& temperature = rotary.temperature;
  out << temperature.step_scale << temperature.step_length << temperature.log_length << '\n';
  for (const int64_t n : {1, 5000, 100000, 2000000}) {
    const Spectrum spectrum = rotary.spectrum.at(n);
    for (const double inv_freq : spectrum.inv_freq()) out << inv_freq << ' ';
    for (const uint8_t axis : spectrum.axis) out << static_cast<int>(axis);
    out << spectrum.amplitude << ' ' << spectrum.logit_multiplier << '\n';
  }
}

// All that is told of a file; nothing where it is refused.
std::optional<std::string> told(const Json& config) {
  std::ostringstream out;
  out.precision(17);
  try {
    const ModelConfig read = read_hf_positions(config, "config.json");
    out << read.architecture << ' ' << read.usable_length << read.usable_reason << '\n';
    print(out, read.fields);
    for (const LayerGroup& group : read.groups) {
      out << group.name << group.scheme << group.temperature.step_length << '\n';
      for (const int64_t layer : group.layers) out << layer << ' ';
      print(out, group.fields);
      if (group.rotary) print(out, *group.rotary);
    }
    for (const PositionMechanism& mechanism : read.mechanisms) print(out, mechanism);
    for (const Finding& finding : read.findings) out << finding.text << '\n';
  } catch (const Error&) {
    return std::nullopt;
  }
  return out.str();
}

// Another value of the same type; null where there is none.
Json changed(const Json& value) {
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_number_integer()) return value.get<int64_t>() + 2;
  if (value.is_number_float()) return value.get<double>() * 0.75 + 0.01;
  if (value.is_string()) return value.get<std::string>() + "x";
  if (value.is_array() && !value.empty()) {
    Json other = value;
    other.back() = changed(value.back());
    return other;
  }
  return {};
}

struct Count {
  int changed = 0;
  int unused = 0;
  int refused = 0;
  std::set<std::string> keys;
};

// Each key of the object, and of the objects in it.
void mutate(const Json& document, Json::json_pointer at, const std::string& before, Count& count) {
  for (const auto& [key, value] : document.at(at).items()) {
    const Json::json_pointer path = at / key;
    if (value.is_object()) {
      if (key != "vision_config" && key != "audio_config") mutate(document, path, before, count);
      continue;
    }
    const Json other = changed(value);
    if (other.is_null() || kNotOfPositions.contains(key)) continue;
    Json mutant = document;
    mutant.at(path) = other;
    const std::optional<std::string> after = told(mutant);
    EXPECT_NE(after.value_or("refused"), before)
        << path.to_string() << " = " << value << " or " << other << ": nothing tells the two apart";
    ++count.changed;
    count.keys.insert(key);
    if (after && after->find(key + " = ") != after->npos) ++count.unused;
  }
}

TEST(ConfigMutation, NoKeyCountsForNothingInSilence) {
  const auto shared = exact_values::shared_folder();
  if (!shared) GTEST_SKIP() << "no shared folder: keys of public models are NOT changed";
  std::ifstream file(*shared / "golden/atlas.json");
  const Json atlas = Json::parse(file);
  Count count;
  for (const Json& entry : atlas) {
    const std::string name = entry["name"];
    SCOPED_TRACE(name);
    const std::optional<std::string> before = told(entry["config"]);
    if (before) {
      mutate(entry["config"], Json::json_pointer(), *before, count);
    } else {
      ++count.refused;
    }
  }
  std::printf("%d keys changed, %zu different ones; %d were reported as unused\n", count.changed,
              count.keys.size(), count.unused);
  EXPECT_GT(count.changed, 1000);
  EXPECT_LE(count.refused, 2);
}

}  // namespace
}  // namespace ropewalk
