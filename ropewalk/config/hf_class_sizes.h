// Sizes that transformers' classes have where nobody says others: of a text model that another
// wraps, config.json leaves out what is as in its class. Source: transformers 4.57 and 5,
// configuration_<model type>.py.
#ifndef ROPEWALK_CONFIG_HF_CLASS_SIZES_H_
#define ROPEWALK_CONFIG_HF_CLASS_SIZES_H_

#include <cstdint>
#include <string_view>

namespace ropewalk {

struct HfClassSizes {
  std::string_view family;  // HfFamily::name
  int64_t layers = 0;
  int64_t hidden = 0;
  int64_t heads = 0;
  int64_t key_heads = 0;
  int64_t ffn = 0;
  int64_t vocabulary = 0;
  double norm_epsilon = 0;
};

// Null where they are not known.
const HfClassSizes* find_hf_class_sizes(std::string_view family);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_HF_CLASS_SIZES_H_
