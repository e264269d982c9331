#include "ropewalk/math/distance_mass.h"

#include <algorithm>
#include <string>
#include <utility>

#include "ropewalk/base/error.h"

namespace ropewalk {

DistanceMass::DistanceMass(std::vector<int64_t> lengths) : lengths_(std::move(lengths)) {
  const char* const place = "document lengths";
  if (lengths_.empty()) throw Error(place, "must hold at least one");
  std::sort(lengths_.begin(), lengths_.end());
  if (lengths_.front() < 1) {
    throw Error(place, "must be at least 1", std::to_string(lengths_.front()));
  }
  tokens_after_.assign(lengths_.size() + 1, 0);
  pairs_before_.assign(lengths_.size() + 1, 0);
  for (size_t k = lengths_.size(); k-- > 0;) {
    tokens_after_[k] = tokens_after_[k + 1] + static_cast<double>(lengths_[k]);
  }
  for (size_t k = 0; k < lengths_.size(); ++k) {
    const auto length = static_cast<double>(lengths_[k]);
    pairs_before_[k + 1] = pairs_before_[k] + length * (length + 1) / 2;
  }
}

double DistanceMass::at(int64_t distance) const {
  const auto longer = std::upper_bound(lengths_.begin(), lengths_.end(), distance);
  const auto n_longer = static_cast<double>(lengths_.end() - longer);
  return tokens_after_[longer - lengths_.begin()] - n_longer * static_cast<double>(distance);
}

// A document longer than d has length + (length - 1) + ... + (length - d) of them, another one all
// of its own.
double DistanceMass::within(int64_t distance) const {
  const auto longer = std::upper_bound(lengths_.begin(), lengths_.end(), distance);
  const auto n_longer = static_cast<double>(lengths_.end() - longer);
  const auto d = static_cast<double>(distance);
  const size_t first = longer - lengths_.begin();
  return pairs_before_[first] + (d + 1) * (tokens_after_[first] - n_longer * d / 2);
}

double DistanceMass::share_within(int64_t distance) const {
  return within(distance) / pairs_before_.back();
}

int64_t DistanceMass::quantile(double share) const {
  int64_t low = 0;
  int64_t high = lengths_.back() - 1;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (share_within(middle) >= share) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace ropewalk
