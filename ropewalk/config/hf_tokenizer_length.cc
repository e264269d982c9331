#include "ropewalk/config/hf_tokenizer_length.h"

#include <nlohmann/json.hpp>

#include "ropewalk/config/json_fields.h"

namespace ropewalk {

void note_tokenizer_length(ModelConfig& config, const nlohmann::ordered_json& tokenizer_config) {
  constexpr double kUnset = 1e18;
  const std::string key = "model_max_length";
  const auto found = tokenizer_config.find(key);
  if (found == tokenizer_config.end() || !found->is_number()) return;
  const auto length = found->get<double>();
  if (length >= kUnset) {
    config.findings.push_back(
        {.key = key, .text = "the tokenizer's " + key + " is unset (" + json_text(*found) + ")"});
    return;
  }
  if (config.usable_length == 0 || length == static_cast<double>(config.usable_length)) return;
  config.findings.push_back({.severity = Finding::Severity::kWarning,
                             .kind = FaultKind::kInconsistent,
                             .key = key,
                             .text = "the tokenizer's " + key + " is " + json_text(*found) +
                                     ", the model is good for " +
                                     std::to_string(config.usable_length) + " tokens (" +
                                     config.usable_reason + "): the model's own counts"});
}

}  // namespace ropewalk
