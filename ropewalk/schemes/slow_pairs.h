// Slow pairs that stand still, which the schemes hope and fope_clip share.
#ifndef ROPEWALK_SCHEMES_SLOW_PAIRS_H_
#define ROPEWALK_SCHEMES_SLOW_PAIRS_H_

#include "ropewalk/math/spectrum.h"

namespace ropewalk {

// Pairs that make fewer than `turns` turns over `length` tokens stand still; the others stay.
Spectrum without_slow_pairs(Spectrum spectrum, DoubleDouble turns, DoubleDouble length);

}  // namespace ropewalk

#endif  // ROPEWALK_SCHEMES_SLOW_PAIRS_H_
