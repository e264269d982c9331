// Cases of kind "malformed": whether the reader refuses a file, or warns of it, for the right
// reason and naming the right key.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "cli/golden/compute.h"
#include "cli/golden/gguf_bytes.h"
#include "ropewalk/base/error.h"
#include "ropewalk/config/model_config.h"

namespace ropewalk::golden {
namespace {

// What the reader said of a file.
struct Outcome {
  std::string expect = "ok";  // "error", "warning", "ok"
  std::string kind;
  std::string key;
  std::string text;
};

ModelConfig read(const Json& golden) {
  const std::string form = golden.value("form", "hf");
  if (form == "hf") return read_hf_positions(with_floats(golden.at("config")), "config.json");
  if (form == "gguf") {
    return read_gguf_case(golden.at("config"), golden.value("tensors", Json()), "", false);
  }
  throw Error("form", "must be hf or gguf", form);
}

// "config.json: rope_scaling.factor" without the file.
std::string key_of(const std::string& place) {
  const size_t colon = place.rfind(": ");
  return colon == std::string::npos ? place : place.substr(colon + 2);
}

std::vector<Outcome> outcomes_of(const Json& golden) {
  std::vector<Outcome> outcomes;
  try {
    for (const Finding& finding : read(golden).findings) {
      if (finding.severity != Finding::Severity::kWarning) continue;
      outcomes.push_back({"warning", to_string(finding.kind), finding.key, finding.text});
    }
  } catch (const Error& error) {
    return {{"error", to_string(error.kind()), key_of(error.place()), error.what()}};
  }
  if (outcomes.empty()) outcomes.emplace_back();
  return outcomes;
}

bool is_word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// `key` as a word of its own.
bool names(const std::string& text, const std::string& key) {
  for (size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + 1)) {
    const size_t end = at + key.size();
    const bool starts = at == 0 || !is_word_character(text[at - 1]);
    const bool ends = end == text.size() || !is_word_character(text[end]);
    if (starts && ends) return true;
  }
  return false;
}

// Faults of two keys that do not go together: either one may be named first, where both are named.
bool is_of_a_pair(const std::string& kind) {
  return kind == "conflict" || kind == "inconsistent" || kind == "order" ||
         kind == "sum_mismatch" || kind == "not_divisible" || kind == "derived_value";
}

// Two spellings of one key.
std::string spelled_alike(std::string key) {
  if (key.ends_with(".rope_type")) key.erase(key.size() - 9, 5);
  return key;
}

bool has_key(const Outcome& outcome, const std::string& key) {
  if (spelled_alike(outcome.key) == spelled_alike(key)) return true;
  return is_of_a_pair(outcome.kind) && names(outcome.text, key);
}

}  // namespace

Value compute_malformed(const Json& golden) {
  const std::vector<Outcome> outcomes = outcomes_of(golden);
  const std::string kind = golden.value("error_kind", Json("")).is_string()
                               ? golden.value("error_kind", "")
                               : std::string();
  const std::string key = golden.value("error_key", Json("")).is_string()
                              ? golden.value("error_key", "")
                              : std::string();
  // Of several warnings, the one that the case is about; the first where none is.
  const auto fits = [&](const Outcome& o) { return o.kind == kind && has_key(o, key); };
  const auto found = std::ranges::find_if(outcomes, fits);
  Outcome outcome = found == outcomes.end() ? outcomes.front() : *found;
  if (has_key(outcome, key)) outcome.key = key;

  const auto text = [&](const char* name, const std::string& value) {
    return value.empty() && golden.contains(name) && golden[name].is_null() ? Value()
                                                                            : Value::exact(value);
  };
  Value out = Value::object();
  out.set("expect", Value::exact(outcome.expect));
  out.set("error_kind", text("error_kind", outcome.kind));
  out.set("error_key", text("error_key", outcome.key));
  return out;
}

}  // namespace ropewalk::golden
