// The recommendation: which candidates to take, on what evidence, and what is doubtful about them.
#ifndef ROPEWALK_STUDY_RECOMMEND_H_
#define ROPEWALK_STUDY_RECOMMEND_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/study/race.h"
#include "ropewalk/study/winners.h"

namespace ropewalk {

// Fewer long documents than these tell little of any other text.
inline constexpr size_t kFewDocuments = 4;

struct StudyScope {
  int64_t trained_length = 0;  // L
  int64_t target_length = 0;   // N
  size_t long_documents = 0;   // with a window that reaches beyond L
  size_t windows = 0;          // that chose
  size_t held_out = 0;         // windows that took no part in choosing
  std::string left_out = {};   // for want of time, as StudyFacts has it
};

struct Recommendation {
  std::vector<Winner> winners;   // at most one of each role, in the order of kRoles
  std::vector<std::string> why;  // sentences, the most important first; doubts start with "Doubt: "

  const Winner* find(Role role) const;
  std::optional<size_t> index_of(Role role) const;
};

// The winners, and in words what they rest on: their figures, also on windows that are held out, and
// what is doubtful.
//   candidates  as run_race() returns them
Recommendation recommend(const std::vector<Candidate>& candidates, const StudyScope& scope);

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_RECOMMEND_H_
