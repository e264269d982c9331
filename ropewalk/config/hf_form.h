// A scheme as a config.json says it to transformers or vLLM.
#ifndef ROPEWALK_CONFIG_HF_FORM_H_
#define ROPEWALK_CONFIG_HF_FORM_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ropewalk/config/model_config.h"
#include "ropewalk/config/portability.h"

namespace ropewalk {

struct HfForm {
  std::string how;           // what says it, as Portability has it
  bool as_declared = false;  // base and block stay

  double base = 0;               // rope_theta
  nlohmann::ordered_json block;  // rope_scaling without the base; null for plain RoPE
  // max_position_embeddings must stay L, because the engine counts from it.
  bool keeps_length = false;
  std::vector<std::string> notes;
};

// Throws Error naming the part that the engine would not read or would misread.
//   scheme  one that apply_scheme takes for this model
//   engine  kTransformers or kVllm
HfForm hf_form(const ModelConfig& declared, const std::string& scheme, TargetEngine engine);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_HF_FORM_H_
