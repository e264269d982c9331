// A scheme as llama.cpp's keys and tensors say it.
#ifndef ROPEWALK_CONFIG_GGUF_FORM_H_
#define ROPEWALK_CONFIG_GGUF_FORM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/config/model_config.h"

namespace ropewalk {

inline constexpr const char* kRopeFreqsTensor = "rope_freqs.weight";

struct GgufForm {
  std::string how;           // what says it, as Portability has it
  bool as_declared = false;  // keys and tensors stay; nothing below counts

  float freq_base = 0;
  std::string scaling_type;        // "none", "linear" or "yarn"
  std::optional<float> factor;     // nothing: the key goes
  std::optional<float> amplitude;  // rope.scaling.attn_factor; nothing: the key goes
  int64_t original_length = 0;     // L
  // rope.scaling.yarn_*, where the architecture reads them; nothing: the key goes.
  std::optional<float> beta_fast;
  std::optional<float> beta_slow;
  std::optional<float> log_multiplier;
  std::vector<float> divisors;  // rope_freqs.weight, (n_pairs); empty: the tensor goes
};

// The first of: plain keys, linear, yarn, and divisors of the frequencies, that is equal to the
// scheme but for rounding to float32. Throws Error naming the part that llama.cpp would not load or
// would misread under this architecture.
//   scheme  one that apply_scheme takes for this model
GgufForm gguf_form(const ModelConfig& declared, const std::string& scheme);

// The rotary positions that every layer declares. Throws Error where layers differ or have none.
const Rotary& rotary_of_all_layers(const ModelConfig& config);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_GGUF_FORM_H_
