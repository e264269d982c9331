// Loss by position.
#ifndef ROPEWALK_STUDY_CURVE_H_
#define ROPEWALK_STUDY_CURVE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "ropewalk/study/bootstrap.h"

namespace ropewalk {

// Predictions made from positions first to last, both included.
struct Bucket {
  int64_t first = 0;
  int64_t last = 0;
  Estimate loss;  // nats per token
};

// The mean loss in about `n_buckets` equal runs of positions, one of which is cut at the trained
// length so that none lies on both sides of it; empty runs are left out.
//   losses  of every window: losses[w][t] is of the token t + 1, predicted from position t
std::vector<Bucket> loss_curve(std::span<const std::vector<double>> losses, int64_t trained_length,
                               int64_t n_buckets);

// Over all positions. At least one loss.
Estimate mean_loss(std::span<const std::vector<double>> losses);

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_CURVE_H_
