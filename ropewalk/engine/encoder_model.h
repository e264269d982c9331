// EncoderModel: an encoder's file opened, its weights packed once; with the decoder behind it, where
// there is one.
#ifndef ROPEWALK_ENGINE_ENCODER_MODEL_H_
#define ROPEWALK_ENGINE_ENCODER_MODEL_H_

#include <cstdint>
#include <span>
#include <vector>

#include "ropewalk/engine/encoder.h"
#include "ropewalk/engine/model.h"

namespace ropewalk {

class EncoderModel {
 public:
  // Whether it is one of these; else a Model, or nothing that is run.
  static bool takes(const ModelFile& file) { return has_encoder(file.config, file.keys); }

  // Packs the weights. Throws Error.
  EncoderModel(ModelFile file, Precision precision, WithMaskedHead head = WithMaskedHead::kNo);

  const ModelConfig& config() const { return file_.config; }
  const Tokenizer& tokenizer() const { return tokenizer_of(file_); }
  bool has_decoder() const { return parts_.decoder != nullptr; }

  // The encoder's state of every token after its last norm; rows past states.n have no meaning.
  //   ids  at least one, each within the vocabulary; throws Error otherwise
  States states(std::span<const int32_t> ids, const Positions& positions,
                const Progress& progress = {}) const;

  // What the head that was asked for gives at positions: (at.size(), vocabulary), row by row.
  //   states  those of this model
  //   at      each within the states; throws Error otherwise
  std::vector<float> masked_logits(const States& states, std::span<const int64_t> at) const;

  // losses[t] = -ln p(ids[t + 1] | ids[0 .. t], encoder_ids) in nats: (ids.size() - 1). Throws Error
  // where there is no decoder.
  //   encoder_ids  what the encoder reads; at least one
  //   ids          the decoder's; at least two
  std::vector<double> losses(std::span<const int32_t> encoder_ids, std::span<const int32_t> ids,
                             const Positions& positions, const Progress& progress = {}) const;

 private:
  ModelFile file_;
  EncoderParts parts_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_ENGINE_ENCODER_MODEL_H_
