// What the search past the grid found, beside what the grid had.
#ifndef ROPEWALK_CLI_SEARCH_OUTCOME_H_
#define ROPEWALK_CLI_SEARCH_OUTCOME_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "ropewalk/study/race.h"

namespace ropewalk {

struct SearchOutcome {
  size_t tried = 0;
  size_t fell_out = 0;  // after one window
  // The lowest finalists of a kind, by rank_value(); null where there is none.
  struct Pair {
    bool portable = false;
    const Candidate* found = nullptr;
    const Candidate* grid = nullptr;
  };
  std::vector<Pair> lowest;  // portable ones, others

  bool has_finds() const {
    return std::ranges::any_of(lowest, [](const Pair& pair) { return pair.found != nullptr; });
  }
};

// Points into `candidates`.
SearchOutcome search_outcome(const std::vector<Candidate>& candidates);

// Empty where nothing was searched for.
std::vector<std::string> search_sentences(const std::vector<Candidate>& candidates,
                                          const std::string& engine);
// In lines of their own.
std::string search_text(const std::vector<Candidate>& candidates, const std::string& engine);

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_SEARCH_OUTCOME_H_
