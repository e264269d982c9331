// Every fault of a file's declared positions, not just the first.
#ifndef ROPEWALK_CONFIG_ALL_FAULTS_H_
#define ROPEWALK_CONFIG_ALL_FAULTS_H_

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/config/model_config.h"
#include "ropewalk/formats/gguf.h"

namespace ropewalk {

struct AllFaults {
  std::vector<Error> faults;  // in the order in which they were met

  // What the file reads as without the faulty keys; nothing where it does not read.
  std::optional<ModelConfig> config;

  // Faulty keys that the file was read again without. Findings of `config` may be about their
  // absence.
  std::vector<std::string> removed;
};

// Reads again without the key of each fault, as compilers go on after one, until the file reads, a
// missing key ends it, or 20 rounds are over. A key that is missing only because it was removed is
// no fault.
//   place  names the document in messages
AllFaults find_hf_faults(nlohmann::ordered_json document, const std::string& place);

// The same of a GGUF file. Where its tensors tell frequencies and are too big to be copied, the
// first fault is the only one.
AllFaults find_gguf_faults(const GgufFile& file);

// The key of a fault, without the file's name: "rope_scaling.factor".
std::string fault_key(const Error& fault, const std::string& place);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_ALL_FAULTS_H_
