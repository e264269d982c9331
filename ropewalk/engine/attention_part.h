// The products around a layer's attention: from normed rows to queries, keys and values, and from what
// was attended back.
#ifndef ROPEWALK_ENGINE_ATTENTION_PART_H_
#define ROPEWALK_ENGINE_ATTENTION_PART_H_

#include <cstdint>
#include <vector>

#include "ropewalk/base/aligned_buffer.h"
#include "ropewalk/base/aligned_size.h"
#include "ropewalk/engine/parts.h"

namespace ropewalk {

// Buffers of a block of rows; each (rows, width). Of latent attention alone.
struct AttentionScratch {
  AlignedBuffer<float> narrow;  // the widest latent vector
  AlignedBuffer<float> wide;    // what comes of it
  AlignedBuffer<float> keys;    // latent vector and the keys' shared rotary part

  AttentionScratch(const Blueprint& blueprint, int64_t rows);
  size_t bytes() const { return held_bytes(narrow) + held_bytes(wide) + held_bytes(keys); }
};

// Queries (rows, n_heads, head_dim), keys and values (rows, n_kv_heads, head_dim), unrotated. The
// coordinates that rotate come first in a head; values narrower than head_dim are followed by zeros.
class AttentionPart {
 public:
  AttentionPart(const LayerReader& reader, bool rotates);

  //   in       (kBlockRows, hidden), normed
  //   q, k, v  of the block's first row
  void project(const RowBlock& block, const float* in, float* q, float* k, float* v,
               AttentionScratch& scratch) const;

  // Each alone, where keys are of other rows than queries; not of latent attention.
  void project_queries(const RowBlock& block, const float* in, float* q) const;
  void project_keys(const RowBlock& block, const float* in, float* k, float* v) const;

  //   attended  (kBlockRows, n_heads, head_dim); overwritten
  //   out       (kBlockRows, hidden)
  void finish(const RowBlock& block, float* attended, float* out) const;

  // Those that it has, for Dense::keep().
  std::vector<const Dense*> matrices() const;

  // A learned logit for each head that takes weight and gives nothing; empty: none.
  const std::vector<float>& sinks() const { return sinks_; }

 private:
  void read_plain(const LayerReader& reader);
  void read_latent(const LayerReader& reader);
  void project_latent(const RowBlock& block, const float* in, float* q, float* k, float* v,
                      AttentionScratch& scratch) const;
  // Clips and norms what was projected.
  void shape_queries(int64_t rows, float* q) const;
  void shape_keys(int64_t rows, float* k, float* v) const;
  void clip(const Linear& linear, int64_t rows, float* values) const;
  void normalise(const Norm& norm, int64_t heads, int64_t rows, float* values) const;

  ModelShape shape_;
  int64_t value_dim_;
  float clip_;
  std::optional<LatentKnobs> latent_;
  Linear q_, k_, v_, o_;
  Norm q_norm_, k_norm_;  // of one head, of each head on its own, or of all at once
  bool norm_whole_;
  std::vector<float> sinks_;

  Linear q_narrow_, kv_narrow_;  // of latent attention
  Norm q_narrow_norm_, kv_narrow_norm_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_ENGINE_ATTENTION_PART_H_
