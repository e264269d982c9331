// memory_estimate.h for encoders, where all rows of a text go through a layer at once.
#ifndef ROPEWALK_ENGINE_ENCODER_MEMORY_H_
#define ROPEWALK_ENGINE_ENCODER_MEMORY_H_

#include <cstdint>
#include <optional>
#include <string>

#include "ropewalk/engine/memory_estimate.h"

namespace ropewalk {

// EncoderModel::states(), or losses().
struct EncoderRun {
  Precision precision = Precision::kF32;
  int64_t tokens = 0;          // that the encoder reads
  int64_t decoder_tokens = 0;  // whose losses are asked for; 0: states alone
  int64_t behind = 0;          // bytes that are made of the states when the pass has ended
  const Positions& positions;
};

// Whether there is a decoder behind it. Throws Error where the engine runs no such encoder.
bool has_decoder(const ModelFile& file);

// Both as of decoders; "cache" is nothing.
MemoryEstimate estimate_memory(const ModelFile& file, const EncoderRun& run);
void refuse_too_large(const ModelFile& file, const EncoderRun& run, const std::string& shorten,
                      const std::optional<AvailableMemory>& available = available_memory());

}  // namespace ropewalk

#endif  // ROPEWALK_ENGINE_ENCODER_MEMORY_H_
