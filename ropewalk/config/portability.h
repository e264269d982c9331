// Which engines run which schemes: what can be said in their files, and what they make of it.
#ifndef ROPEWALK_CONFIG_PORTABILITY_H_
#define ROPEWALK_CONFIG_PORTABILITY_H_

#include <string>
#include <string_view>

#include "ropewalk/config/model_config.h"

namespace ropewalk {

enum class TargetEngine { kLlamaCpp, kVllm, kTransformers };

// "llama.cpp", "vllm", "transformers".
std::string to_string(TargetEngine engine);

// The reverse; throws Error on any other name.
TargetEngine parse_target_engine(const std::string& name);

struct Portability {
  bool portable = false;
  std::string how;      // what says it: "rope.scaling.type = yarn", "rope_freqs.weight"
  std::string why_not;  // one line; empty where portable
};

// Whether `engine` computes what Ropewalk does under the scheme, given a model file that says so in
// keys and tensors which the engine loads for that architecture. The judgement is of the scheme:
// the declared model may be a GGUF file or a config.json, whatever the engine reads.
//   scheme  one that apply_scheme takes for this model; throws Error otherwise
Portability judge_portability(const ModelConfig& declared, const std::string& scheme,
                              TargetEngine engine);

// Whether llama.cpp loads rope_freqs.weight under this general.architecture (or model_type) and
// turns by it. Where it does not load it, the file does not load at all: no tensor may be left over.
bool llama_cpp_loads_rope_freqs(std::string_view architecture);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_PORTABILITY_H_
