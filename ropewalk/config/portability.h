// Which engines run which schemes: what can be said in their files, and what they make of it.
#ifndef ROPEWALK_CONFIG_PORTABILITY_H_
#define ROPEWALK_CONFIG_PORTABILITY_H_

#include <string>

#include "ropewalk/config/engine_table.h"
#include "ropewalk/config/model_config.h"

namespace ropewalk {

struct Portability {
  bool portable = false;
  std::string how;      // what says it: "rope.scaling.type = yarn", "rope_freqs.weight"
  std::string why_not;  // one line; empty where portable
};

// Whether `engine` computes what Ropewalk does under the scheme, given a model file that says so in
// keys and tensors which the engine loads for that architecture. The judgement is of the scheme:
// the declared model may be a GGUF file or a config.json, whatever the engine reads.
// "declared" is judged by what the engine does with the file as it is: engine_views().
//   format  what `declared` was read from
//   scheme  one that apply_scheme takes for this model; throws Error otherwise
Portability judge_portability(const ModelConfig& declared, ModelFormat format,
                              const std::string& scheme, TargetEngine engine);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_PORTABILITY_H_
