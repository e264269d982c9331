#include "ropewalk/schemes/by_parts.h"

namespace ropewalk {

Spectrum by_parts(Spectrum spectrum, DoubleDouble factor, DoubleDouble length, DoubleDouble alpha,
                  DoubleDouble beta) {
  for (DoubleDouble& turns : spectrum.turns_per_token) {
    const DoubleDouble made = length * turns;
    if (made >= beta) continue;
    const DoubleDouble keep = made <= alpha ? DoubleDouble(0) : (made - alpha) / (beta - alpha);
    turns = (1 - keep) * turns / factor + keep * turns;
  }
  return spectrum;
}

}  // namespace ropewalk
