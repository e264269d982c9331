// Rotations: the tables of one plan, ready for attention. No scheme is known here.
#ifndef ROPEWALK_KERNELS_ROTATIONS_H_
#define ROPEWALK_KERNELS_ROTATIONS_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "ropewalk/kernels/rotation_table.h"
#include "ropewalk/math/rotary.h"
#include "ropewalk/math/rotation_plan.h"

namespace ropewalk {

// Rows whose positions rise evenly, singly or in groups: the entries of token t are the anchor of t / kSteadyRows times
// the step of t % kSteadyRows, as complex numbers, right to 3 float ulps of the amplitude. A 64th of
// the rows' own size, so they stay in the caches where those do not. Null where there are none.
inline constexpr int64_t kSteadyRows = 64;
inline constexpr int64_t kStepsAgain = 16;  // the first steps stand after the last ones once more
struct SteadyRows {
  const float* anchor_cos = nullptr;  // the first one: that of the table's first token
  const float* anchor_sin = nullptr;
  const float* step_cos = nullptr;  // (kSteadyRows + kStepsAgain)
  const float* step_sin = nullptr;
};

// A pair that a branch hears, with its rows of cos and sin: the query's by i - first_row, the key's
// by j.
struct HeardPair {
  int64_t pair = 0;
  const float* query_cos = nullptr;
  const float* query_sin = nullptr;
  const float* key_cos = nullptr;
  const float* key_sin = nullptr;
  SteadyRows query_steady;
  SteadyRows key_steady;
};

// A decay lies in the tables: of a pair of tokens, the query's entries carry exp(decay * (p - c)),
// the key's exp(-decay * (p - c)), p the rotation position and c a centre that all rows between two
// multiples of decay_block() share, so that no entry depends on where a pass begins. Entries of a
// decay are right to 2 float ulps. What |p - c| leaves below exp(-kMostLogGain) of a key is under
// exp(-kMostLogGain) of a score as well.
inline constexpr double kMostLogGain = 40;  // e^40 of a query times e^40 of a key is a float still

// Everything about positions that attention needs for rows [first_row, first_row + n_rows) against
// the keys up to them.
class Rotations {
 public:
  //   rotary           with a spectrum rule that gives all these rows one length, which a distance
  //                    map that depends on it sees too; or Length::kToken, and no such map
  //   sequence_length  tokens of the whole sequence, >= first_row + n_rows
  // Throws Error where a decay takes what some row sees out of e^-kMostLogGain ... e^kMostLogGain:
  // rows of one of rotation_spans() do not, unless the map moves them apart; and where a decay
  // meets Length::kToken.
  Rotations(const Rotary& rotary, int64_t sequence_length, int64_t first_row, int64_t n_rows,
            AngleMode mode);

  Rotations(const Rotations&) = delete;
  Rotations& operator=(const Rotations&) = delete;

  int64_t first_row() const { return first_row_; }
  int64_t n_rows() const { return n_rows_; }
  const PairLayout& layout() const { return layout_; }
  const RotationPlan& plan() const { return plan_; }

  // The heard pairs of branch `b` of the plan.
  const std::vector<HeardPair>& heard(size_t b) const { return heard_[b]; }

  // The table of pairs of tokens that go by distance: distance d of pair c lies in row
  // kDistanceMargin + (n_by_distance - 1 - d), so that keys in rising order read it in rising
  // order; amplitude squared is in it.
  const RotationTable& by_distance() const { return by_distance_; }
  static constexpr int64_t kDistanceMargin = 64;

  // Whether every token's keys have one spectrum: not under Length::kToken.
  bool keys_share_spectrum() const { return keys_share_spectrum_; }

  // What all tables take.
  int64_t table_bytes() const;

 private:
  class Builder;

  int64_t first_row_;
  int64_t n_rows_;
  bool keys_share_spectrum_;
  PairLayout layout_;
  RotationPlan plan_;
  std::deque<RotationTable> tables_;  // addresses stay
  std::vector<std::vector<HeardPair>> heard_;
  RotationTable by_distance_;
};

// Fills by_distance() of a map that is a curve, for distances below plan_rotation()'s n_by_distance.
//   rotary    with a map free of the length
//   spectrum  of every row
// Throws what the curve throws; it is asked from several threads.
RotationTable table_by_distance(const Rotary& rotary, const Spectrum& spectrum,
                                int64_t n_by_distance);

// Rows that share a centre: the largest power of two over which the steepest pair decays by
// exp(2 kMostLogGain) at most; kUnbounded without a decay.
int64_t decay_block(const Spectrum& spectrum);

// The row ranges of [first_row, last_row) that one Rotations can serve: split where the spectrum's
// length changes, and at multiples of decay_block().
//   returns the starts, rising, first_row first
std::vector<int64_t> rotation_spans(const SpectrumRule& rule, int64_t first_row, int64_t last_row);

}  // namespace ropewalk

#endif  // ROPEWALK_KERNELS_ROTATIONS_H_
