// Which coordinates of a head turn, and from which base their frequencies fall.
#ifndef ROPEWALK_CONFIG_HF_WIDTH_H_
#define ROPEWALK_CONFIG_HF_WIDTH_H_

#include <string>

#include "ropewalk/config/hf_notes.h"
#include "ropewalk/config/hf_scaling_block.h"
#include "ropewalk/config/hf_shape.h"
#include "ropewalk/math/pair_layout.h"

namespace ropewalk {

struct HfWidth {
  PairLayout layout;
  int64_t rotating = 0;  // pairs that turn, the others of the layout stand still; 0: all
};

// Width by key, by share of the head, or by the model type's default. Throws Error naming the key.
//   notes  takes the fields
HfWidth read_hf_width(HfReading& reading, const HfKeys& keys, const std::string& layer_type,
                      const HfHead& head, HfNotes& notes);

// Throws Error naming the key.
//   notes  takes the field
double read_hf_base(HfReading& reading, const HfKeys& keys, const std::string& layer_type,
                    HfNotes& notes);

// Step-3.5's lists: [full, sliding], or one number for each layer of layer_types, the same for all
// layers of a type. Throws Error where that is not so.
struct HfLayerValue {
  double number = 0;
  std::string entry;  // "rope_theta[1]"
};
HfLayerValue value_of_hf_layers(JsonFields& top, const std::string& key,
                                const std::string& layer_type);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_HF_WIDTH_H_
