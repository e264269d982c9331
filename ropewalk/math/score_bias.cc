#include "ropewalk/math/score_bias.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdlib>
#include <string>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/math/double_double.h"

namespace ropewalk {
namespace {

int64_t exact_buckets(int64_t n_buckets) { return n_buckets / 2; }

}  // namespace

ScoreBias::ScoreBias(Function at) : at_(std::move(at)) { assert(at_); }

std::vector<double> alibi_slopes(int64_t n_heads, double max_bias) {
  assert(n_heads >= 1);
  const auto power = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(n_heads)));
  std::vector<double> slopes;
  slopes.reserve(static_cast<size_t>(n_heads));
  for (int64_t head = 0; head < n_heads; ++head) {
    const DoubleDouble step = head < power
                                  ? DoubleDouble(head + 1) / DoubleDouble(power)
                                  : DoubleDouble(2 * (head - power) + 1) / DoubleDouble(2 * power);
    slopes.push_back(static_cast<double>(pow(2.0, -DoubleDouble(max_bias) * step)));
  }
  return slopes;
}

ScoreBias linear_bias(std::vector<double> slopes) {
  return ScoreBias([slopes = std::move(slopes)](int64_t head, int64_t i, int64_t j) {
    return -slopes[head] * static_cast<double>(std::abs(i - j));
  });
}

int64_t T5Buckets::bucket(int64_t relative_position) const {
  const int64_t per_side = bidirectional ? n_buckets / 2 : n_buckets;
  const int64_t side = bidirectional && relative_position > 0 ? per_side : 0;
  const int64_t distance =
      bidirectional ? std::abs(relative_position) : std::max<int64_t>(-relative_position, 0);
  const int64_t exact = exact_buckets(per_side);
  if (distance < exact) return side + distance;
  if (distance >= max_distance) return side + per_side - 1;

  // Exact powers fall on whole numbers: what is left of rounding there is lifted over.
  constexpr double kRounding = 0x1p-90;
  const DoubleDouble share = log(DoubleDouble(distance) / DoubleDouble(exact)) /
                             log(DoubleDouble(max_distance) / DoubleDouble(exact));
  const DoubleDouble steps = floor(share * DoubleDouble(per_side - exact) + kRounding);
  return side + std::min(per_side - 1, exact + static_cast<int64_t>(steps.hi));
}

void validate(const T5Buckets& buckets) {
  const std::string found = std::to_string(buckets.n_buckets);
  if (buckets.n_buckets < 2) throw Error("n_buckets", "must be at least 2", found);
  if (buckets.bidirectional && buckets.n_buckets % 2 != 0) {
    throw Error("n_buckets", "must be even where both directions have their own", found);
  }
  const int64_t exact =
      exact_buckets(buckets.bidirectional ? buckets.n_buckets / 2 : buckets.n_buckets);
  if (exact < 1) throw Error("n_buckets", "must leave an exact bucket in each direction", found);
  if (buckets.max_distance <= exact) {
    throw Error("max_distance", "must be above the " + std::to_string(exact) + " exact buckets",
                std::to_string(buckets.max_distance));
  }
}

int64_t DebertaBuckets::bucket(int64_t relative_position) const {
  const int64_t middle = n_buckets / 2;
  const int64_t distance = std::abs(relative_position);
  if (distance <= middle) return relative_position;

  // Exact powers fall on whole numbers: what is left of rounding there is taken off.
  constexpr double kRounding = 0x1p-90;
  const DoubleDouble share = log(DoubleDouble(distance) / DoubleDouble(middle)) /
                             log(DoubleDouble(max_distance - 1) / DoubleDouble(middle));
  const DoubleDouble steps = -floor(-(share * DoubleDouble(middle - 1) - kRounding));
  const int64_t bucket = static_cast<int64_t>(steps.hi) + middle;
  return relative_position < 0 ? -bucket : bucket;
}

void validate(const DebertaBuckets& buckets) {
  if (buckets.n_buckets < 4 || buckets.n_buckets % 2 != 0) {
    throw Error("n_buckets", "must be even and at least 4", std::to_string(buckets.n_buckets));
  }
  if (buckets.max_distance <= buckets.n_buckets / 2 + 1) {
    throw Error(
        "max_distance",
        "must be above " + std::to_string(buckets.n_buckets / 2 + 1) + ", half the buckets and one",
        std::to_string(buckets.max_distance));
  }
}

int64_t ClippedDistance::row(int64_t relative_position) const {
  return std::clamp(relative_position, -limit, limit) + limit;
}

ScoreBias bucket_bias(const T5Buckets& buckets, std::vector<double> table, int64_t n_heads) {
  validate(buckets);
  if (std::ssize(table) != buckets.n_buckets * n_heads) {
    throw Error("bias table",
                "must have " + std::to_string(buckets.n_buckets) + " x " + std::to_string(n_heads) +
                    " entries",
                std::to_string(table.size()));
  }
  return ScoreBias(
      [buckets, table = std::move(table), n_heads](int64_t head, int64_t i, int64_t j) {
        return table[buckets.bucket(j - i) * n_heads + head];
      });
}

}  // namespace ropewalk
