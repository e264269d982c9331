// The ramp over pair indices that code after jquesnelle/yarn shares: the schemes yarn, dynamic_yarn
// and part_ntk.
#ifndef ROPEWALK_SCHEMES_INDEX_RAMP_H_
#define ROPEWALK_SCHEMES_INDEX_RAMP_H_

#include <cstdint>

#include "ropewalk/math/rotary.h"
#include "ropewalk/schemes/registry.h"

namespace ropewalk {

// 0 up to pair `low`, 1 from pair `high` on, straight between.
struct IndexRamp {
  DoubleDouble low;
  DoubleDouble high;

  DoubleDouble at(int64_t pair) const {
    return clamp((DoubleDouble(pair) - low) / (high - low), 0, 1);
  }
};

// The (fractional) index of the pair that makes `turns` turns over `length` tokens; base > 1.
DoubleDouble index_of_turns(const FrequencySource& source, DoubleDouble turns, DoubleDouble length);

// The ramp from the pair that makes `fast` turns over `length` tokens to the one that makes `slow`;
// both are fractions, rounded outwards where `truncate`. As Hugging Face transformers has it: ends
// held to 0 and to d - 1, which is not the last pair, and kept 0.001 apart where they meet. Throws
// Error unless the base is above 1.
IndexRamp index_ramp(const SchemeParams& params, const FrequencySource& source, DoubleDouble fast,
                     DoubleDouble slow, DoubleDouble length, bool truncate);

// YaRN by index: pairs where the ramp is 1 are slowed by `factor`, pairs where it is 0 stay. Source:
// Peng et al. 2023, arXiv 2309.00071, as in github.com/jquesnelle/yarn.
Spectrum slowed_along(const IndexRamp& ramp, DoubleDouble factor, Spectrum spectrum);

// coefficient * k * ln(factor) + 1: the factor on queries and keys, and so on cos and sin, that the
// YaRN paper fitted on Llama with k = 1 and coefficient 0.1.
DoubleDouble yarn_magnitude(DoubleDouble factor, DoubleDouble k, DoubleDouble coefficient);

}  // namespace ropewalk

#endif  // ROPEWALK_SCHEMES_INDEX_RAMP_H_
