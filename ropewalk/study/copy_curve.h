// Copy gain by distance, and by absolute position at one distance: nats per token that a model
// gains where a passage repeats, against the same passage where it does not.
#ifndef ROPEWALK_STUDY_COPY_CURVE_H_
#define ROPEWALK_STUDY_COPY_CURVE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "ropewalk/study/bootstrap.h"
#include "ropewalk/study/copy_gain.h"
#include "ropewalk/study/scorer.h"
#include "ropewalk/study/windows.h"

namespace ropewalk {

enum class CopyAxis : uint8_t {
  kDistance,  // second occurrences at the window's end, first ones at growing distances
  kPosition,  // a quarter of the trained length apart, all over the window
};

// A test of each window that has room for one: L/8, L/4, L/2, 3L/4, 5L/4, 3L/2, 2L, 3L, 4L, 6L and
// so on, up to nearly the window; or up to twelve positions.
//   trained_length  L; 0, where none is known: an eighth of the window
std::vector<CopyTest> make_copy_tests(std::span<const Window> windows, int64_t trained_length,
                                      CopyAxis axis);

struct CopyPoint {
  int64_t at = 0;  // the distance, or the position of the second occurrence, in tokens
  Estimate gain;   // nats per token; windows are resampled
};

// Two passes a test. Points rise.
std::vector<CopyPoint> measure_copy_curve(const Scorer& scorer, std::span<const CopyTest> tests,
                                          CopyAxis axis, const Progress& progress = {});

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_COPY_CURVE_H_
