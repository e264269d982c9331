#include "ropewalk/study/head_means.h"

#include <algorithm>
#include <cmath>

#include "ropewalk/base/error.h"
#include "ropewalk/base/parallel.h"

namespace ropewalk {
namespace {

// Adds rows [first, last) of one head.
void add_rows(const float* heads, int64_t n_heads, int64_t head, int64_t first, int64_t last,
              VectorMeans& sums) {
  const auto head_dim = static_cast<int64_t>(sums.mean.size());
  for (int64_t row = first; row < last; ++row) {
    const float* const values = heads + (row * n_heads + head) * head_dim;
    for (int64_t x = 0; x < head_dim; ++x) {
      const double value = static_cast<double>(values[x]);
      sums.mean[x] += value;
      sums.square[x] += value * value;
    }
  }
}

}  // namespace

HeadMeans::HeadMeans(const ModelShape& shape, int64_t skipped_rows)
    : shape_(shape), skipped_rows_(skipped_rows) {
  const auto head_dim = static_cast<size_t>(shape.head_dim);
  const VectorMeans none{std::vector<double>(head_dim), std::vector<double>(head_dim)};
  sums_.assign(static_cast<size_t>(shape.n_layers),
               {.q = std::vector<VectorMeans>(static_cast<size_t>(shape.n_heads), none),
                .k = std::vector<VectorMeans>(static_cast<size_t>(shape.n_kv_heads), none)});
}

void HeadMeans::add(const LayerView& view) {
  const int64_t first = std::clamp<int64_t>(skipped_rows_ - view.first_row, 0, view.n_rows);
  if (view.layer == 0) n_tokens_ += view.n_rows - first;
  LayerMeans& sums = sums_[view.layer];
  sums.score_factor = view.score_factor;
  sums.chunk = view.chunk;
  parallel_for(
      shape_.n_heads + shape_.n_kv_heads, [] { return 0; },
      [&](int64_t head, int) {
        const int64_t key = head - shape_.n_heads;
        if (key < 0) {
          add_rows(view.q, shape_.n_heads, head, first, view.n_rows, sums.q[head]);
        } else {
          add_rows(view.k, shape_.n_kv_heads, key, first, view.n_rows, sums.k[key]);
        }
      });
}

std::vector<LayerMeans> HeadMeans::means() const {
  std::vector<LayerMeans> means = sums_;
  const auto divide = [this](std::vector<VectorMeans>& heads, size_t layer) {
    for (VectorMeans& head : heads) {
      for (std::vector<double>* values : {&head.mean, &head.square}) {
        for (double& value : *values) {
          value /= static_cast<double>(n_tokens_);
          if (std::isfinite(value)) continue;
          throw Error("layer " + std::to_string(layer), "queries and keys must be finite",
                      std::to_string(value));
        }
      }
    }
  };
  for (size_t layer = 0; layer < means.size(); ++layer) {
    divide(means[layer].q, layer);
    divide(means[layer].k, layer);
  }
  return means;
}

}  // namespace ropewalk
