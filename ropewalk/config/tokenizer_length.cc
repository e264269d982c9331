#include "ropewalk/config/tokenizer_length.h"

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "ropewalk/config/json_fields.h"
#include "ropewalk/formats/json_file.h"

namespace ropewalk {
namespace {

constexpr const char* kFile = "tokenizer_config.json";
constexpr const char* kKey = "model_max_length";

// transformers writes int(1e30) for "none"; no text has a billion tokens.
constexpr double kUnset = 1e9;

}  // namespace

void add_tokenizer_length(const std::string& directory, ModelConfig& config) {
  const std::filesystem::path path =
      directory.empty() ? std::filesystem::path(kFile) : std::filesystem::path(directory) / kFile;
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed)) return;
  const nlohmann::ordered_json document = load_json(path.string());
  if (!document.is_object()) return;
  JsonFields fields(document, path.string());
  if (!fields.has_value(kKey)) return;
  const double length = *fields.number(kKey);
  if (length < 1) throw fields.wrong(kKey, "must be at least 1");

  const bool unset = length >= kUnset;
  const std::string from = std::string(kFile) + ": " + kKey;
  config.fields.push_back(
      {"tokenizer_length", unset ? "unset" : fields.spelled(kKey), Provenance::kFile, from});
  const auto usable = static_cast<double>(config.usable_length);
  if (unset || usable == 0 || length == usable) return;
  config.findings.push_back(
      {.severity = Finding::Severity::kWarning,
       .kind = FaultKind::kInconsistent,
       .key = from,
       .text = from + " is " + fields.spelled(kKey) + ", but the model is good for " +
               std::to_string(config.usable_length) +
               " tokens: the model's own length counts; the tokenizer cuts texts at its own"});
}

}  // namespace ropewalk
