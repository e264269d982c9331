// Any scheme string: refused with an Error, or a Rotary whose every part can be evaluated.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "ropewalk/base/error.h"
#include "ropewalk/math/rotation_plan.h"
#include "ropewalk/schemes/scheme_string.h"

namespace {

using namespace ropewalk;

constexpr size_t kLongest = 512;
constexpr int64_t kTrained = 128;
constexpr int64_t kTokens = 300;

void require(bool holds) {
  if (!holds) std::abort();
}

Rotary declared() {
  return plain_rotary({.base = 10000.0, .frequency_dim = 8, .trained_length = kTrained},
                      {PairOrder::kHalf, 8, 8});
}

// Every key that row i sees falls into exactly one branch of the plan, or goes by distance.
void check_plan(const Rotary& rotary, const RotationPlan& plan, int64_t i) {
  int64_t seen = 0;
  for (int64_t j = 0; j <= i; ++j) seen += rotary.visibility.sees(i, j) ? 1 : 0;
  int64_t planned = 0;
  const auto count = [&](const KeyInterval& keys) {
    if (keys.empty()) return;
    require(keys.first >= 0 && keys.last <= i + 1);
    planned += keys.last - keys.first;
  };
  for (const PlanBranch& branch : plan.branches) {
    require(branch.pairs.size() == static_cast<size_t>(rotary.layout.n_pairs()));
    count(branch.keys(i));
  }
  // Where branches hold, they come first.
  if (!plan.by_distance) require(planned == seen);
  require(planned <= seen);
}

void evaluate(const Rotary& rotary) {
  for (const int64_t n : {int64_t{1}, kTrained, kTokens, int64_t{1} << 40}) {
    const Spectrum spectrum = rotary.spectrum.at(n);
    require(spectrum.n_pairs() == rotary.layout.n_pairs());
    require(std::isfinite(spectrum.amplitude) && std::isfinite(spectrum.logit_multiplier));
    for (const double inv_freq : spectrum.inv_freq()) require(std::isfinite(inv_freq));
  }
  for (const int64_t i : {int64_t{0}, int64_t{1}, int64_t{63}, kTokens - 1, int64_t{1} << 40}) {
    const DistanceMap map = rotary.distance.for_length(i + 1);
    for (int64_t pair = 0; pair < rotary.layout.n_pairs(); ++pair) {
      require(std::isfinite(static_cast<double>(map.at(i, 0, pair))));
      require(std::isfinite(static_cast<double>(map.at(i, i, pair))));
    }
    require(std::isfinite(rotary.temperature.at(i)));
  }
  const RotationPlan plan =
      plan_rotation(at_length(rotary, kTokens), rotary.spectrum.at(kTokens), kTokens);
  for (const int64_t i : {int64_t{0}, int64_t{1}, int64_t{63}, kTokens - 1})
    check_plan(rotary, plan, i);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  // Lists from files are the file readers' matter.
  if (size > kLongest || text.find('@') != std::string::npos) return 0;
  try {
    const ParsedScheme scheme = parse_scheme(text);
    // What it is called means the same.
    require(parse_scheme(scheme.text()).text() == scheme.text());
    evaluate(apply_scheme(scheme, declared()));
  } catch (const Error&) {
  }
  return 0;
}
