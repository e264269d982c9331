// What one thread needs of memory to take a block of rows through either half of a layer.
#ifndef ROPEWALK_ENGINE_LAYER_SCRATCH_H_
#define ROPEWALK_ENGINE_LAYER_SCRATCH_H_

#include <cstdint>

#include "ropewalk/base/aligned_buffer.h"
#include "ropewalk/engine/attention_part.h"
#include "ropewalk/engine/feed_forward.h"

namespace ropewalk {

struct LayerScratch {
  AlignedBuffer<float> norm;  // (rows, hidden)
  AlignedBuffer<float> back;  // (rows, hidden)
  AlignedBuffer<float> more;  // (rows, hidden), of parallel layers
  AttentionScratch attention;
  FeedForwardScratch feed_forward;
  DenseScratch dense;

  //   rows  Dense::kFewRows or Dense::kBlockRows
  LayerScratch(const Blueprint& blueprint, int64_t rows)
      : norm(static_cast<size_t>(rows * blueprint.shape.hidden)),
        back(static_cast<size_t>(rows * blueprint.shape.hidden)),
        more(static_cast<size_t>(blueprint.parallel ? rows * blueprint.shape.hidden : 0)),
        attention(blueprint, rows),
        feed_forward(rows, blueprint.shape.hidden, FeedForward::inner_width(blueprint),
                     FeedForward::n_experts(blueprint)) {}

  // As they are allocated, without what `dense` grows to.
  size_t bytes() const {
    return held_bytes(norm) + held_bytes(back) + held_bytes(more) + attention.bytes() +
           feed_forward.bytes();
  }
};

}  // namespace ropewalk

#endif  // ROPEWALK_ENGINE_LAYER_SCRATCH_H_
