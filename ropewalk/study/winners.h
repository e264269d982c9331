// Who wins: which of the candidates to take in each role, by what they are ranked, and how far the
// others are behind.
#ifndef ROPEWALK_STUDY_WINNERS_H_
#define ROPEWALK_STUDY_WINNERS_H_

#include <cstddef>
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

enum class Role { kBestOverall, kBestPortable, kBestUntouched };

inline constexpr Role kRoles[] = {Role::kBestOverall, Role::kBestPortable, Role::kBestUntouched};

// "best overall", "best portable", "best without touching short text".
std::string to_string(Role role);

struct Winner {
  Role role = Role::kBestOverall;
  size_t index = 0;              // into the candidates
  std::optional<size_t> lowest;  // of rank_value, where a smaller change was preferred to it
  std::optional<size_t> next;    // the lowest of the others that could have this role
  std::optional<size_t> grid;    // the lowest that no search found, where one found the winner
  std::optional<Estimate> lead;  // rank_value of `next` less its own
  // The same over windows that are held out; nothing where not both ran the same ones.
  std::optional<Estimate> held_out_lead;
  std::optional<Estimate> held_out_grid_lead;  // over `grid`
  std::vector<std::string> doubts;             // sentences, of this winner alone
};

// What a candidate is ranked by, lower is better: its loss beyond L, less kCopyShare of what it
// gains on passages that repeat from beyond L. Infinite where it failed.
double rank_value(const Candidate& candidate);

// rank_value of a less b's over the windows that both ran, with the 95 % interval of resampling
// windows of both together; nothing where they ran other windows, or none.
std::optional<Estimate> rank_difference(const Tallies& a, const Tallies& b);

// Whether 0 lies within the interval; without one, whether the mean is 0.
bool holds_zero(const Estimate& estimate);

// "3.100 (3.050 to 3.150)"
std::string with_interval(const Estimate& estimate);

// How far another is from the one that leads by so much: "0.040 (0.030 to 0.050) nats per token
// behind", or "ahead", which one may be that changes more than the winner.
std::string gap(const Estimate& lead);

// Chooses for each role among finalists that see the whole text, by the windows that choose; those
// that are held out give leads and doubts alone. What truncates is never taken: its low loss says
// that the text does not look far back, not that the model can.
//   best portable    the engine asked for runs it
//   best untouched   its loss inside L is declared's: the interval of inside_cost, or of one window the
//                    cost itself, lies within kUntouched of 0
// The smallest sufficient change is taken: of those whose rank_difference to the lowest has an
// interval that holds 0 and a mean of at most kWorthSaying, the one of the least SchemeChange.
// Speed plays no part.
//   candidates  as run_race() returns them
//   returns     at most one of each role, in the order of kRoles
std::vector<Winner> choose_winners(const std::vector<Candidate>& candidates);

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_WINNERS_H_
