// Where to search past the grid: families of settings that differ in a few numbers, each a point of
// its knobs. Which numbers of which scheme are turned, how far and between which bounds, stands in
// one table, a row for each scheme.
#ifndef ROPEWALK_STUDY_SEARCH_SPACE_H_
#define ROPEWALK_STUDY_SEARCH_SPACE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ropewalk/math/rotary.h"
#include "ropewalk/study/search.h"

namespace ropewalk {

struct SearchSpace {
  std::vector<Knob> knobs;
  std::vector<double> start;  // (n_knobs)
  // Canonical, of a point; throws Error where the scheme refuses it.
  std::function<std::string(const std::vector<double>&)> scheme;
  // "pair factors, critical pair 7, ..."; what reports say of a setting that was found there.
  std::function<std::string(const std::vector<double>&)> describe;
};

// A divisor for each pair, from few numbers:
//   at^((pair / critical)^bend)                        pair <= critical
//   at growth^((pair - critical) / (last - critical))  beyond
// A bend of 1 is NTK's way of slowing pairs before the critical one, a large one leaves them alone.
// Source: Shang et al. 2025, LongRoPE2, arXiv 2502.20082, with a ramp for its free factors.
struct PairRamp {
  int64_t critical = 1;  // 1 <= critical < n_pairs
  double at = 1;         // at least 1, as growth is: the divisors never fall
  double growth = 1;
  double bend = 1;  // above 0
};

// (n_pairs), to four significant digits.
std::vector<double> pair_divisors(const PairRamp& ramp, int64_t n_pairs);

// Divisors and amplitude searched, each list in both places of `longrope`, which every engine that
// loads factors takes. The critical pair starts at the first that does not finish its turn within
// L, and moves in LongRoPE2's range. Starts: what is nearest to `best`; the stretch there, with
// NTK's way before it, with pairs before it left alone, and that with YaRN's amplitude. Empty where
// there are fewer than two pairs.
//   best  a setting of the same model that does well; may be null
std::vector<SearchSpace> pair_factor_spaces(const Rotary& declared, const Rotary* best,
                                            int64_t target_length);

// Around one setting, over the numbers that the table has of its parts. A distance map without a
// multiplier has a temperature added, and the first of its pairs where it moves only some. First
// the setting itself; then, where its map is a cap, a leaky one or a log tail, the others of these
// over the same window, which bring N to a quarter of the window past it. Empty where the table has
// nothing of it.
std::vector<SearchSpace> spaces_around(const std::string& scheme, int64_t trained_length,
                                       int64_t target_length);

// The table's rows, for tests.
struct KnobRow {
  std::string scheme;
  std::string parameter;
};
std::vector<KnobRow> knob_rows();

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_SEARCH_SPACE_H_
