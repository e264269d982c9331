// The rope.scaling keys of a GGUF file.
#ifndef ROPEWALK_CONFIG_GGUF_SCALING_H_
#define ROPEWALK_CONFIG_GGUF_SCALING_H_

#include <cstdint>
#include <string>

#include "ropewalk/config/gguf_architectures.h"
#include "ropewalk/config/gguf_report.h"

namespace ropewalk {

struct GgufScaling {
  std::string type = "linear";  // llama.cpp's default: does nothing without a factor
  std::string scheme = "rope";  // what the keys say; without lists, which are tensors
  double factor = 1;            // of linear, yarn and lists; 1 under none
  double amplitude = 1;         // beside the scheme's: rope.scaling.attn_factor
  bool original_given = false;  // the key is there
  int64_t original = 0;         // tokens: the length that yarn and lists count from
};

// What the metadata says. Where llama.cpp makes something else of it, that is a finding.
//   keys            those of the file; the ones read are marked
//   context_length  >= 1
// Throws Error naming the key.
GgufScaling read_gguf_scaling(GgufKeys& keys, const GgufArchitecture& architecture,
                              int64_t context_length, GgufReport& report);

// Names the length that counts where the key is absent.
void note_assumed_original(const GgufKeys& keys, const GgufScaling& scaling, GgufReport& report);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_GGUF_SCALING_H_
