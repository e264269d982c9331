#include "ropewalk/study/job_state.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "ropewalk/formats/json_file.h"

namespace ropewalk {
namespace {

constexpr std::array<std::pair<JobStage, const char*>, 3> kStages = {
    {{JobStage::kOpening, "opening"},
     {JobStage::kOpen, "open"},
     {JobStage::kFinished, "finished"}}};

constexpr uint64_t kMostInvocations = uint64_t{1} << 53;

}  // namespace

JobState new_job(const Ranks& ranks) {
  return {.seen = std::vector<int64_t>(static_cast<size_t>(ranks.size))};
}

std::string to_json(const Ranks& ranks, const JobState& state) {
  return dump_json({{"job", ranks.job},
                    {"stage", kStages[static_cast<size_t>(state.stage)].second},
                    {"invocation", state.invocation},
                    {"seen", state.seen}});
}

std::optional<JobState> parse_job_state(const std::string& text, const Ranks& ranks) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const auto is_number = [](const nlohmann::json& value) {
    return value.is_number_unsigned() && value.get<uint64_t>() < kMostInvocations;
  };
  if (!json.is_object() || json.value("job", nlohmann::json()) != ranks.job) return std::nullopt;
  const nlohmann::json invocation = json.value("invocation", nlohmann::json());
  const nlohmann::json seen = json.value("seen", nlohmann::json());
  if (!is_number(invocation) || !seen.is_array() ||
      seen.size() != static_cast<size_t>(ranks.size) ||
      !std::all_of(seen.begin(), seen.end(), is_number)) {
    return std::nullopt;
  }
  for (const auto& [stage, name] : kStages) {
    if (json.value("stage", nlohmann::json()) == name)
      return JobState{.stage = stage, .invocation = invocation, .seen = seen};
  }
  return std::nullopt;
}

}  // namespace ropewalk
