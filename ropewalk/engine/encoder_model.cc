#include "ropewalk/engine/encoder_model.h"

#include <cassert>
#include <string>

#include "ropewalk/base/error.h"
#include "ropewalk/base/size.h"

namespace ropewalk {

EncoderModel::EncoderModel(ModelFile file, Precision precision, WithMaskedHead head)
    : file_(std::move(file)),
      parts_(make_encoder(describe_encoder(file_.config, file_.keys, file_.tensors->name()),
                          file_.config, *file_.tensors, precision, head)) {}

States EncoderModel::states(std::span<const int32_t> ids, const Positions& positions,
                            const Progress& progress) const {
  if (ids.empty()) throw Error("token ids", "must be at least one", "none");
  check_ids(ids, parts_.encoder->vocabulary());
  States states = parts_.encoder->encode(ids, positions, progress);
  for (int64_t at = 0; at < states.n * states.hidden; ++at) {
    require_finite(static_cast<double>(states.values[static_cast<size_t>(at)]),
                   "the state of token", at / states.hidden);
  }
  return states;
}

std::vector<float> EncoderModel::masked_logits(const States& states,
                                               std::span<const int64_t> at) const {
  assert(parts_.masked_head != nullptr);
  const MaskedHead& head = *parts_.masked_head;
  const size_t vocabulary = size(head.vocabulary());
  std::vector<float> logits(at.size() * vocabulary);
  for (size_t row = 0; row < at.size(); ++row) {
    if (at[row] < 0 || at[row] >= states.n) {
      throw Error("positions, entry " + std::to_string(row),
                  "must be a token's, 0 to " + std::to_string(states.n - 1),
                  std::to_string(at[row]));
    }
    const std::span<float> own = std::span(logits).subspan(row * vocabulary, vocabulary);
    head.logits_of_one({states.values.data() + at[row] * states.hidden, size(states.hidden)}, own);
    for (const float logit : own)
      require_finite(static_cast<double>(logit), "the logits of token", at[row]);
  }
  return logits;
}

std::vector<double> EncoderModel::losses(std::span<const int32_t> encoder_ids,
                                         std::span<const int32_t> ids, const Positions& positions,
                                         const Progress& progress) const {
  if (!has_decoder()) {
    throw Error(file_.tensors->name(), "must have a decoder: an encoder predicts no next token",
                file_.config.architecture, "`ropewalk states` gives its states");
  }
  if (ids.size() < 2) throw Error("token ids", "must be at least two", std::to_string(ids.size()));
  check_ids(ids, parts_.encoder->vocabulary());
  const States encoded = states(encoder_ids, positions, progress);
  const States decoded = parts_.decoder->decode(ids.first(ids.size() - 1), encoded);

  std::vector<double> losses(ids.size() - 1);
  parts_.decoder->head().losses(decoded.values.data(), ids.subspan(1), losses);
  for (size_t t = 0; t < losses.size(); ++t)
    require_finite(losses[t], "the loss of token", static_cast<int64_t>(t + 1));
  return losses;
}

}  // namespace ropewalk
