// The recommendation: which candidates to take, on what evidence, and what is doubtful about them.
#ifndef ROPEWALK_STUDY_RECOMMEND_H_
#define ROPEWALK_STUDY_RECOMMEND_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/study/race.h"

namespace ropewalk {

// Text on which one token in so many repeats a passage from beyond L: the weight of the copy test.
inline constexpr double kCopyShare = 0.05;

// Nats per token: smaller differences are not called differences.
inline constexpr double kWorthSaying = 0.02;

// Nats per token that the 95 % interval of inside_cost may reach in a setting that is said to leave
// short text as it is.
inline constexpr double kUntouched = 0.005;

// Fewer long documents than these tell little of any other text.
inline constexpr size_t kFewDocuments = 4;

struct StudyScope {
  int64_t trained_length = 0;  // L
  int64_t target_length = 0;   // N
  size_t long_documents = 0;   // with a window that reaches beyond L
  std::string left_out = {};   // for want of time, as StudyFacts has it
};

enum class Role { kBestOverall, kBestPortable, kBestUntouched };

inline constexpr Role kRoles[] = {Role::kBestOverall, Role::kBestPortable, Role::kBestUntouched};

// "best overall", "best portable", "best without touching short text".
std::string to_string(Role role);

struct Winner {
  Role role = Role::kBestOverall;
  size_t index = 0;                 // into the candidates
  std::optional<size_t> lowest;     // of rank_value, where a smaller change was preferred to it
  std::optional<size_t> next;       // the lowest of the others that could have this role
  std::optional<Estimate> lead;     // rank_value of that one less its own
  std::vector<std::string> doubts;  // sentences, of this winner alone
};

struct Recommendation {
  std::vector<Winner> winners;   // at most one of each role, in the order of kRoles
  std::vector<std::string> why;  // sentences, the most important first; doubts start with "Doubt: "

  const Winner* find(Role role) const;
  std::optional<size_t> index_of(Role role) const;
};

// What a candidate is ranked by, lower is better: its loss beyond L, less kCopyShare of what it
// gains on passages that repeat from beyond L. Infinite where it failed.
double rank_value(const Candidate& candidate);

// rank_value of a less b's over the windows that both ran, with the 95 % interval of resampling
// windows of both together; nothing where they ran other windows.
std::optional<Estimate> rank_difference(const Candidate& a, const Candidate& b);

// Chooses for each role among finalists that see the whole text. What truncates is never taken,
// only compared: its low loss says that the text does not look far back, not that the model can.
//   best portable    the engine asked for runs it
//   best untouched   its loss inside L is declared's: the interval of inside_cost, or of one window the
//                    cost itself, lies within kUntouched of 0
// The smallest sufficient change is taken: of those whose rank_difference to the lowest has an
// interval that holds 0 and a mean of at most kWorthSaying, the one of the least SchemeChange.
// Speed plays no part.
//   candidates  as run_race() returns them
Recommendation recommend(const std::vector<Candidate>& candidates, const StudyScope& scope);

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_RECOMMEND_H_
