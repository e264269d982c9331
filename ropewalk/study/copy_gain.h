// The copy test: how much a model gains when a passage repeats, inside its trained length and
// beyond.
//
// Loss alone favours schemes that cut far text off wherever a text does not look far back; this
// does not.
#ifndef ROPEWALK_STUDY_COPY_GAIN_H_
#define ROPEWALK_STUDY_COPY_GAIN_H_

#include <cstdint>
#include <span>
#include <vector>

#include "ropewalk/study/bootstrap.h"
#include "ropewalk/study/windows.h"

namespace ropewalk {

// Tokens of a passage; in fewer there is nothing to copy.
inline constexpr int64_t kLongestPassage = 48;
inline constexpr int64_t kShortestPassage = 4;

// A passage at the end of a window that stood `distance` tokens before as well.
struct Repeat {
  int64_t first = 0;  // of the second occurrence
  int64_t length = 0;
  int64_t distance = 0;
};

// Two windows that differ in nothing but whether the passages at their end have been read before.
struct CopyTest {
  std::vector<int32_t> repeated;  // the passages stand at first - distance, too
  std::vector<int32_t> control;   // other text of the window stands there
  std::vector<Repeat> repeats;
};

// Makes the test from a window's own text: passages at distances L/4, L/2 and 3L/4, and at five
// beyond L.
//   window          its ids, BOS included
//   trained_length  L; a window that is too short for a passage beyond it gives repeats inside
//                   only, or none
CopyTest make_copy_test(const Window& window, int64_t trained_length);

// The same with passages of one length at distances of one's own.
//   distances  rising; those for which the window has no room are left out
//   reserved   tokens at the window's end, for second occurrences; those of all distances fit
CopyTest make_copy_test(const Window& window, std::span<const int64_t> distances, int64_t passage,
                        int64_t reserved);

// The same passage length and distance everywhere, second occurrences spread over the window: what
// grows is the absolute position alone.
//   most  passages; fewer where they would meet
CopyTest make_position_test(const Window& window, int64_t distance, int64_t passage, int64_t most);

// Nats gained on each repeated passage, its first token left out: (test.repeats.size()).
//   repeated, control  losses of the two windows: losses[t] is of the token t + 1
std::vector<Tally> copy_gains(const CopyTest& test, std::span<const double> repeated,
                              std::span<const double> control);

// Nats gained on the repeated passages, each one's first token left out, in the bands inside and
// beyond L.
struct CopyGain {
  Tally inside;
  Tally beyond;
};
CopyGain copy_gain(const CopyTest& test, int64_t trained_length, std::span<const double> repeated,
                   std::span<const double> control);

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_COPY_GAIN_H_
