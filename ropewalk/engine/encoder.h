// Encoders: every token sees those after it, too. What they read is no sequence that grows, so there
// is no cache.
#ifndef ROPEWALK_ENGINE_ENCODER_H_
#define ROPEWALK_ENGINE_ENCODER_H_

#include <cstdint>
#include <memory>
#include <span>

#include "ropewalk/base/aligned_buffer.h"
#include "ropewalk/engine/arch/families.h"
#include "ropewalk/engine/decoder.h"
#include "ropewalk/engine/masked_head.h"

namespace ropewalk {

// States of tokens after the last norm.
struct States {
  int64_t n = 0;                // tokens
  int64_t hidden = 0;           // width of each
  AlignedBuffer<float> values;  // (n padded to whole Dense blocks, hidden)
};

// Immutable once loaded.
class Encoder {
 public:
  virtual ~Encoder() = default;
  virtual int64_t vocabulary() const = 0;

  // The same bits whatever the thread count. Throws Error where a position has no learned row, and
  // where a scheme is not one of spectra alone.
  //   ids  at least one, each within the vocabulary
  virtual States encode(std::span<const int32_t> ids, const Positions& positions,
                        const Progress& progress) const = 0;
};

// A decoder whose tokens see those before them, and all that an encoder has read.
class CrossDecoder {
 public:
  virtual ~CrossDecoder() = default;

  //   ids      at least one, each within the vocabulary
  //   encoded  of the encoder that it came with
  virtual States decode(std::span<const int32_t> ids, const States& encoded) const = 0;

  // Makes logits of those states.
  virtual const OutputHead& head() const = 0;
};

struct EncoderParts {
  std::unique_ptr<Encoder> encoder;
  std::unique_ptr<CrossDecoder> decoder;    // or null
  std::unique_ptr<MaskedHead> masked_head;  // or null
};

// Whether the head that guesses masked tokens is read, too: most who want states do not want it.
enum class WithMaskedHead { kNo, kYes };

// Reads all weights.
//   config  of the file: which layers rotate
//   source  must outlive the result
// Throws Error naming the tensor that is missing, misshapen, of a type that is not decoded, or of no
// use; and where a head is asked for that is not there.
EncoderParts make_encoder(const EncoderBlueprints& blueprints, const ModelConfig& config,
                          const TensorSource& source, Precision precision,
                          WithMaskedHead head = WithMaskedHead::kNo);

}  // namespace ropewalk

#endif  // ROPEWALK_ENGINE_ENCODER_H_
