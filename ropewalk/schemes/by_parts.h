// The YaRN paper's ramp, which the schemes ntk_by_parts and yarn share.
#ifndef ROPEWALK_SCHEMES_BY_PARTS_H_
#define ROPEWALK_SCHEMES_BY_PARTS_H_

#include "ropewalk/math/spectrum.h"

namespace ropewalk {

// (1 - g) inv_freq / factor + g inv_freq with g = clamp((r - alpha) / (beta - alpha), 0, 1), r the
// turns a pair makes over `length`. alpha == beta makes a step: r >= beta keeps the pair. Source:
// Peng et al. 2023, arXiv 2309.00071, section 3.2.
Spectrum by_parts(Spectrum spectrum, DoubleDouble factor, DoubleDouble length, DoubleDouble alpha,
                  DoubleDouble beta);

}  // namespace ropewalk

#endif  // ROPEWALK_SCHEMES_BY_PARTS_H_
