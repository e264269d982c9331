// The "pre_tokenizer" of a tokenizer.json. Source: github.com/huggingface/tokenizers.
#ifndef ROPEWALK_TEXT_HF_PRETOKENIZERS_H_
#define ROPEWALK_TEXT_HF_PRETOKENIZERS_H_

#include <memory>
#include <string>
#include <vector>

#include "ropewalk/text/hf_node.h"

namespace ropewalk {

// A word, as far as text has been cut.
struct HfWord {
  std::string text;   // not empty
  bool begins_input;  // nothing of the input lies before it
};

class HfPretokenizer {
 public:
  virtual ~HfPretokenizer() = default;

  // Cuts and rewrites each word.
  virtual void apply(std::vector<HfWord>& words) const = 0;
};

// Throws Error on a type or a setting we do not know, listing the known ones.
std::unique_ptr<HfPretokenizer> make_hf_pretokenizer(const HfNode& node);

}  // namespace ropewalk

#endif  // ROPEWALK_TEXT_HF_PRETOKENIZERS_H_
