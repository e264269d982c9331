// Every entry of the atlas of public models: its configuration resolves, with the layout that the
// entry says, or is refused for the reason that the entry gives. Prints how many numbers come from
// where.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/config/model_config.h"
#include "ropewalk/testing/exact_values.h"

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;

struct Count {
  std::map<Provenance, int> fields;
  int resolved = 0;
  int remarks = 0;
  std::vector<std::string> warnings;
  std::vector<std::string> refused;
};

std::string layout_of(const ModelConfig& config) {
  for (const LayerGroup& group : config.groups) {
    if (!group.rotary) continue;
    return group.rotary->layout.order == PairOrder::kHalf ? "half-split (neox)"
                                                          : "interleaved (gptj/adjacent)";
  }
  return "no rotary";
}

void count_fields(const ModelConfig& config, Count& count) {
  for (const DeclaredField& field : config.fields) ++count.fields[field.provenance];
  for (const LayerGroup& group : config.groups) {
    for (const DeclaredField& field : group.fields) ++count.fields[field.provenance];
  }
}

// Whether the entry itself says what is wrong: the note names the key, or the value.
bool note_explains(const Json& entry, const Error& error) {
  const std::string note = entry.value("note", "");
  const std::string key = error.place().substr(error.place().rfind(' ') + 1);
  const auto holds = [&](const std::string& text) {
    return !text.empty() && note.find(text) != note.npos;
  };
  return holds(key) || holds(error.value());
}

void check(const Json& entry, Count& count) {
  const std::string name = entry["name"];
  SCOPED_TRACE(name);
  std::optional<ModelConfig> config;
  try {
    config = read_hf_positions(entry["config"], name);
  } catch (const Error& error) {
    count.refused.push_back(error.what());
    EXPECT_TRUE(note_explains(entry, error))
        << error.what() << "\n  note: " << entry.value("note", "");
    return;
  }
  ++count.resolved;
  for (const Finding& finding : config->findings) {
    if (finding.severity == Finding::Severity::kWarning) {
      count.warnings.push_back(name + ": " + finding.text);
    } else {
      ++count.remarks;
    }
  }
  EXPECT_EQ(layout_of(*config), entry["layout_hf"]);
  count_fields(*config, count);
  for (const LayerGroup& group : config->groups) {
    if (!group.rotary) continue;
    const std::vector<double> inv_freq = group.rotary->spectrum.at(1).inv_freq();
    ASSERT_EQ(static_cast<int64_t>(inv_freq.size()), group.rotary->layout.n_pairs());
    EXPECT_GT(inv_freq[0], 0);
    for (size_t pair = 1; pair < inv_freq.size(); ++pair) {
      const bool falls = inv_freq[pair] < inv_freq[pair - 1] || inv_freq[pair] == 0;
      EXPECT_TRUE(falls) << group.name << " pair " << pair;
    }
  }
}

TEST(Atlas, EveryEntryResolvesOrIsRefusedForItsOwnReason) {
  const auto shared = exact_values::shared_folder();
  if (!shared) GTEST_SKIP() << "no shared folder: the atlas of public models is NOT tested";
  std::ifstream file(*shared / "golden/atlas.json");
  const Json atlas = Json::parse(file);
  Count count;
  for (const Json& entry : atlas) check(entry, count);

  std::printf("%zu entries: %d resolve, %zu are refused\n", atlas.size(), count.resolved,
              count.refused.size());
  for (const auto& [provenance, number] : count.fields) {
    std::printf("  %-15s %5d fields\n", to_string(provenance).c_str(), number);
  }
  for (const std::string& reason : count.refused) std::printf("  refused: %s\n", reason.c_str());
  std::printf("  %d remarks, %zu warnings\n", count.remarks, count.warnings.size());
  for (const std::string& text : count.warnings) std::printf("  warning: %s\n", text.c_str());
  EXPECT_EQ(count.resolved + count.refused.size(), 191U);
}

}  // namespace
}  // namespace ropewalk
