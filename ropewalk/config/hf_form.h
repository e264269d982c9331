// A scheme as a config.json says it to transformers or vLLM.
#ifndef ROPEWALK_CONFIG_HF_FORM_H_
#define ROPEWALK_CONFIG_HF_FORM_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/config/model_config.h"
#include "ropewalk/config/portability.h"

namespace ropewalk {

struct HfForm {
  std::string how;           // what says it, as Portability has it
  bool as_declared = false;  // base and block stay; of the rest, `top` and `step_scale` count

  std::optional<double> base;    // rope_theta; nothing: it stays
  nlohmann::ordered_json block;  // rope_scaling without the base; null for plain RoPE
  // What the block need not say, with what it then means: written where the file's own block of the
  // same type says it.
  nlohmann::ordered_json spare = nlohmann::ordered_json::object();
  // LongRoPE's, in `block`: engines derive one from the lengths where it is not said.
  std::optional<double> derivable_amplitude;

  nlohmann::ordered_json top = nlohmann::ordered_json::object();  // keys beside the block
  std::optional<double> step_scale;                               // llama_4_scaling_beta

  // max_position_embeddings must stay L, because the engine counts from it.
  bool keeps_length = false;
  std::vector<std::string> notes;
  // How what the engine computes from this parts from the scheme for some texts; empty where it
  // does not.
  std::string differs;
};

// Throws Error naming the part that the engine would not read or would misread.
//   scheme  one that apply_scheme takes for this model
//   engine  kTransformers or kVllm
HfForm hf_form(const ModelConfig& declared, const std::string& scheme, TargetEngine engine);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_HF_FORM_H_
