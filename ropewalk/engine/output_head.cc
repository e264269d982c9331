#include "ropewalk/engine/output_head.h"

#include <cmath>

#include "ropewalk/base/error.h"
#include "ropewalk/base/size.h"
#include "ropewalk/engine/row_blocks.h"

namespace ropewalk {
namespace {

Linear read_linear(Weights& weights, const Blueprint& blueprint, Precision precision) {
  const ModelShape& shape = blueprint.shape;
  const std::string own = weights.name_of("output");
  const std::string name =
      OutputHead::is_tied(weights, blueprint) ? weights.name_of("token_embd") : own;
  // Heads of masked tokens have a bias even where their matrix is the embedding's.
  std::string bias = weights.name_of("output", -1, "bias");
  if (!weights.has(bias)) bias = weights.name_of("output_bias", -1, "bias");
  return {Dense(weights.matrix(name, shape.vocabulary, shape.hidden), precision),
          weights.vector_if(bias, shape.vocabulary)};
}

}  // namespace

OutputHead::OutputHead(Weights& weights, const Blueprint& blueprint, Precision precision)
    : linear_(read_linear(weights, blueprint, precision)),
      scale_(blueprint.logit_scale),
      softcap_(blueprint.logit_softcap) {}

bool OutputHead::is_tied(const Weights& weights, const Blueprint& blueprint) {
  return !blueprint.own_output && !weights.has(weights.name_of("output"));
}

void OutputHead::finish(int64_t first, std::span<float> logits) const {
  if (!linear_.bias.empty())
    add(std::span(linear_.bias).subspan(size(first), logits.size()), logits);
  if (scale_ != 1) scale(scale_, logits);
  if (softcap_ == 0) return;
  for (float& logit : logits) logit = softcap_ * std::tanh(logit / softcap_);
}

void OutputHead::logits_of_one(const float* state, float* logits) const {
  matrix().apply_one(state, logits);
  finish(0, {logits, size(vocabulary())});
}

void OutputHead::losses(const float* states, std::span<const int32_t> targets,
                        std::span<double> losses) const {
  struct Scratch {
    std::vector<SumOfExp> sums;  // by row
    DenseScratch dense;
  };
  const Dense* const all[] = {&matrix()};
  const Dense::Kept kept = Dense::keep(all);
  ScratchPool<Scratch> pool([] { return Scratch(); });
  const auto score = [&](int64_t first, const RowBlock& block, Scratch& scratch) {
    scratch.sums.assign(size(block.rows()), {});
    const auto take = [&](int64_t id, int64_t columns, float* logits) {
      for (int64_t r = 0; r < block.rows(); ++r) {
        const std::span<float> row(logits + r * columns, size(columns));
        finish(id, row);
        scratch.sums[size(r)].add(row);
        const int64_t target = targets[size(first + r)] - id;
        if (target >= 0 && target < columns)
          losses[size(first + r)] = -static_cast<double>(row[size(target)]);
      }
    };
    matrix().apply_by_columns(states + first * hidden(), block.rows(), scratch.dense, take);
    for (int64_t r = 0; r < block.rows(); ++r)
      losses[size(first + r)] += scratch.sums[size(r)].log();
  };
  in_row_blocks(static_cast<int64_t>(losses.size()), pool, score);
}

void require_finite(double value, const std::string& place, int64_t index) {
  if (std::isfinite(value)) return;
  throw Error(
      place + " " + std::to_string(index), "must be finite", std::to_string(value),
      "the weights or the scheme's numbers are out of range: `ropewalk check` tells of weights");
}

}  // namespace ropewalk
