#include "ropewalk/engine/encoder_model.h"

#include <string>

#include "ropewalk/base/error.h"

namespace ropewalk {

EncoderModel::EncoderModel(ModelFile file, Precision precision)
    : file_(std::move(file)),
      parts_(make_encoder(describe_encoder(file_.config, file_.keys, file_.tensors->name()),
                          file_.config, *file_.tensors, precision)) {}

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
