#include "ropewalk/math/alibi.h"

#include <bit>
#include <cassert>

#include "ropewalk/base/half.h"
#include "ropewalk/math/double_double.h"

namespace ropewalk {

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

std::vector<double> bfloat16_slopes(std::vector<double> slopes) {
  for (double& slope : slopes) slope = to_float(to_bf16(static_cast<float>(slope)));
  return slopes;
}

}  // namespace ropewalk
