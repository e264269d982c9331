#include "ropewalk/engine/embedding.h"

#include <string>

#include "ropewalk/base/error.h"
#include "ropewalk/base/size.h"

namespace ropewalk {

Embedding::Embedding(Weights& weights, const Blueprint& blueprint)
    : source_(weights.source()),
      shape_(blueprint.shape),
      scale_(blueprint.embedding_scale),
      tokens_(weights.tensor(weights.name_of("token_embd"), shape_.vocabulary, shape_.hidden)),
      norm_(Norm::read_if(weights, blueprint, "token_embd_norm", -1, shape_.hidden)) {
  if (blueprint.token_types) read_first_type(weights);
  if (!blueprint.position_table) return;
  offset_ = blueprint.position_table->offset;
  const std::string name = weights.name_of("position_embd");
  positions_ = weights.vector(name, weights.count_of(name) / shape_.hidden * shape_.hidden);
}

// Text is of type 0, as llama.cpp has it.
void Embedding::read_first_type(Weights& weights) {
  const std::string name = weights.name_of("token_types");
  const int64_t rows = weights.count_of(name) / shape_.hidden;
  if (rows == 0) return;
  first_type_.resize(size(shape_.hidden));
  source_.read_rows(weights.tensor(name, rows, shape_.hidden), 0, 1, first_type_);
}

void Embedding::embed(std::span<const int32_t> ids, int64_t first_position, float* rows) const {
  for (size_t r = 0; r < ids.size(); ++r) {
    const std::span<float> row(rows + static_cast<int64_t>(r) * shape_.hidden, size(shape_.hidden));
    source_.read_rows(tokens_, static_cast<uint64_t>(ids[r]), 1, row);
    if (scale_ != 1) scale(scale_, row);
    if (!first_type_.empty()) add(first_type_, row);
    if (!positions_.empty()) add(position_row(first_position + static_cast<int64_t>(r)), row);
    if (norm_) norm_.apply(row.data(), 1, row.data());
  }
}

std::span<const float> Embedding::position_row(int64_t position) const {
  const int64_t row = position + offset_;
  const int64_t rows = static_cast<int64_t>(positions_.size()) / shape_.hidden;
  if (row >= rows) {
    throw Error("position " + std::to_string(position),
                "must be one of the " + std::to_string(rows - offset_) +
                    " that the model has a learned row for",
                std::to_string(position), "learned positions do not stretch: shorten the text");
  }
  return std::span(positions_).subspan(size(row * shape_.hidden), size(shape_.hidden));
}

}  // namespace ropewalk
