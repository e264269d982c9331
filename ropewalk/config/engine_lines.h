// How an engine is told to run a scheme: commands, or lines of its configuration.
#ifndef ROPEWALK_CONFIG_ENGINE_LINES_H_
#define ROPEWALK_CONFIG_ENGINE_LINES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ropewalk/config/engine_table.h"
#include "ropewalk/config/model_config.h"
#include "ropewalk/config/model_format.h"

namespace ropewalk {

// By flags where flags alone say it of a plain file; else by a file that `ropewalk write` makes.
// MODEL, MODEL.gguf and LONGER stand for names. Empty where the engine does not run the scheme.
//   format         of the file that `declared` was read from
//   scheme         one that apply_scheme takes for this model
//   target_length  tokens to be read
std::vector<std::string> engine_lines(const ModelConfig& declared, ModelFormat format,
                                      const std::string& scheme, TargetEngine engine,
                                      int64_t target_length);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_ENGINE_LINES_H_
