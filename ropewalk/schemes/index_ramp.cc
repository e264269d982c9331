#include "ropewalk/schemes/index_ramp.h"

#include "ropewalk/math/reach.h"

namespace ropewalk {

DoubleDouble index_of_turns(const FrequencySource& source, DoubleDouble turns,
                            DoubleDouble length) {
  return pair_of_turns(source.base, source.frequency_dim, turns, length);
}

IndexRamp index_ramp(const SchemeParams& params, const FrequencySource& source, DoubleDouble fast,
                     DoubleDouble slow, DoubleDouble length, bool truncate) {
  if (source.base <= 1) params.refuse("", "needs a model with base > 1");
  DoubleDouble low = index_of_turns(source, fast, length);
  DoubleDouble high = index_of_turns(source, slow, length);
  if (truncate) {
    low = floor(low);
    high = ceil(high);
  }
  low = max(low, 0);
  high = min(high, DoubleDouble(source.frequency_dim - 1));
  if (low == high) high += DoubleDouble(1) / 1000;
  return {low, high};
}

Spectrum slowed_along(const IndexRamp& ramp, DoubleDouble factor, Spectrum spectrum) {
  int64_t pair = 0;
  for (DoubleDouble& turns : spectrum.turns_per_token) {
    const DoubleDouble slow = ramp.at(pair++);
    turns = turns / factor * slow + turns * (1 - slow);
  }
  return spectrum;
}

DoubleDouble yarn_magnitude(DoubleDouble factor, DoubleDouble k, DoubleDouble coefficient) {
  return coefficient * k * log(factor) + 1;
}

}  // namespace ropewalk
