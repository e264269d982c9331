#include "ropewalk/math/input_embedding.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/math/spectrum.h"
#include "ropewalk/math/turns.h"

namespace ropewalk {

SinusoidalEmbedding::SinusoidalEmbedding(SinusoidOrder order, int64_t dim, double base,
                                         int64_t offset)
    : order_(order), dim_(dim), offset_(offset) {
  const bool spread = order == SinusoidOrder::kTensor2Tensor;
  const int64_t least = spread ? 4 : 2;
  if (dim < least || dim % 2 != 0) {
    throw Error("dim", "must be even and at least " + std::to_string(least), std::to_string(dim));
  }
  if (!(base > 0)) throw Error("base", "must be positive", std::to_string(base));
  // base^(-k/(dim/2 - 1)) is base^(-2k/(dim - 2)), whose last pair is one past those of dim - 2.
  const int64_t divisor = spread ? dim - 2 : dim;
  for (int64_t k = 0; k < dim / 2; ++k) {
    const DoubleDouble inv_freq = pow(base, DoubleDouble(-2 * k) / DoubleDouble(divisor));
    turns_per_token_.push_back(inv_freq / kTwoPi);
  }
}

void SinusoidalEmbedding::row(int64_t position, std::span<double> out) const {
  assert(std::ssize(out) == dim_);
  const bool interleaved = order_ == SinusoidOrder::kInterleaved;
  const int64_t half = dim_ / 2;
  for (int64_t k = 0; k < half; ++k) {
    const CosSin angle = cos_sin_at(DoubleDouble(position + offset_), turns_per_token_[k]);
    out[interleaved ? 2 * k : k] = angle.sin;
    out[interleaved ? 2 * k + 1 : half + k] = angle.cos;
  }
}

LearnedEmbedding::LearnedEmbedding(std::vector<float> table, int64_t dim, int64_t offset)
    : table_(std::move(table)), dim_(dim), offset_(offset) {
  if (dim < 1) throw Error("dim", "must be positive", std::to_string(dim));
  if (table_.empty() || std::ssize(table_) % dim != 0) {
    throw Error("position table", "must be whole rows of " + std::to_string(dim) + " values",
                std::to_string(table_.size()));
  }
}

void LearnedEmbedding::row(int64_t position, std::span<double> out) const {
  assert(std::ssize(out) == dim_);
  const int64_t index = position + offset_;
  if (index < 0 || index >= n_rows()) {
    throw Error("position",
                "must be from " + std::to_string(-offset_) + " to " +
                    std::to_string(n_rows() - 1 - offset_) + ", where the learned table ends",
                std::to_string(position));
  }
  std::copy_n(table_.begin() + index * dim_, dim_, out.begin());
}

}  // namespace ropewalk
