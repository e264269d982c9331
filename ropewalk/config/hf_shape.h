// Sizes of a model from its config.json, under any of their spellings.
#ifndef ROPEWALK_CONFIG_HF_SHAPE_H_
#define ROPEWALK_CONFIG_HF_SHAPE_H_

#include <cstdint>
#include <string>

#include "ropewalk/config/hf_notes.h"

namespace ropewalk {

// Reads what is there; sizes that the file does not have stay 0. Throws Error naming the key.
ModelShape read_hf_shape(HfReading& reading);

struct HfHead {
  int64_t dim = 0;      // coordinates of a query's head
  int64_t rotated = 0;  // of the part that rotation sees: the head, or the part that multi-head
                        // latent attention keeps for it
  std::string key;      // that says so: "head_dim", or the ones it is derived from
};

// The head of full layers, or of sliding ones, which may have another.
//   notes  takes the field
HfHead read_hf_head(HfReading& reading, const ModelShape& shape, const std::string& layer_type,
                    HfNotes& notes);

// Read once; the field is noted then.
const HfLength& read_hf_length(HfReading& reading);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_HF_SHAPE_H_
