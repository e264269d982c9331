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
inline constexpr const char* kLongFactorsTensor = "rope_factors_long.weight";
inline constexpr const char* kShortFactorsTensor = "rope_factors_short.weight";

// attention.temperature_scale and, where the architecture has steps of their own length, _length.
struct GgufTemperature {
  float scale = 0;
  std::optional<int64_t> length;  // nothing: the key goes, the original length counts
};

struct GgufForm {
  std::string how;           // what says it, as Portability has it
  bool as_declared = false;  // keys and tensors stay; but for `temperature`, nothing below counts

  float freq_base = 0;
  std::string scaling_type;        // "none", "linear", "yarn" or "longrope"
  std::optional<float> factor;     // nothing: the key goes
  std::optional<float> amplitude;  // rope.scaling.attn_factor; nothing: the key goes
  std::optional<float> alpha;      // rope.scaling.alpha; nothing: the key goes
  int64_t original_length = 0;     // L
  // rope.scaling.yarn_*, where the architecture reads them; nothing: the key goes.
  std::optional<float> beta_fast;
  std::optional<float> beta_slow;
  std::optional<float> log_multiplier;
  std::vector<float> divisors;  // rope_freqs.weight, (n_pairs); empty: the tensor goes
  // rope_factors_long.weight and _short.weight, (n_pairs) each; empty: the tensors go
  std::vector<float> long_divisors;
  std::vector<float> short_divisors;

  std::optional<GgufTemperature> temperature;  // nothing: its keys stay as they are

  // How what llama.cpp computes from this parts from the scheme for some texts; empty where it does
  // not.
  std::string differs;
};

// The first of: plain keys, alpha, linear, yarn, divisors of the frequencies, and longrope's lists,
// that is equal to the scheme but for rounding to float32. Throws Error naming the part that
// llama.cpp would not load or would misread under this architecture.
//   scheme  one that apply_scheme takes for this model
GgufForm gguf_form(const ModelConfig& declared, const std::string& scheme);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_GGUF_FORM_H_
