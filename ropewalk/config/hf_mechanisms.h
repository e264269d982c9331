// What tells tokens apart beside rotation, or instead of it, from a config.json.
#ifndef ROPEWALK_CONFIG_HF_MECHANISMS_H_
#define ROPEWALK_CONFIG_HF_MECHANISMS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ropewalk/config/hf_notes.h"

namespace ropewalk {

struct HfMechanisms {
  bool rotary = true;
  std::vector<PositionMechanism> mechanisms;

  // Where a table ends the positions: 0 where none does.
  int64_t usable_length = 0;
  std::string usable_reason;
};

// By the model type and the key that may change it. Throws Error naming the key.
HfMechanisms read_hf_mechanisms(HfReading& reading, const ModelShape& shape);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_HF_MECHANISMS_H_
