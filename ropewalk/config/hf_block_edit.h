// A config.json with its rotation said otherwise.
#ifndef ROPEWALK_CONFIG_HF_BLOCK_EDIT_H_
#define ROPEWALK_CONFIG_HF_BLOCK_EDIT_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "ropewalk/config/hf_form.h"
#include "ropewalk/config/model_config.h"

namespace ropewalk {

// `document` with `form` in the spelling that it has: rope_scaling, rope_parameters, a block for each
// layer type, `type` or `rope_type`, and inside a text_config where there is one. Keys that say the
// same already, and keys that are not of the scaling, stay as they are. Throws Error naming a key
// that cannot say it.
//   place          names the file in messages
//   declared       what the document declares
//   target_length  0: as it is
nlohmann::ordered_json edited_hf_config(const nlohmann::ordered_json& document,
                                        const std::string& place, const ModelConfig& declared,
                                        const HfForm& form, int64_t target_length);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_HF_BLOCK_EDIT_H_
