// What guesses a masked token from the state that an encoder has in its place.
#ifndef ROPEWALK_ENGINE_MASKED_HEAD_H_
#define ROPEWALK_ENGINE_MASKED_HEAD_H_

#include <cstdint>
#include <span>

#include "ropewalk/engine/output_head.h"

namespace ropewalk {

// A product, the activation, a norm, and the output matrix, which is the embedding's where the file has
// none of its own.
class MaskedHead {
 public:
  // Throws Error where the family has no such head, or the file lacks its tensors.
  MaskedHead(Weights& weights, const Blueprint& blueprint, Precision precision);

  int64_t vocabulary() const { return output_.vocabulary(); }

  //   state   (hidden)
  //   logits  (vocabulary)
  void logits_of_one(std::span<const float> state, std::span<float> logits) const;

 private:
  Activation activation_;
  Linear dense_;
  Norm norm_;
  OutputHead output_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_ENGINE_MASKED_HEAD_H_
