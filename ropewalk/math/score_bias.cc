#include "ropewalk/math/score_bias.h"

#include <cassert>
#include <cstdlib>
#include <string>
#include <utility>

#include "ropewalk/base/error.h"

namespace ropewalk {

ScoreBias::ScoreBias(Function at) : at_(std::move(at)) { assert(at_); }

ScoreBias linear_bias(std::vector<double> slopes) {
  return ScoreBias([slopes = std::move(slopes)](int64_t head, int64_t i, int64_t j) {
    return -slopes[head] * static_cast<double>(std::abs(i - j));
  });
}

ScoreBias key_position_bias(std::vector<double> slopes) {
  return ScoreBias([slopes = std::move(slopes)](int64_t head, int64_t, int64_t j) {
    return slopes[head] * static_cast<double>(j);
  });
}

ScoreBias bucket_bias(const T5Buckets& buckets, std::vector<double> table, int64_t n_heads) {
  validate(buckets);
  if (std::ssize(table) != buckets.n_buckets * n_heads) {
    throw Error("bias table",
                "must have " + std::to_string(buckets.n_buckets) + " x " + std::to_string(n_heads) +
                    " entries",
                std::to_string(table.size()))
        .of(FaultKind::kWrongLength);
  }
  return ScoreBias(
      [buckets, table = std::move(table), n_heads](int64_t head, int64_t i, int64_t j) {
        return table[buckets.bucket(j - i) * n_heads + head];
      });
}

}  // namespace ropewalk
