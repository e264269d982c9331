// The recommendation: which candidate to take, why, and what is doubtful about it.
#ifndef ROPEWALK_STUDY_RECOMMEND_H_
#define ROPEWALK_STUDY_RECOMMEND_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/study/race.h"

namespace ropewalk {

struct Recommendation {
  std::optional<size_t> best_portable;  // index into the candidates
  std::optional<size_t> best_overall;
  std::vector<std::string> why;  // sentences, the most important first
};

// Text on which one token in so many repeats a passage from beyond L: the weight of the copy test.
inline constexpr double kCopyShare = 0.05;

// What a candidate is ranked by, lower is better: its loss beyond L, less kCopyShare of what it
// gains on passages that repeat from beyond L.
double rank_value(const Candidate& candidate);

// Takes the lowest rank_value among finalists that see the whole text. What truncates is never
// taken, only compared: its low loss says that the text does not look far back, not that the model
// can. Cost plays no part.
//   candidates  as run_race() returns them
Recommendation recommend(const std::vector<Candidate>& candidates, int64_t trained_length,
                         int64_t target_length);

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_RECOMMEND_H_
