// How far two spectra are apart: what `compare` prints, and what an engine's reading of a file costs.
#ifndef ROPEWALK_MATH_SPECTRUM_GAP_H_
#define ROPEWALK_MATH_SPECTRUM_GAP_H_

#include <cstdint>

#include "ropewalk/math/spectrum.h"

namespace ropewalk {

// Rates closer than this are the same number, once exact and once as a float32 key or divisor:
// 2^-23, twice the rounding of a float32.
inline constexpr double kFloat32Rounding = 1.1920928955078125e-7;

struct SpectrumGap {
  // The first pair whose rates differ by more than the tolerance, relative to the slower one; -1
  // where none does. Pairs that only one spectrum has differ.
  int64_t first_pair = -1;

  // Of all pairs that both have: the faster rate over the slower one, at least 1, and its pair.
  // Infinite where one of the two stands still, no number where one has no rate.
  double largest_ratio = 1;
  int64_t worst_pair = 0;

  // The first pair whose decays differ by more than the tolerance, relative to the steeper one; -1
  // where none does.
  int64_t first_decay = -1;

  bool same() const { return first_pair < 0 && first_decay < 0; }
};

//   tolerance  >= 0, relative
SpectrumGap spectrum_gap(const Spectrum& a, const Spectrum& b, double tolerance = kFloat32Rounding);

// The smallest position p >= 1 at which two rotations, one by `a` turns per token and one by `b`,
// differ by more than `bound`: |e^(2 pi i a p) - e^(2 pi i b p)| = 2 |sin(pi (a - b) p)| > bound.
// 0 where they never do up to position 2^53.
//   bound  in (0, 2)
int64_t first_parting(DoubleDouble a, DoubleDouble b, double bound);

// The mean over all pairs of cos(2 pi (a - b) distance): 1 where both spectra turn alike, about 0
// where they have nothing to do with each other. Pairs that only one spectrum has stand still in
// the other.
//   distance  |distance| <= 2^53
double mean_pair_cosine(const Spectrum& a, const Spectrum& b, int64_t distance);

}  // namespace ropewalk

#endif  // ROPEWALK_MATH_SPECTRUM_GAP_H_
