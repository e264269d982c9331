#include "ropewalk/schemes/slow_pairs.h"

namespace ropewalk {

Spectrum without_slow_pairs(Spectrum spectrum, DoubleDouble turns, DoubleDouble length) {
  for (DoubleDouble& own : spectrum.turns_per_token) {
    if (own * length < turns) own = 0;
  }
  return spectrum;
}

}  // namespace ropewalk
