// Drawing, checking and converting pair layouts.
#include "ropewalk/math/pair_layout.h"

#include <numeric>

#include "ropewalk/base/error.h"

namespace ropewalk {

std::string PairLayout::strip() const {
  std::string drawing(static_cast<size_t>(head_dim), '-');
  for (int64_t pair = 0; pair < n_pairs(); ++pair) {
    const char digit = static_cast<char>('0' + pair % 10);
    drawing[first(pair)] = digit;
    drawing[second(pair)] = digit;
  }
  return drawing;
}

void validate(const PairLayout& layout) {
  if (layout.head_dim < 2) {
    throw Error("head_dim", "must be at least 2", std::to_string(layout.head_dim));
  }
  const std::string found = std::to_string(layout.rotary_dim);
  if (layout.rotary_dim % 2 != 0) throw Error("rotary_dim", "must be even", found);
  if (layout.rotary_dim < 2 || layout.rotary_dim > layout.head_dim) {
    throw Error("rotary_dim", "must be from 2 to head_dim " + std::to_string(layout.head_dim),
                found);
  }
}

std::vector<int64_t> interleaved_from_half(int64_t head_dim, int64_t rotary_dim) {
  const PairLayout half{PairOrder::kHalf, head_dim, rotary_dim};
  const PairLayout interleaved{PairOrder::kInterleaved, head_dim, rotary_dim};
  validate(half);
  std::vector<int64_t> source(static_cast<size_t>(head_dim));
  std::iota(source.begin(), source.end(), 0);
  for (int64_t pair = 0; pair < half.n_pairs(); ++pair) {
    source[interleaved.first(pair)] = half.first(pair);
    source[interleaved.second(pair)] = half.second(pair);
  }
  return source;
}

}  // namespace ropewalk
