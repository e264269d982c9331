// The third place that speaks of a model's length: tokenizer_config.json.
#ifndef ROPEWALK_CONFIG_TOKENIZER_LENGTH_H_
#define ROPEWALK_CONFIG_TOKENIZER_LENGTH_H_

#include <string>

#include "ropewalk/config/model_config.h"

namespace ropewalk {

// Adds model_max_length of the directory's tokenizer_config.json as the field "tokenizer_length",
// "unset" where it is the huge number that transformers writes for none, and a warning where it is
// not the model's usable length: that one counts. Nothing where there is no such file or key.
// Throws Error where the file is no JSON or the key no number.
//   directory  empty for the current one
void add_tokenizer_length(const std::string& directory, ModelConfig& config);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_TOKENIZER_LENGTH_H_
