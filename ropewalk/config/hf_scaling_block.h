// The object in which a config.json declares its scaling: rope_scaling, or rope_parameters since
// transformers 5.
#ifndef ROPEWALK_CONFIG_HF_SCALING_BLOCK_H_
#define ROPEWALK_CONFIG_HF_SCALING_BLOCK_H_

#include <optional>
#include <string>

#include "ropewalk/config/json_fields.h"

namespace ropewalk {

struct HfScalingBlock {
  // The block; nothing where none is declared. Points into the document.
  std::optional<JsonFields> fields;

  // The other form where both are there: it declares the same scaling, but may hold a base.
  std::optional<JsonFields> twin;

  // "default", "linear", "dynamic", "yarn", "llama3" or "longrope".
  std::string type = "default";
  std::string type_key;  // as it was spelled: "rope_type", "type"; empty where the type is absent
};

// Finds the block and its type. Two forms or spellings that say different things, types that are
// unknown or take several axes, and blocks per layer type are refused with an Error naming the key.
//   file  names the document in messages
//   top   its fields; the blocks are marked as read; the document must outlive the result
HfScalingBlock find_hf_scaling(const std::string& file, JsonFields& top);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_HF_SCALING_BLOCK_H_
