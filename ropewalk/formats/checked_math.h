// Sizes from strangers, multiplied without surprise.
#ifndef ROPEWALK_FORMATS_CHECKED_MATH_H_
#define ROPEWALK_FORMATS_CHECKED_MATH_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace ropewalk {

// Nothing when a * b is 2^64 or more.
constexpr std::optional<uint64_t> checked_product(uint64_t a, uint64_t b) {
  if (b != 0 && a > std::numeric_limits<uint64_t>::max() / b) return std::nullopt;
  return a * b;
}

// 1 for no factors. Nothing when a partial product overflows, even if a later factor is zero: such
// a shape has no honest use.
constexpr std::optional<uint64_t> checked_product(std::span<const uint64_t> factors) {
  std::optional<uint64_t> product = 1;
  for (const uint64_t factor : factors) {
    product = checked_product(*product, factor);
    if (!product) break;
  }
  return product;
}

}  // namespace ropewalk

#endif  // ROPEWALK_FORMATS_CHECKED_MATH_H_
