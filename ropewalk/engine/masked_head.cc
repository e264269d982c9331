#include "ropewalk/engine/masked_head.h"

#include <algorithm>

#include "ropewalk/base/error.h"
#include "ropewalk/base/size.h"

namespace ropewalk {
namespace {

Activation needed_activation(const Weights& weights, const Blueprint& blueprint) {
  if (blueprint.head_activation) return *blueprint.head_activation;
  throw Error(weights.source().name(), "must have a head that guesses masked tokens",
              blueprint.family,
              "directories of BERT, RoBERTa and ModernBERT have one, GGUF files do not");
}

}  // namespace

MaskedHead::MaskedHead(Weights& weights, const Blueprint& blueprint, Precision precision)
    : activation_(needed_activation(weights, blueprint)),
      dense_(LayerReader(weights, blueprint, precision, -1)
                 .linear("head_dense", blueprint.shape.hidden, blueprint.shape.hidden)),
      norm_(Norm::read(weights, blueprint, "head_norm", -1, blueprint.shape.hidden)),
      output_(weights, blueprint, precision) {}

void MaskedHead::logits_of_one(std::span<const float> state, std::span<float> logits) const {
  const int64_t hidden = dense_.inputs();
  AlignedBuffer<float> in(size(Dense::kFewRows * hidden)), out(in.size());
  AlignedBuffer<float> all(size(Dense::kFewRows * vocabulary()));
  std::ranges::copy(state, in.data());
  dense_.dense->apply_one(in.data(), out.data());
  const std::span<float> row(out.data(), size(hidden));
  if (!dense_.bias.empty()) add(dense_.bias, row);
  activate(activation_, row);
  norm_.apply(row.data(), 1, row.data());
  output_.logits_of_one(row.data(), all.data());
  std::copy_n(all.data(), logits.size(), logits.data());
}

}  // namespace ropewalk
