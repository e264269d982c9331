// The rotary positions of a GGUF file, layer kind by layer kind.
#ifndef ROPEWALK_CONFIG_GGUF_ROPE_H_
#define ROPEWALK_CONFIG_GGUF_ROPE_H_

#include <cstdint>
#include <functional>

#include "ropewalk/config/gguf_architectures.h"
#include "ropewalk/config/gguf_layers.h"
#include "ropewalk/config/gguf_report.h"
#include "ropewalk/formats/gguf.h"

namespace ropewalk {

struct GgufRopeSizes {
  int64_t head_dim = 0;        // >= 1
  int64_t context_length = 0;  // >= 1
  int64_t window = 0;          // tokens, of layers that slide; 0: not told
};

// Positions of each kind of layer that is rotated, or that only has a temperature.
using GgufGroupOf = std::function<LayerGroup(const GgufLayer& layer)>;

// Reads the rope keys and the tensors with frequency factors. The result reads what is a kind's own
// when it is asked for one, and may be asked while `file`, `keys` and `report` live.
//   keys          those of `file`; the ones read are marked
//   architecture  rotary
//   report        takes what holds for all kinds, and findings
// Both throw Error naming key or tensor.
GgufGroupOf read_gguf_rope(const GgufFile& file, GgufKeys& keys,
                           const GgufArchitecture& architecture, const GgufRopeSizes& sizes,
                           GgufReport& report);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_GGUF_ROPE_H_
