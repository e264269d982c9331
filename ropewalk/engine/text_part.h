// Where the text model lies in a checkpoint that holds more: towers for images or sounds.
#ifndef ROPEWALK_ENGINE_TEXT_PART_H_
#define ROPEWALK_ENGINE_TEXT_PART_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ropewalk/engine/weights.h"

namespace ropewalk {

struct TextPart {
  std::string body = "model.";      // in place of "model."
  std::string head = "lm_head";     // in place of "lm_head"
  std::vector<std::string> towers;  // starts of tensors that are not the text model's: "visual."
  int64_t left_out = 0;             // how many tensors those are
};

// By the tensors' names, of which versions of transformers have several. Throws Error where no text
// model is found, or two.
TextPart find_text_part(const TensorSource& source);

// Names of a text model's own checkpoint, as the part has them.
void move_names(const TextPart& part, TensorNames& names);

}  // namespace ropewalk

#endif  // ROPEWALK_ENGINE_TEXT_PART_H_
