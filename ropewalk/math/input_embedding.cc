#include "ropewalk/math/input_embedding.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/math/spectrum.h"
#include "ropewalk/math/turns.h"

namespace ropewalk {
namespace {

void require_whole_rows(const char* place, size_t n_values, int64_t dim) {
  if (dim < 1) {
    throw Error("dim", "must be positive", std::to_string(dim)).of(FaultKind::kOutOfRange);
  }
  if (n_values == 0 || static_cast<int64_t>(n_values) % dim != 0) {
    throw Error(place, "must be whole rows of " + std::to_string(dim) + " values",
                std::to_string(n_values))
        .of(FaultKind::kWrongLength);
  }
}

}  // namespace

SinusoidalEmbedding::SinusoidalEmbedding(SinusoidOrder order, int64_t dim, double base,
                                         int64_t offset)
    : order_(order), dim_(dim), offset_(offset) {
  const bool spread = order == SinusoidOrder::kTensor2Tensor;
  const int64_t least = spread ? 2 : 1;
  if (dim < least) {
    throw Error("dim", "must be at least " + std::to_string(least), std::to_string(dim))
        .of(FaultKind::kOutOfRange);
  }
  if (!(base > 0)) {
    throw Error("base", "must be positive", std::to_string(base)).of(FaultKind::kOutOfRange);
  }
  const int64_t n_frequencies = spread ? dim / 2 : dim - dim / 2;
  for (int64_t k = 0; k < n_frequencies; ++k) {
    const DoubleDouble exponent = spread ? DoubleDouble(-k) / std::max<int64_t>(1, dim / 2 - 1)
                                         : DoubleDouble(-2 * k) / DoubleDouble(dim);
    turns_per_token_.push_back(pow(base, exponent) / kTwoPi);
  }
}

void SinusoidalEmbedding::row(int64_t position, std::span<double> out) const {
  assert(std::ssize(out) == dim_);
  const bool interleaved = order_ == SinusoidOrder::kInterleaved;
  const auto n_frequencies = std::ssize(turns_per_token_);
  std::ranges::fill(out, 0.0);
  for (int64_t k = 0; k < n_frequencies; ++k) {
    const CosSin angle = cos_sin_at(DoubleDouble(position + offset_), turns_per_token_[k]);
    out[interleaved ? 2 * k : k] = angle.sin;
    // An odd width has a sine more than it has cosines.
    if (k < dim_ / 2) out[interleaved ? 2 * k + 1 : n_frequencies + k] = angle.cos;
  }
}

std::vector<int64_t> positions_of_tokens(std::span<const uint8_t> is_token) {
  std::vector<int64_t> positions;
  positions.reserve(is_token.size());
  int64_t n_before = 0;
  for (const uint8_t token : is_token) positions.push_back(token != 0 ? n_before++ : -1);
  return positions;
}

LearnedEmbedding::LearnedEmbedding(std::vector<float> table, int64_t dim, int64_t offset)
    : table_(std::move(table)), dim_(dim), offset_(offset) {
  require_whole_rows("position table", table_.size(), dim);
}

void LearnedEmbedding::row(int64_t position, std::span<double> out) const {
  assert(std::ssize(out) == dim_);
  const int64_t index = position + offset_;
  if (index < 0 || index >= n_rows()) {
    throw Error("position",
                "must be from " + std::to_string(-offset_) + " to " +
                    std::to_string(n_rows() - 1 - offset_) + ", where the learned table ends",
                std::to_string(position))
        .of(FaultKind::kOutOfRange);
  }
  std::copy_n(table_.begin() + index * dim_, dim_, out.begin());
}

SegmentEmbedding::SegmentEmbedding(std::vector<float> table, int64_t dim)
    : table_(std::move(table)), dim_(dim) {
  require_whole_rows("segment table", table_.size(), dim);
}

void SegmentEmbedding::row(int64_t type, std::span<double> out) const {
  assert(std::ssize(out) == dim_);
  if (type < 0 || type >= n_types()) {
    throw Error("token type", "must be from 0 to " + std::to_string(n_types() - 1),
                std::to_string(type))
        .of(FaultKind::kOutOfRange);
  }
  std::copy_n(table_.begin() + type * dim_, dim_, out.begin());
}

}  // namespace ropewalk
