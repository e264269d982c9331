// The "normalizer" of a tokenizer.json. Source: github.com/huggingface/tokenizers.
#ifndef ROPEWALK_TEXT_HF_NORMALIZERS_H_
#define ROPEWALK_TEXT_HF_NORMALIZERS_H_

#include <memory>
#include <string>
#include <string_view>

#include "ropewalk/text/hf_node.h"

namespace ropewalk {

class HfNormalizer {
 public:
  virtual ~HfNormalizer() = default;

  // text  any bytes; those that belong to no character stay, unless the normalizer takes U+FFFD out
  virtual std::string normalize(std::string_view text) const = 0;
};

// Throws Error on a type or a setting we do not know, listing the known ones.
std::unique_ptr<HfNormalizer> make_hf_normalizer(const HfNode& node);

}  // namespace ropewalk

#endif  // ROPEWALK_TEXT_HF_NORMALIZERS_H_
