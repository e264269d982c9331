// Of which kind each layer is, and whether it is rotated.
#ifndef ROPEWALK_CONFIG_HF_LAYERS_H_
#define ROPEWALK_CONFIG_HF_LAYERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ropewalk/config/hf_notes.h"

namespace ropewalk {

struct HfLayer {
  std::string type = "full_attention";
  bool rotates = true;
};

struct HfLayers {
  std::vector<HfLayer> layers;  // (n_layers), or one period of them where `counted` is not set
  bool counted = true;          // the file tells how many there are
};

// Attention that rotates keys and queries, by the name of its layer type.
bool has_attention(const std::string& layer_type);

// From layer_types, or by the rule of the model type where there are none. Throws Error naming key
// and rule.
//   n_layers  0 where the file does not tell
HfLayers read_hf_layers(HfReading& reading, int64_t n_layers);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_HF_LAYERS_H_
