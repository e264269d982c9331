// The length that a tokenizer_config.json names, which may be another than the model's.
#ifndef ROPEWALK_CONFIG_HF_TOKENIZER_LENGTH_H_
#define ROPEWALK_CONFIG_HF_TOKENIZER_LENGTH_H_

#include <nlohmann/json_fwd.hpp>

#include "ropewalk/config/model_config.h"

namespace ropewalk {

// Adds a finding where `model_max_length` is not the model's usable length, or says that it is
// unset: transformers writes 10^30 or null then. Warns where it is no number, or the document no
// object. The model's own length counts in any case.
void note_tokenizer_length(ModelConfig& config, const nlohmann::ordered_json& tokenizer_config);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_HF_TOKENIZER_LENGTH_H_
