// What reading a GGUF file gathers beside positions: numbers with where they come from, and things
// worth saying.
#ifndef ROPEWALK_CONFIG_GGUF_REPORT_H_
#define ROPEWALK_CONFIG_GGUF_REPORT_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ropewalk/config/gguf_keys.h"
#include "ropewalk/config/model_config.h"

namespace ropewalk {

class GgufReport {
 public:
  std::vector<DeclaredField> fields;
  std::vector<Finding> findings;

  void field(std::string name, std::string value, Provenance provenance, std::string from) {
    fields.push_back({std::move(name), std::move(value), provenance, std::move(from)});
  }
  // A number that stands in the file.
  void field_of_key(const GgufKeys& keys, std::string name, std::string_view suffix) {
    field(std::move(name), keys.spelled(suffix), Provenance::kFile, keys.key(suffix));
  }

  void info(std::string key, std::string text, FaultKind kind = FaultKind::kUnspecified) {
    findings.push_back({Finding::Severity::kInfo, kind, std::move(key), std::move(text)});
  }
  void warn(FaultKind kind, std::string key, std::string text) {
    findings.push_back({Finding::Severity::kWarning, kind, std::move(key), std::move(text)});
  }
};

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_GGUF_REPORT_H_
