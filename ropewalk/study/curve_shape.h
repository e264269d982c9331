// What a curve of loss by position says past the trained length L: that a setting acts and the
// model fails all the same, or that nothing acts, as where an engine drops what it was told.
#ifndef ROPEWALK_STUDY_CURVE_SHAPE_H_
#define ROPEWALK_STUDY_CURVE_SHAPE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "ropewalk/study/bootstrap.h"

namespace ropewalk {

// Curves are judged by runs of an eighth of L; the first past L is that of this number.
inline constexpr int64_t kRunsToL = 8;

// The run that holds a position; all positions are in the first where L is 0.
size_t run_of(int64_t position, int64_t trained_length);

enum class PastLength {
  kHolds,       // no rise
  kAsDeclared,  // declared's losses in every run: not applied, or without effect
  kCliff,       // half of the rise within L / 4 past L, as of a model that nothing was done to
  kRises,       // later or more slowly: it acts, and the model fails
};

// "holds", "as declared", "cliff", "rises"
std::string to_string(PastLength past);

struct CurveShape {
  PastLength past = PastLength::kHolds;
  int64_t from = 0;  // position from which on the rise can be told
  double rise = 0;   // nats per token: the last quarter past L over the second half of L
  std::optional<double> over_declared;  // nats per token, past L; none of declared itself
  bool as_declared = false;             // kCliff: declared has the same

  // Scores no better than declared past L, or has its losses or its cliff.
  bool is_doubtful() const;
};

// Nothing where no loss lies past L or in the second half of it, or where one is no number.
//   own       by run, over the same tokens as declared's
//   declared  as many runs; empty: the curve is declared's own, which is never kAsDeclared
std::optional<CurveShape> curve_shape(std::span<const Tally> own, std::span<const Tally> declared,
                                      int64_t trained_length);

// "applied, and the model fails: +3.10 nats per token, rising from about 640 tokens on"; empty
// where the shape is not doubtful.
std::string remark(const CurveShape& shape);

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_CURVE_SHAPE_H_
