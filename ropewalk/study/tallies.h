// What was measured of one scheme, by window.
#ifndef ROPEWALK_STUDY_TALLIES_H_
#define ROPEWALK_STUDY_TALLIES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "ropewalk/study/bootstrap.h"
#include "ropewalk/study/copy_gain.h"

namespace ropewalk {

struct Tallies {
  std::vector<Tally> inside;  // of predictions from positions below L
  std::vector<Tally> beyond;
  std::vector<std::vector<Tally>> runs;  // of both, by runs of positions as curve_shape.h has them
  std::vector<Tally> copy_inside;
  std::vector<Tally> copy_beyond;

  //   losses  losses[t] is of the token t + 1, predicted from position t
  void add_losses(std::span<const double> losses, int64_t trained_length);
  void add_copy(const CopyGain& gain);

  // By window, where the target length tells most: beyond L, or inside where nothing lies beyond.
  const std::vector<Tally>& telling() const;

  // The mean of telling(); infinite where it has no number.
  double rank() const;
};

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_TALLIES_H_
