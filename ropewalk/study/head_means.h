// Mean queries and keys of every head, before they are rotated: what a head says of a place
// whatever stands there.
#ifndef ROPEWALK_STUDY_HEAD_MEANS_H_
#define ROPEWALK_STUDY_HEAD_MEANS_H_

#include <cstdint>
#include <vector>

#include "ropewalk/engine/decoder.h"

namespace ropewalk {

// Over the tokens of one head.
struct VectorMeans {
  std::vector<double> mean;    // (head_dim), E[x]
  std::vector<double> square;  // (head_dim), E[x^2]
};

struct LayerMeans {
  std::vector<VectorMeans> q;  // (n_heads)
  std::vector<VectorMeans> k;  // (n_kv_heads)
  double score_factor = 1;     // LayerView's
  int64_t chunk = 0;           // LayerView's

  // Of the keys that a query head meets.
  const VectorMeans& keys_of(int64_t head) const {
    return k[static_cast<size_t>(head) / (q.size() / k.size())];
  }
};

// Gathers them over any number of passes.
class HeadMeans {
 public:
  //   skipped_rows  first tokens of each sequence that do not count: they take attention that no
  //                 other place gets, by keys unlike all others
  HeadMeans(const ModelShape& shape, int64_t skipped_rows);

  // The same sums whatever the thread count.
  void add(const LayerView& view);

  int64_t n_tokens() const { return n_tokens_; }
  // (n_layers); at least one token must have been added. Throws Error naming a layer whose means
  // are no numbers.
  std::vector<LayerMeans> means() const;

 private:
  ModelShape shape_;
  int64_t skipped_rows_;
  int64_t n_tokens_ = 0;
  std::vector<LayerMeans> sums_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_HEAD_MEANS_H_
