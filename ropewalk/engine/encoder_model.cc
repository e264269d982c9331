#include "ropewalk/engine/encoder_model.h"

#include <cmath>
#include <string>

#include "ropewalk/base/error.h"
#include "ropewalk/engine/row_blocks.h"
#include "ropewalk/kernels/vector_ops.h"

namespace ropewalk {
namespace {

void refuse_infinite(const std::string& place, double value) {
  if (std::isfinite(value)) return;
  throw Error(
      place, "must be finite", std::to_string(value),
      "the weights or the scheme's numbers are out of range: `ropewalk check` tells of weights");
}

}  // namespace

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
    const float value = states.values[static_cast<size_t>(at)];
    if (!std::isfinite(value))
      refuse_infinite("the state of token " + std::to_string(at / states.hidden),
                      static_cast<double>(value));
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

  const Dense& output = parts_.decoder->output();
  std::vector<double> losses(ids.size() - 1);
  struct Scratch {
    AlignedBuffer<float> logits;
    DenseScratch dense;
  };
  const auto make_scratch = [&] {
    return Scratch{AlignedBuffer<float>(static_cast<size_t>(Dense::kBlockRows * output.outputs())),
                   {}};
  };
  in_row_blocks(
      decoded.n, make_scratch, [&](int64_t first, const RowBlock& block, Scratch& scratch) {
        float* const logits = scratch.logits.data();
        block.multiply(output, decoded.values.data() + first * output.inputs(), logits);
        parts_.decoder->finish_logits(logits, block.rows());
        for (int64_t r = 0; r < block.rows(); ++r) {
          const std::span<const float> row(logits + r * output.outputs(),
                                           static_cast<size_t>(output.outputs()));
          const auto at = static_cast<size_t>(first + r);
          losses[at] =
              log_sum_exp(row) - static_cast<double>(row[static_cast<size_t>(ids[at + 1])]);
        }
      });
  for (size_t t = 0; t < losses.size(); ++t)
    refuse_infinite("the loss of token " + std::to_string(t + 1), losses[t]);
  return losses;
}

}  // namespace ropewalk
