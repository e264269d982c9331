// How much of a race is run where time is short: fewer windows first, then harder halving, then
// fewer settings of each scheme. Windows that are held out are run last, by those that are told.
#ifndef ROPEWALK_STUDY_RACE_PLAN_H_
#define ROPEWALK_STUDY_RACE_PLAN_H_

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace ropewalk {

struct RacePlan {
  std::vector<size_t> windows;  // rising, in the order in which they are run
  size_t copy_windows = 0;      // the first so many of them, at most all
  size_t divisor = 2;     // after each rung one in so many of each kind stays; 0: every one does
  size_t per_scheme = 0;  // settings of one scheme that enter; 0: all
  std::vector<size_t> held_out = {};  // rising, none of `windows`: nothing is chosen by them

  // Windows of the copy test among those held out: the first so many of them.
  size_t held_out_copies() const { return std::min(copy_windows, held_out.size()); }

  bool operator==(const RacePlan&) const = default;
};

// How many of each kind are racing, or what one pass of each kind takes.
template <typename Number>
struct ByKind {
  Number always{};  // "declared" and what truncates: these run everything
  Number portable{};
  Number other{};
};

struct RaceCost {
  size_t passes = 0;
  double seconds = 0;
};

// Of all windows.
//   held_out  rising, fewer than all
RacePlan whole_plan(size_t windows, size_t copy_windows, bool halve,
                    const std::vector<size_t>& held_out = {});

// Candidates that race and are told, at most: of each role the winner, the next and the grid's best.
inline constexpr size_t kMostTold = 9;

// Of the windows that are held out: all of kAlways run them and those that are told, or, where
// nothing is halved, all finalists.
RaceCost held_out_cost(const RacePlan& plan, ByKind<size_t> finalists,
                       const ByKind<double>& seconds);

// Of `racing` of one kind, how many a rung leaves; never fewer than 3 where one in two stays.
size_t survivors(size_t racing, size_t divisor);

// Indexes of the `kept` of `count` settings that lie in the middle of their scheme's range, rising.
std::vector<size_t> middle_of(size_t count, size_t kept);

// What is yet to be run, held-out windows included, at most: halving goes by numbers, not by results.
//   scored   windows that all of `racing` have run
//   seconds  of a pass over one window
RaceCost remaining_cost(const RacePlan& plan, size_t scored, ByKind<size_t> racing,
                        const ByKind<double>& seconds);

// The first of these that costs at most `budget` seconds from here on:
//   1. the plan; with fewer windows, down to 4, and copy windows and those that are held out fewer
//      in proportion;
//   2. with 4 windows and a divisor of 3, 4, 6, 8, 16, 32, where it halves;
//   3. with fewer windows than 4, one copy window and one held out; then with none held out; then
//      without the copy test, which a race still runs before it searches, if that leaves time for it.
// Windows that were scored stay, and at least one. Before any is, fewer are spread evenly over the
// plan's; afterwards they are its first. Nothing where even the last costs more.
std::optional<RacePlan> fitted_plan(const RacePlan& plan, size_t scored, ByKind<size_t> racing,
                                    const ByKind<double>& seconds, double budget);

// How many settings of one scheme enter a race of too many candidates, by the time there is.
inline constexpr size_t kThinnings[] = {0, 2, 1};  // 0: all

// Whether the plan is long enough to tell its candidates apart: 4 windows, or all, and a divisor of
// at most 8. Where it is not, fewer candidates say more.
bool tells_enough(const RacePlan& plan, const RacePlan& whole);

// The last of those: what a race is cut to that must end.
RacePlan shortest_plan(const RacePlan& plan, size_t scored);

// "3 of 6 windows, 1 of 4 in the copy test, 1 of 2 held out, one in 8 kept from rung to rung"; empty
// where nothing was left out of `whole`.
std::string left_out(const RacePlan& plan, const RacePlan& whole);

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_RACE_PLAN_H_
