// The rotary positions of a config.json, as transformers makes them.
#ifndef ROPEWALK_CONFIG_HF_ROPE_H_
#define ROPEWALK_CONFIG_HF_ROPE_H_

#include <cstdint>
#include <string>

#include "ropewalk/config/declared_rotary.h"
#include "ropewalk/config/hf_families.h"
#include "ropewalk/config/json_fields.h"

namespace ropewalk {

// Reads base, width, lengths, scaling and window. Throws Error naming the key.
//   file      names the document in messages
//   top       its fields; the ones read are marked
//   head_dim  >= 1
DeclaredRope read_hf_rope(const std::string& file, JsonFields& top, const HfFamily& family,
                          int64_t head_dim);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_HF_ROPE_H_
