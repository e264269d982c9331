// The bias curve: the score that a head gives a distance whatever stands there, read from its mean
// query and key. It tells where direct extrapolation fails, which pairs need a cap, and where.
//
//   B(d) = s (sum over pairs c of a^2 |mean q_c| |mean k_c| cos(theta_c d + phase_c) + u)
//
// with means before rotation, s the score factor, the logit multiplier and the temperature, a the
// amplitude, phase_c the angle of mean q_c less that of mean k_c, and u the product of the
// coordinates that pass through. A pair that has not finished a turn in training is a learned ramp
// that makes far keys count less; past its trained arc it comes back up, and all attention goes to
// the farthest keys. Source: measured here; the means of queries and keys are those of Jin et al.
// 2025, arXiv 2502.01563.
#ifndef ROPEWALK_STUDY_BIAS_CURVE_H_
#define ROPEWALK_STUDY_BIAS_CURVE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/engine/positions.h"
#include "ropewalk/study/head_means.h"

namespace ropewalk {

// One pair of one head.
struct PairBias {
  double weight = 0;   // s a^2 |mean q| |mean k|: the most that it adds to B
  double phase = 0;    // radians, of the query's mean less the key's
  double q_share = 0;  // |mean|^2 / E|x|^2, 0 to 1
  double k_share = 0;
};

struct HeadBias {
  int64_t layer = 0;
  int64_t head = 0;
  std::vector<PairBias> pairs;      // (n_pairs of the layer)
  double constant = 0;              // s u
  double highest = 0;               // the largest B(d), 0 <= d <= L
  double lowest = 0;                // the smallest
  int64_t cap = 0;                  // where that is
  std::optional<int64_t> collapse;  // the first d > L, d <= target, with B(d) > highest
  std::vector<double> curve;        // B at BiasReport::distances
};

// What a layer's positions mean for its heads.
struct LayerBias {
  enum class Kind {
    kOpen,     // meets distances past L: its heads are in the report
    kWindow,   // sees nothing past L, by a window or in chunks
    kUnturned  // has no pair that turns (NoPE)
  };
  Kind kind = Kind::kOpen;
  int64_t farthest = 0;       // the largest d that it sees in a sequence of target + 1 tokens
  std::vector<double> turns;  // (n_pairs), that each pair makes over L
  std::vector<int64_t>
      unfinished;  // pairs that turn, but by less than once over L: they need a cap
};

struct BiasReport {
  int64_t trained_length = 0;  // L
  int64_t target_length = 0;
  std::vector<LayerBias> layers;  // (n_layers)
  std::vector<HeadBias> heads;    // of open layers, in order

  std::vector<int64_t>
      distances;  // rising from 0, each some 4 % past the last; L and target are there
  std::vector<double>
      median;  // of B over all heads, at the distances; nothing where no head is open

  size_t collapsing = 0;                     // heads that have a collapse distance
  std::optional<int64_t> earliest_collapse;  // of all heads
  std::optional<int64_t> median_collapse;    // over all heads, those without one counted as never
  std::optional<int64_t> cap;                // the median over heads
};

// B(d) for 0 <= d <= target, from means gathered inside the trained length.
//   positions       how the model is to be run; a length-dependent spectrum and map are those of a
//                   sequence of target_length tokens, in whose last row d is looked at
//   trained_length  L >= 1
//   target_length   > L
BiasReport bias_report(const std::vector<LayerMeans>& means, const Positions& positions,
                       int64_t trained_length, int64_t target_length);

// B(d) of every head of a layer; (n_heads, n_distances).
//   distances  at most target_length, and seen
std::vector<std::vector<double>> bias_of_layer(const LayerMeans& means, const Rotary& rotary,
                                               int64_t target_length,
                                               std::span<const int64_t> distances);

// Schemes that the curve asks for: a cap at its minimum, to a 128th of L so that machines that
// round otherwise ask for the same, of the unfinished pairs alone, and of all. Canonical; empty
// where no pair needs a cap.
std::vector<std::string> proposed_schemes(const BiasReport& report);

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_BIAS_CURVE_H_
