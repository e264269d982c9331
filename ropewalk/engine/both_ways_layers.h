// The layers of an encoder, or of a decoder behind one, over all rows of a sequence at once.
#ifndef ROPEWALK_ENGINE_BOTH_WAYS_LAYERS_H_
#define ROPEWALK_ENGINE_BOTH_WAYS_LAYERS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "ropewalk/engine/attention_part.h"
#include "ropewalk/engine/encoder.h"
#include "ropewalk/engine/feed_forward.h"
#include "ropewalk/kernels/rotation_rows.h"

namespace ropewalk {

// How the rows of one scheme are turned.
struct RowTurns {
  PairLayout layout;
  RotationRows<float> table;     // a row for each token
  std::vector<float> row_scale;  // (n), multiplies the logits: 1 / sqrt(head_dim) is not in it
};

// Of each scheme, for a sequence of n tokens. Throws Error where a scheme has more than a spectrum: a
// distance map, a mask or a window says what a token sees of those before it alone.
//   side_window  (n_layers), tokens that each layer sees on either side: a window of as many that its
//                scheme declares is the layer's business; empty: all see all
std::vector<RowTurns> row_turns(const Positions& positions, int64_t n,
                                std::span<const int64_t> side_window = {});

// Bytes of the same, told without making them.
int64_t row_turns_bytes(const Positions& positions, int64_t n);

class BothWaysLayers {
 public:
  // Reads the layers' weights.
  //   rotates  (n_layers)
  //   cross    the names of the part that looks at an encoder's states: of a decoder, whose rows see
  //            no row after them; null: of an encoder
  BothWaysLayers(Weights& weights, const Blueprint& blueprint, const std::vector<bool>& rotates,
                 Weights* cross, Precision precision);

  // Takes the rows through all layers, in place.
  //   states     embedded
  //   positions  its schemes' turns go by row_turns(); null where no layer rotates
  //   encoded    of the encoder; null without one
  void run(States& states, const Positions* positions, const States* encoded,
           const Progress& progress) const;

 private:
  struct Layer {
    Norm attention_norm, cross_norm, ffn_norm;  // or none
    Norm attention_post_norm, ffn_post_norm;    // or none
    AttentionPart attention;
    std::optional<AttentionPart> cross;
    FeedForward feed_forward;
    std::vector<float> buckets;  // (n_buckets, n_heads), or empty
  };
  struct Buffers;

  Layer read_layer(Weights& weights, int64_t n, Weights* cross, Precision precision) const;
  std::vector<float> read_buckets(const LayerReader& reader) const;
  void attend(int64_t n, const RowTurns* turns, States& states, Buffers& buffers) const;
  void attend_across(const Layer& layer, const States& encoded, States& states,
                     Buffers& buffers) const;
  void finish_attention(const AttentionPart& part, const Norm& post_norm, States& states,
                        Buffers& buffers) const;
  void feed(const Layer& layer, States& states, Buffers& buffers) const;
  void add_back(const Norm& post_norm, int64_t rows, float* back, float* residual) const;
  std::vector<float> distance_bias(const std::vector<float>& buckets, int64_t n) const;

  Blueprint blueprint_;
  ModelShape shape_;
  std::vector<bool> rotates_;
  bool causal_;
  std::vector<Layer> layers_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_ENGINE_BOTH_WAYS_LAYERS_H_
