// The half of a layer that looks at one token at a time: two or three products, or experts.
#ifndef ROPEWALK_ENGINE_FEED_FORWARD_H_
#define ROPEWALK_ENGINE_FEED_FORWARD_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "ropewalk/base/aligned_buffer.h"
#include "ropewalk/base/aligned_size.h"
#include "ropewalk/engine/parts.h"

namespace ropewalk {

// Buffers of a block of rows; each (rows, width).
struct FeedForwardScratch {
  AlignedBuffer<float> gate;  // widest inner width
  AlignedBuffer<float> up;
  AlignedBuffer<float> routes;    // number of experts
  AlignedBuffer<float> gathered;  // hidden: rows that go to one expert
  AlignedBuffer<float> answered;  // hidden: what comes back

  //   experts  0: none
  FeedForwardScratch(int64_t rows, int64_t hidden, int64_t inner, int64_t experts);
  size_t bytes() const {
    return held_bytes(gate) + held_bytes(up) + held_bytes(routes) + held_bytes(gathered) +
           held_bytes(answered);
  }
};

class FeedForward {
 public:
  // Reads ffn_up, ffn_down and, where they are there, ffn_gate, experts and shared experts.
  explicit FeedForward(const LayerReader& reader);

  //   in   (kBlockRows, hidden), the normed rows
  //   out  (kBlockRows, hidden)
  void apply(const RowBlock& block, const float* in, float* out, FeedForwardScratch& scratch) const;

  // Those that it has, for Dense::keep().
  std::vector<const Dense*> matrices() const;

  bool has_experts() const { return experts_ != nullptr; }

  // Widest inner width, and number of experts, of any layer of the blueprint.
  static int64_t inner_width(const Blueprint& blueprint);
  static int64_t n_experts(const Blueprint& blueprint);

 private:
  struct Part {
    Linear gate;  // or none
    Linear up;
    Linear down;
  };
  struct Experts {
    Linear router;
    std::vector<float> choice_bias;  // (count), added to what experts are chosen by; or empty
    std::vector<Part> each;
    Part shared;         // or none
    Linear shared_gate;  // one output: sigmoid multiplies the shared part; or none
  };
  struct Route {
    int64_t row = 0;
    float weight = 0;
  };

  static Part read_part(const LayerReader& reader, const std::string& suffix, int64_t ffn);
  static Experts read_experts(const LayerReader& reader);
  void apply_part(const Part& part, const RowBlock& block, const float* in, float* out,
                  FeedForwardScratch& scratch) const;
  void apply_experts(const RowBlock& block, const float* in, float* out,
                     FeedForwardScratch& scratch) const;
  void choose(const float* scores, int64_t row, std::vector<std::vector<Route>>& routes) const;
  void activate_rows(const Part& part, int64_t rows, FeedForwardScratch& scratch) const;

  int64_t hidden_;
  Activation activation_;
  float clamp_, gate_slope_, up_offset_;
  ExpertKnobs knobs_;
  Part part_;
  std::unique_ptr<Experts> experts_;  // in place of the part
};

}  // namespace ropewalk

#endif  // ROPEWALK_ENGINE_FEED_FORWARD_H_
