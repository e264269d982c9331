// What makes logits of a decoder's last states, and losses of those.
#ifndef ROPEWALK_ENGINE_OUTPUT_HEAD_H_
#define ROPEWALK_ENGINE_OUTPUT_HEAD_H_

#include <cstdint>
#include <span>
#include <string>

#include "ropewalk/engine/parts.h"

namespace ropewalk {

class OutputHead {
 public:
  // Whether the output matrix is the embedding: the file has none, and does not say that it should.
  // One that is there counts whatever the config says, as for llama.cpp's converter and
  // transformers 5.
  static bool is_tied(const Weights& weights, const Blueprint& blueprint);

  // Reads the output matrix, its own or the embedding.
  OutputHead(Weights& weights, const Blueprint& blueprint, Precision precision);

  const Dense& matrix() const { return *linear_.dense; }  // hidden to vocabulary
  int64_t hidden() const { return linear_.inputs(); }
  int64_t vocabulary() const { return linear_.outputs(); }

  // Makes logits of matrix()'s products for one state, in place: bias, scale, cap.
  //   first   the id of the first
  void finish(int64_t first, std::span<float> logits) const;

  // Of one state.
  //   state   (Dense::kFewRows, hidden) of which the first counts
  //   logits  (Dense::kFewRows, vocabulary), the others with no meaning
  void logits_of_one(const float* state, float* logits) const;

  // losses[r] = -ln p(targets[r]) in nats, by the state of row r. Logits exist for one block of rows and
  // columns a thread at a time: all of them would be rows * vocabulary floats.
  //   states  (losses.size() rows, padded as a pass leaves them, hidden)
  void losses(const float* states, std::span<const int32_t> targets,
              std::span<double> losses) const;

 private:
  Linear linear_;
  float scale_;
  float softcap_;
};

// Throws Error naming the place where a result is no finite number.
void require_finite(double value, const std::string& place, int64_t index);

}  // namespace ropewalk

#endif  // ROPEWALK_ENGINE_OUTPUT_HEAD_H_
