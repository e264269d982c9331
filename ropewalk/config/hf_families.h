// What transformers takes for granted of a model type, because its config.json need not say it.
#ifndef ROPEWALK_CONFIG_HF_FAMILIES_H_
#define ROPEWALK_CONFIG_HF_FAMILIES_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace ropewalk {

// All of them pair in halves, rotate the whole head unless told otherwise, and treat layers alike.
struct HfFamily {
  // When `sliding_window` limits what a query sees.
  enum class Window {
    kNever,         // the key is ignored
    kWhenPresent,   // unless null
    kWhenSwitched,  // only under use_sliding_window
  };

  std::string_view name;       // model_type
  double base = 10000;         // where rope_theta is absent
  int64_t trained_length = 0;  // where max_position_embeddings is absent
  int64_t head_dim = 0;        // where head_dim is absent; 0: hidden_size / num_attention_heads
  Window window = Window::kNever;
  int64_t window_size = 0;  // where sliding_window is absent; 0: none
  bool runs = false;        // the engine has this model type
};

std::span<const HfFamily> hf_families();

// Null where there is none of that name.
const HfFamily* find_hf_family(std::string_view name);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_HF_FAMILIES_H_
