#include "ropewalk/config/hf_tokenizer_length.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "ropewalk/config/json_fields.h"

namespace ropewalk {

namespace {

void warn_of_type(ModelConfig& config, const std::string& key, std::string text) {
  config.findings.push_back({.severity = Finding::Severity::kWarning,
                             .kind = FaultKind::kBadType,
                             .key = key,
                             .text = std::move(text)});
}

}  // namespace

void note_tokenizer_length(ModelConfig& config, const nlohmann::ordered_json& tokenizer_config) {
  constexpr double kUnset = 1e18;
  const std::string key = "model_max_length";
  if (!tokenizer_config.is_object()) {
    return warn_of_type(config, "tokenizer_config.json",
                        std::string("tokenizer_config.json must be an object, got ") +
                            tokenizer_config.type_name() + ": nothing in it is read");
  }
  const auto found = tokenizer_config.find(key);
  if (found == tokenizer_config.end()) return;
  if (!found->is_number() && !found->is_null()) {
    return warn_of_type(config, key,
                        "the tokenizer's " + key + " must be a number, got " + json_text(*found) +
                            ": it is not read, the model's own length counts");
  }
  if (found->is_null() || found->get<double>() >= kUnset) {
    config.findings.push_back(
        {.key = key, .text = "the tokenizer's " + key + " is unset (" + json_text(*found) + ")"});
    return;
  }
  const auto length = found->get<double>();
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
