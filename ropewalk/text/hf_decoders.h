// The "decoder" of a tokenizer.json. Source: github.com/huggingface/tokenizers.
#ifndef ROPEWALK_TEXT_HF_DECODERS_H_
#define ROPEWALK_TEXT_HF_DECODERS_H_

#include <memory>
#include <string>
#include <vector>

#include "ropewalk/text/hf_node.h"

namespace ropewalk {

class HfDecoder {
 public:
  virtual ~HfDecoder() = default;

  // Rewrites tokens into what they spell; joined they are the text. A byte that is no UTF-8 stays.
  //   whole  the tokens are a text of their own, whose first space may be taken off; else they are
  //          a part of one
  virtual void decode(std::vector<std::string>& tokens, bool whole) const = 0;
};

// Throws Error on a type or a setting we do not know, listing the known ones.
std::unique_ptr<HfDecoder> make_hf_decoder(const HfNode& node);

}  // namespace ropewalk

#endif  // ROPEWALK_TEXT_HF_DECODERS_H_
