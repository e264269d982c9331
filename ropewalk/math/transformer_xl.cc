#include "ropewalk/math/transformer_xl.h"

#include <cassert>
#include <string>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

int64_t even(int64_t dim) {
  if (dim >= 2 && dim % 2 == 0) return dim;
  throw Error("dim", "must be even and at least 2", std::to_string(dim))
      .of(dim < 2 ? FaultKind::kOutOfRange : FaultKind::kOddDimension);
}

}  // namespace

DistanceSinusoid::DistanceSinusoid(int64_t dim) : table_(SinusoidOrder::kConcatenated, even(dim)) {}

double transformer_xl_logit(std::span<const double> query, std::span<const double> content_bias,
                            std::span<const double> position_bias, std::span<const double> key,
                            std::span<const double> position) {
  assert(content_bias.size() == query.size() && position_bias.size() == query.size());
  assert(key.size() == query.size() && position.size() == query.size());
  double logit = 0;
  for (size_t c = 0; c < query.size(); ++c) {
    logit += (query[c] + content_bias[c]) * key[c] + (query[c] + position_bias[c]) * position[c];
  }
  return logit;
}

}  // namespace ropewalk
