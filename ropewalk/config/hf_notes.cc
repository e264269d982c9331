#include "ropewalk/config/hf_notes.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace ropewalk {

void HfNotes::field(std::string name, std::string value, Provenance provenance, std::string from) {
  fields.push_back({std::move(name), std::move(value), provenance, std::move(from)});
}

void HfNotes::field_of_key(std::string name, const JsonFields& from, const std::string& key) {
  if (from.is_defaults()) {
    field(std::move(name), from.spelled(key), Provenance::kFamilyDefault,
          "no rope_parameters: the model type's own " + key);
  } else {
    field(std::move(name), from.spelled(key), Provenance::kFile, from.name(key));
  }
}

void HfNotes::info(const std::string& key, const std::string& text, FaultKind kind) {
  add({.severity = Finding::Severity::kInfo, .kind = kind, .key = key, .text = text});
}

void HfNotes::warn(const std::string& key, const std::string& text, FaultKind kind) {
  add({.severity = Finding::Severity::kWarning, .kind = kind, .key = key, .text = text});
}

void HfNotes::add(Finding finding) {
  const bool known = std::ranges::any_of(findings, [&](const Finding& other) {
    return other.key == finding.key && other.text == finding.text;
  });
  if (!known) findings.push_back(std::move(finding));
}

void HfNotes::remark(const std::string& key, const EngineRemark& remark,
                     std::initializer_list<std::string> fills) {
  std::string text(remark.text);
  size_t at = 0;
  for (const std::string& fill : fills) {
    at = text.find("{}", at);
    assert(at != text.npos);
    text.replace(at, 2, fill);
    at += fill.size();
  }
  const bool warns = remark.fault != FaultKind::kUnspecified;
  add({.severity = warns ? Finding::Severity::kWarning : Finding::Severity::kInfo,
       .kind = remark.fault,
       .key = key,
       .text = text,
       .engine_rule = remark.rule});
}

void HfNotes::unused(JsonFields& from, const std::string& key, const std::string& why) {
  from.mark(key);
  if (!from.has_value(key)) return;
  const std::string name = from.name(key);
  info(name, name + " = " + from.spelled(key) + " is not used: " + why);
}

std::vector<std::string> spellings(std::string_view keys) {
  std::vector<std::string> list;
  while (!keys.empty()) {
    const size_t end = keys.find('|');
    list.emplace_back(keys.substr(0, end));
    keys = end == keys.npos ? std::string_view() : keys.substr(end + 1);
  }
  return list;
}

}  // namespace ropewalk
