#include "ropewalk/math/relative_buckets.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "ropewalk/base/error.h"
#include "ropewalk/math/double_double.h"

namespace ropewalk {
namespace {

// Exact powers fall on whole numbers: what is left of rounding there is moved over the boundary.
constexpr double kRounding = 0x1p-90;

int64_t exact_buckets(int64_t n_buckets) { return n_buckets / 2; }

}  // namespace

int64_t T5Buckets::bucket(int64_t relative_position) const {
  const int64_t per_side = bidirectional ? n_buckets / 2 : n_buckets;
  const int64_t side = bidirectional && relative_position > 0 ? per_side : 0;
  const int64_t distance =
      bidirectional ? std::abs(relative_position) : std::max<int64_t>(-relative_position, 0);
  const int64_t exact = exact_buckets(per_side);
  if (distance < exact) return side + distance;
  if (distance >= max_distance) return side + per_side - 1;

  const DoubleDouble share = log(DoubleDouble(distance) / DoubleDouble(exact)) /
                             log(DoubleDouble(max_distance) / DoubleDouble(exact));
  const DoubleDouble steps = floor(share * DoubleDouble(per_side - exact) + kRounding);
  return side + std::min(per_side - 1, exact + static_cast<int64_t>(steps.hi));
}

void validate(const T5Buckets& buckets) {
  const int64_t per_side = buckets.bidirectional ? buckets.n_buckets / 2 : buckets.n_buckets;
  const int64_t exact = exact_buckets(per_side);
  if (exact < 1) {
    throw Error("n_buckets",
                buckets.bidirectional ? "must be at least 4 where both directions have their own"
                                      : "must be at least 2",
                std::to_string(buckets.n_buckets))
        .of(FaultKind::kOutOfRange);
  }
  if (buckets.max_distance <= exact) {
    throw Error("max_distance", "must be above the " + std::to_string(exact) + " exact buckets",
                std::to_string(buckets.max_distance))
        .of(FaultKind::kOutOfRange);
  }
}

int64_t DebertaBuckets::bucket(int64_t relative_position) const {
  const int64_t middle = n_buckets / 2;
  const int64_t distance = std::abs(relative_position);
  if (distance <= middle) return relative_position;

  const DoubleDouble share = log(DoubleDouble(distance) / DoubleDouble(middle)) /
                             log(DoubleDouble(max_distance - 1) / DoubleDouble(middle));
  const DoubleDouble steps = ceil(share * DoubleDouble(middle - 1) - kRounding);
  const int64_t bucket = static_cast<int64_t>(steps.hi) + middle;
  return relative_position < 0 ? -bucket : bucket;
}

void validate(const DebertaBuckets& buckets) {
  if (buckets.n_buckets < 4 || buckets.n_buckets % 2 != 0) {
    throw Error("n_buckets", "must be even and at least 4", std::to_string(buckets.n_buckets))
        .of(buckets.n_buckets < 4 ? FaultKind::kOutOfRange : FaultKind::kOddDimension);
  }
  if (buckets.max_distance <= buckets.n_buckets / 2 + 1) {
    throw Error(
        "max_distance",
        "must be above " + std::to_string(buckets.n_buckets / 2 + 1) + ", half the buckets and one",
        std::to_string(buckets.max_distance))
        .of(FaultKind::kOutOfRange);
  }
}

int64_t ClippedDistance::row(int64_t relative_position) const {
  return std::clamp(relative_position, -limit, limit) + limit;
}

}  // namespace ropewalk
