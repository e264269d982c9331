#include "ropewalk/engine/output_head.h"

#include <cmath>

#include "ropewalk/base/error.h"
#include "ropewalk/engine/row_blocks.h"

namespace ropewalk {
namespace {

size_t size(int64_t n) { return static_cast<size_t>(n); }

Linear read_linear(Weights& weights, const ModelShape& shape, Precision precision) {
  const std::string own = weights.name_of("output");
  const bool tied = shape.tied_output || !weights.has(own);
  const std::string name = tied ? weights.name_of("token_embd") : own;
  weights.expect(own);
  return {Dense(weights.matrix(name, shape.vocabulary, shape.hidden), precision),
          weights.vector_if(weights.name_of("output", -1, "bias"), shape.vocabulary)};
}

}  // namespace

OutputHead::OutputHead(Weights& weights, const Blueprint& blueprint, Precision precision)
    : linear_(read_linear(weights, blueprint.shape, precision)),
      scale_(blueprint.logit_scale),
      softcap_(blueprint.logit_softcap) {}

void OutputHead::finish(float* logits, int64_t rows) const {
  if (linear_.bias.empty() && scale_ == 1 && softcap_ == 0) return;
  for (int64_t r = 0; r < rows; ++r) {
    const std::span<float> row(logits + r * vocabulary(), size(vocabulary()));
    if (!linear_.bias.empty()) add(linear_.bias, row);
    if (scale_ != 1) scale(scale_, row);
    if (softcap_ == 0) continue;
    for (float& logit : row) logit = softcap_ * std::tanh(logit / softcap_);
  }
}

void OutputHead::logits_of_one(const float* state, float* logits) const {
  matrix().apply_one(state, logits);
  finish(logits, 1);
}

void OutputHead::losses(const float* states, std::span<const int32_t> targets,
                        std::span<double> losses) const {
  struct Scratch {
    AlignedBuffer<float> logits;  // (kBlockRows, vocabulary)
    DenseScratch dense;
  };
  const auto make_scratch = [&] {
    return Scratch{AlignedBuffer<float>(size(Dense::kBlockRows * vocabulary())), {}};
  };
  const auto score = [&](int64_t first, const RowBlock& block, Scratch& scratch) {
    float* const logits = scratch.logits.data();
    block.multiply(matrix(), states + first * hidden(), logits);
    finish(logits, block.rows());
    for (int64_t r = 0; r < block.rows(); ++r) {
      const std::span<const float> row(logits + r * vocabulary(), size(vocabulary()));
      const int32_t target = targets[size(first + r)];
      losses[size(first + r)] =
          log_sum_exp(row) - static_cast<double>(row[static_cast<size_t>(target)]);
    }
  };
  in_row_blocks(static_cast<int64_t>(losses.size()), make_scratch, score);
}

void require_finite(double value, const std::string& place, int64_t index) {
  if (std::isfinite(value)) return;
  throw Error(
      place + " " + std::to_string(index), "must be finite", std::to_string(value),
      "the weights or the scheme's numbers are out of range: `ropewalk check` tells of weights");
}

}  // namespace ropewalk
