// A decoder's weights and its forward pass; what every architecture offers the engine.
#ifndef ROPEWALK_ENGINE_DECODER_H_
#define ROPEWALK_ENGINE_DECODER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "ropewalk/config/model_config.h"
#include "ropewalk/engine/output_head.h"
#include "ropewalk/engine/positions.h"
#include "ropewalk/formats/tensor_source.h"

namespace ropewalk {

// What a pass has read of a sequence: keys (unrotated) and values of every layer.
class KvCache {
 public:
  virtual ~KvCache() = default;
  virtual int64_t capacity() const = 0;  // tokens
};

// Called between layers with the share of the pass that is done, 0 to 1, rising.
using Progress = std::function<void(double)>;

// What the attention of one layer is given in a pass, and how it scores: the logit of a query and a
// key is softcap(row_scale * rotated product).
struct LayerView {
  int64_t layer = 0;
  int64_t first_row = 0;
  int64_t n_rows = 0;
  const float* q = nullptr;  // (n_rows, n_heads, head_dim), after biases and norms, not rotated
  const float* k = nullptr;  // (n_rows, n_kv_heads, head_dim), the same
  double score_factor = 1;   // 1 / sqrt(head_dim), or what is in its place
  std::span<const float> row_scale;  // (n_rows), score_factor, logit multiplier and temperature
  float softcap = 0;                 // 0: none
  std::span<const float> sinks;  // (n_heads), logits that take weight and give nothing; or empty
  int64_t chunk = 0;             // a row sees the keys of its own chunk; 0: all
};

// Called by the thread that runs the pass, once a layer, in order; what it is shown is gone after.
using LayerObserver = std::function<void(const LayerView&)>;

// Rows of a sequence of `length` tokens that one pass computes.
struct Pass {
  std::span<const int32_t> ids;  // of the rows, (n_rows), each within the vocabulary
  int64_t first_row = 0;         // rows before it are in the cache
  int64_t length = 0;            // tokens of the whole sequence, >= first_row + n_rows
  const Positions* positions = nullptr;
  Progress progress = {};
  LayerObserver observer = {};
};

// Immutable once loaded: any number of passes over different caches may run, one after the other.
class Decoder {
 public:
  virtual ~Decoder() = default;

  virtual int64_t vocabulary() const = 0;
  virtual std::unique_ptr<KvCache> make_cache(int64_t capacity) const = 0;

  // Computes the rows, adds them to the cache, and returns their states after the last norm:
  // (n_rows padded to whole Dense blocks, or to kFewRows where there are no more, hidden). The same
  // bits whatever the thread count.
  //   cache  made by this decoder, with room for the rows
  virtual AlignedBuffer<float> forward(const Pass& pass, KvCache& cache) const = 0;

  // Makes logits of those states.
  virtual const OutputHead& head() const = 0;
};

}  // namespace ropewalk

#endif  // ROPEWALK_ENGINE_DECODER_H_
