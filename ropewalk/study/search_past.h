// The search past the grid: with what a race has left of its budget, settings that no grid holds.
#ifndef ROPEWALK_STUDY_SEARCH_PAST_H_
#define ROPEWALK_STUDY_SEARCH_PAST_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "ropewalk/study/race_plan.h"
#include "ropewalk/study/track.h"

namespace ropewalk {

// Passes that the search will run at most from here on; no more than half of what size_t holds.
//   tried    settings so far
//   seconds  left of the budget; nothing where there is none
size_t search_passes(const RacePlan& plan, size_t most, size_t tried, const ByKind<double>& pass,
                     std::optional<double> seconds);

// Losses of a window from which on blocks of them are enough to tell one setting from another by.
inline constexpr size_t kEnoughLosses = 256;

// Whether `losses` are worse than `best`'s by more than twice the standard error of their
// difference over blocks of 32 neighbours, which are not independent of each other. Both of one
// window. Nothing from fewer than kEnoughLosses, unless one of them is not finite, which is worse
// in any case.
//   first  the loss from which on it is told, L; all of them where none lies beyond
std::optional<bool> is_worse(std::span<const double> losses, std::span<const double> best,
                             int64_t first);

// Three searches by turns, each over one kind: pair factors, around the best portable finalist,
// around the best other one. A setting runs the plan's first window and falls out where it is worse
// there than the best of its kind; else, or where that cannot be told, it runs the other windows
// and the copy test, and is a finalist like any other. What fell out of the race stays out. Ends
// when the searches have nothing more to ask, after options().search settings, or when another
// whole one might not fit the budget.
//   plan  as the race ended with it
void search_past_grid(Track& track, const RacePlan& plan);

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_SEARCH_PAST_H_
