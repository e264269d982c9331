// The race: every candidate on a few windows, the better half of each kind on more, and the copy
// test for those that are left. What is recommended of them then runs windows that took no part in
// choosing it, for its figures on the others are flattered by the choice. Source of successive halving: Jamieson, Talwalkar 2016, arXiv
// 1502.07943.
#ifndef ROPEWALK_STUDY_RACE_H_
#define ROPEWALK_STUDY_RACE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/config/portability.h"
#include "ropewalk/engine/model.h"
#include "ropewalk/study/bootstrap.h"
#include "ropewalk/study/cell.h"
#include "ropewalk/study/curve_shape.h"
#include "ropewalk/study/race_plan.h"
#include "ropewalk/study/record.h"
#include "ropewalk/study/scheme_change.h"
#include "ropewalk/study/tallies.h"
#include "ropewalk/study/windows.h"

namespace ropewalk {

struct RaceOptions {
  int64_t target_length = 0;  // N
  TargetEngine engine = TargetEngine::kLlamaCpp;
  ModelFormat format = ModelFormat::kGguf;  // of the model's file
  std::vector<std::string> candidates;  // scheme strings; "declared" is added where it is missing
  std::vector<std::string> proposed = {};  // raced as well, and never left out for want of time
  std::vector<size_t> held_out = {};  // windows that nothing is chosen by, as hold_out() has them
  size_t copy_windows = 4;            // windows of the copy test, at most
  bool halve = true;                  // false: every candidate runs every window and the copy test
  // Seconds that all passes may take, those included that the study has already. By what passes
  // took so far the plan is cut, before every window. The study keeps these times, so that a race
  // that is gone on with decides as it did.
  std::optional<double> budget = {};
  // Tokens that are read once besides, under declared: the budget counts them for what its passes
  // take, so that nothing but kept times decides.
  size_t tokens_besides = 0;
  // Settings that are searched for past the grid once the race is over, at most: study/search_past.h.
  // Of a budget the race then takes two thirds, all of it where it cannot do with less.
  size_t search = 0;
  std::map<std::string, SchemeFacts> described = {};  // facts that are known, by canonical name
  // Told the plan where it is made and where it is cut.
  std::function<void(const RacePlan&)> on_plan = {};
  // Told of each setting that the search tries, before it is run.
  std::function<void(const SchemeFacts&)> on_candidate = {};
};

// What was measured of a candidate on windows that took no part in choosing it.
struct HeldOut {
  Tallies tallies;  // by window; empty where it did not run them
  std::optional<Estimate> beyond;
  std::optional<Estimate> inside_cost;
  std::optional<Estimate> copy_beyond;
};

// What was measured of one candidate, on the windows that choose but for `held_out`.
struct Candidate {
  std::string scheme;  // canonical
  Portability portability;
  SchemeChange change;                  // of what the file declares
  bool truncates = false;               // sees no key, or few, beyond some distance
  std::vector<EngineVerdict> engines;   // what runs it, and how it is told to
  bool recommended = true;              // false: known to be at fault
  std::string found_by;                 // where the search past the grid met it; empty: not there
  size_t windows = 0;                   // how many it ran before it fell out
  bool finalist = false;                // ran all windows and the copy test
  Tallies tallies;                      // by window
  std::optional<Estimate> inside;       // nats per token predicted from positions below L
  std::optional<Estimate> beyond;       // from positions at and past L
  std::optional<Estimate> inside_cost;  // inside, less declared's inside
  std::optional<Estimate> copy_inside;  // nats gained per repeated token, distances below L
  std::optional<Estimate> copy_beyond;  // distances past L
  std::optional<CurveShape> shape;      // of its losses by position, held to declared's
  HeldOut held_out;
  double seconds = 0;        // of all its passes, as they ran
  int64_t tokens = 0;        // that these passes read
  size_t resumed_cells = 0;  // that a study held already
};

// The mean where the target length tells most: beyond L, or inside where nothing lies beyond.
// Infinite where there is no number, so that what fails comes last.
double telling_mean(const Candidate& candidate);

// Told before each cell, and while it runs.
struct RaceProgress {
  size_t done = 0;     // cells
  size_t planned = 0;  // of the race and the search, at most; 0: the plan is not made yet
  size_t resumed = 0;  // of those done, that the study had
  double cell = 0;     // share of the running one
  std::string label;   // "cap,window=128, window 2 of 4"
};

// Runs the race. The order and every number but seconds and resumed_cells depend on model, windows
// and options alone; under a budget on the times of passes, too.
//   cells    a study, or one that other ranks measure, too
//   windows  of target_length tokens or fewer, at least one that is not held out
// Throws Error where a candidate is no scheme, or does not fit the model; and where the budget is
// too small for one window of the fewest that may race, with what that needs.
//   returns  finalists by ascending beyond loss, then the others, those that ran longer first
std::vector<Candidate> run_race(const Model& model, const std::vector<Window>& windows,
                                const RaceOptions& options, CellSource& cells,
                                const std::function<void(const RaceProgress&)>& progress);

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_RACE_H_
