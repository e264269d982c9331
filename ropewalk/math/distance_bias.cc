#include "ropewalk/math/distance_bias.h"

#include <cassert>
#include <cstdlib>
#include <string>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/math/turns.h"

namespace ropewalk {
namespace {

void require_positive(const char* name, DoubleDouble value) {
  if (value > 0 && is_finite(value)) return;
  throw Error(name, "must be positive", std::to_string(value.hi)).of(FaultKind::kOutOfRange);
}

}  // namespace

double Kerple::bias(int64_t distance) const {
  assert(distance >= 0);
  const DoubleDouble d = distance;
  if (kernel == Kernel::kLogarithmic) return static_cast<double>(-r1 * log(1 + r2 * d));
  return distance == 0 ? 0 : static_cast<double>(-r1 * pow(d, r2));
}

void validate(const Kerple& kerple) {
  require_positive("r1", kerple.r1);
  require_positive("r2", kerple.r2);
  if (kerple.kernel == Kerple::Kernel::kPower && kerple.r2 > 2) {
    throw Error("r2", "must be at most 2 under a power kernel", std::to_string(kerple.r2.hi))
        .of(FaultKind::kOutOfRange);
  }
}

ScoreBias kerple_bias(std::vector<Kerple> heads) {
  for (const Kerple& head : heads) validate(head);
  return ScoreBias([heads = std::move(heads)](int64_t head, int64_t i, int64_t j) {
    return heads[head].bias(std::abs(i - j));
  });
}

double Sandwich::inner_product(int64_t distance) const {
  assert(distance >= 0 && d_bar >= 2 && d_bar % 2 == 0);
  DoubleDouble sum = 0;
  for (int64_t k = 1; k <= d_bar / 2; ++k) {
    const DoubleDouble inv_freq = pow(10000.0, DoubleDouble(-2 * k) / DoubleDouble(d_bar));
    sum += cos_sin_at(DoubleDouble(distance), inv_freq / kTwoPi).cos;
  }
  return static_cast<double>(sum);
}

void validate(const Sandwich& sandwich) {
  if (sandwich.d_bar < 2 || sandwich.d_bar % 2 != 0) {
    throw Error("d_bar", "must be even and at least 2", std::to_string(sandwich.d_bar))
        .of(sandwich.d_bar < 2 ? FaultKind::kOutOfRange : FaultKind::kOddDimension);
  }
}

ScoreBias sandwich_bias(const Sandwich& sandwich, int64_t n_heads) {
  validate(sandwich);
  return ScoreBias([sandwich, n_heads](int64_t head, int64_t i, int64_t j) {
    const double slope = 8 * static_cast<double>(head + 1) / static_cast<double>(n_heads);
    return slope *
           (sandwich.inner_product(std::abs(i - j)) - static_cast<double>(sandwich.d_bar / 2));
  });
}

double Fire::input(int64_t i, int64_t j) const {
  assert(0 <= j && j <= i);
  const auto psi = [this](DoubleDouble x) { return log(c * x + 1); };
  return static_cast<double>(psi(DoubleDouble(i - j)) / psi(max(DoubleDouble(i), threshold)));
}

void validate(const Fire& fire) {
  require_positive("c", fire.c);
  require_positive("threshold", fire.threshold);
}

ScoreBias fire_bias(const Fire& fire, std::function<double(int64_t head, double input)> learned) {
  validate(fire);
  return ScoreBias([fire, learned = std::move(learned)](int64_t head, int64_t i, int64_t j) {
    return learned(head, fire.input(i, j));
  });
}

}  // namespace ropewalk
