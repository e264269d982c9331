// Which layers of a GGUF file have which kind of positions.
#ifndef ROPEWALK_CONFIG_GGUF_LAYERS_H_
#define ROPEWALK_CONFIG_GGUF_LAYERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ropewalk/config/gguf_architectures.h"
#include "ropewalk/config/gguf_report.h"

namespace ropewalk {

struct GgufLayer {
  enum class Kind { kFull, kSliding, kRecurrent };
  Kind kind = Kind::kFull;
  bool rotated = true;

  bool operator==(const GgufLayer&) const = default;
};

struct GgufLayers {
  std::vector<GgufLayer>
      layers;  // (n_layers); where it is not told which layer is what: one of each
  bool told = true;
  bool slide = false;  // some do
  int64_t window = 0;  // tokens, of those that slide; 0: not told
};

// As llama.cpp deals them out. Throws Error naming the key.
//   keys          those of the file; the ones read are marked
//   architecture  rotary
//   n_layers      block_count; 0: the file does not tell
GgufLayers read_gguf_layers(GgufKeys& keys, const GgufArchitecture& architecture, int64_t n_layers,
                            GgufReport& report);

// "sliding_attention", "full_attention, not rotated": a group's name.
std::string layer_name(const GgufArchitecture& architecture, const GgufLayer& layer);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_GGUF_LAYERS_H_
