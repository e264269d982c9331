#include "ropewalk/math/xpos.h"

#include <string>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

std::vector<double> powers(const Xpos& xpos, DoubleDouble power) {
  std::vector<double> scales;
  for (const DoubleDouble zeta : xpos.zeta())
    scales.push_back(static_cast<double>(pow(zeta, power)));
  return scales;
}

void require_positive(const char* name, DoubleDouble value) {
  if (value > 0 && is_finite(value)) return;
  throw Error(name, "must be positive", std::to_string(value.hi)).of(FaultKind::kOutOfRange);
}

}  // namespace

std::vector<DoubleDouble> Xpos::zeta() const {
  const DoubleDouble width = rotary_dim;
  std::vector<DoubleDouble> zeta;
  for (int64_t pair = 0; pair < rotary_dim / 2; ++pair) {
    zeta.push_back((DoubleDouble(2 * pair) + gamma * width) / ((1 + gamma) * width));
  }
  return zeta;
}

std::vector<double> Xpos::query_scale(int64_t position) const {
  return powers(*this, DoubleDouble(position - centre) / scale_base);
}

std::vector<double> Xpos::key_scale(int64_t position) const {
  return powers(*this, DoubleDouble(centre - position) / scale_base);
}

std::vector<double> Xpos::score_scale(int64_t distance) const {
  return powers(*this, DoubleDouble(distance) / scale_base);
}

void validate(const Xpos& xpos) {
  if (xpos.rotary_dim < 2 || xpos.rotary_dim % 2 != 0) {
    throw Error("rotary_dim", "must be even and at least 2", std::to_string(xpos.rotary_dim))
        .of(xpos.rotary_dim < 2 ? FaultKind::kOutOfRange : FaultKind::kOddDimension);
  }
  require_positive("scale_base", xpos.scale_base);
  require_positive("gamma", xpos.gamma);
}

}  // namespace ropewalk
