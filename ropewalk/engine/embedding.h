// The rows that tokens begin as.
#ifndef ROPEWALK_ENGINE_EMBEDDING_H_
#define ROPEWALK_ENGINE_EMBEDDING_H_

#include <cstdint>
#include <span>
#include <vector>

#include "ropewalk/engine/parts.h"

namespace ropewalk {

class Embedding {
 public:
  // Reads token_embd and, where the blueprint or the file has them, positions, the first token type
  // and a norm.
  //   weights  its source must outlive this
  Embedding(Weights& weights, const Blueprint& blueprint);

  //   first_position  of the first of the ids
  //   rows            (ids.size(), hidden)
  // Throws Error where a position has no learned row.
  void embed(std::span<const int32_t> ids, int64_t first_position, float* rows) const;

 private:
  void read_first_type(Weights& weights);
  std::span<const float> position_row(int64_t position) const;

  const TensorSource& source_;
  ModelShape shape_;
  float scale_;
  const TensorInfo& tokens_;
  Norm norm_;                      // or none
  std::vector<float> first_type_;  // (hidden), or empty
  std::vector<float> positions_;   // (rows, hidden), or empty
  int64_t offset_ = 0;
};

}  // namespace ropewalk

#endif  // ROPEWALK_ENGINE_EMBEDDING_H_
