// The rotary positions of the layers of one type, from a config.json.
#ifndef ROPEWALK_CONFIG_HF_ROPE_H_
#define ROPEWALK_CONFIG_HF_ROPE_H_

#include <cstdint>
#include <string>

#include "ropewalk/config/hf_notes.h"
#include "ropewalk/config/hf_scaling_block.h"
#include "ropewalk/config/hf_shape.h"

namespace ropewalk {

struct HfRope {
  LayerGroup group;  // without name and layers
  HfNotes notes;     // of these layers
  HfHead head;
  int64_t usable_length = 0;  // 0: as many as the file declares positions
  std::string usable_reason;
};

// Reads base, width, scaling, axes, window and temperature. Throws Error naming the key.
//   length  most positions that the file declares
HfRope read_hf_rope(HfReading& reading, HfBlocks& blocks, const ModelShape& shape,
                    const HfLength& length, const std::string& layer_type);

// Llama-4's temperature of layers that are not rotated; none in other families.
QueryTemperature read_hf_still_temperature(HfReading& reading, HfNotes& notes);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_HF_ROPE_H_
