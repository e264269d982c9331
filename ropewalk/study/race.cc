#include "ropewalk/study/race.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include "ropewalk/base/error.h"
#include "ropewalk/schemes/scheme_string.h"
#include "ropewalk/study/results.h"
#include "ropewalk/study/search_past.h"
#include "ropewalk/study/track.h"
#include "ropewalk/study/winners.h"

namespace ropewalk {
namespace {

constexpr double kRaceShare = 2.0 / 3;  // of the budget, where a search follows

// The next hundredth, in which budgets are told: never the number itself, which a sum in another
// order may miss.
double above(double seconds) { return (std::floor(100 * seconds) + 1) / 100; }

class Race {
 public:
  Race(const Model& model, const std::vector<Window>& windows, const RaceOptions& options,
       CellSource& cells, const std::function<void(const RaceProgress&)>& progress)
      : options_(options),
        track_(model, windows, options, cells, progress),
        whole_(whole_plan(windows.size(), options.copy_windows, options.halve, options.held_out)),
        plan_(whole_) {
    enter("declared", false);
    for (const std::string& scheme : options.proposed) enter(scheme, false);
    for (const std::string& scheme : options.candidates) enter(scheme, true);
  }

  std::vector<Candidate> run() {
    std::vector<Runner*> alive;
    for (Runner& runner : track_.runners()) alive.push_back(&runner);
    options_.budget ? first_plan(alive) : tell_plan(0, alive);
    size_t scored = 0;
    for (size_t rung = 1; scored < plan_.windows.size(); rung *= 2) {
      while (scored < std::min(rung, plan_.windows.size())) {
        track_.share(alive, certain_windows(scored, rung));
        for (Runner* runner : alive) track_.score(*runner, plan_.windows[scored]);
        ++scored;
        if (scored == rung && scored < plan_.windows.size()) alive = better_halves(alive);
        refit(scored, alive);
      }
    }
    copy_tests(better_halves(alive));
    if (options_.search > 0 && plan_.copy_windows >= std::min<size_t>(whole_.copy_windows, 1))
      search_past_grid(track_, plan_);
    std::vector<Candidate> found = candidates();
    if (plan_.held_out.empty()) return found;
    run_held_out(told_of(found));
    return candidates();
  }

 private:
  void enter(const std::string& text, bool may_be_left_out) {
    if (track_.find(parse_scheme(text).text()) == nullptr)
      track_.add(track_.make(text)).may_be_left_out = may_be_left_out;
  }

  // That all of a rung will run from here on. A budget may cut the plan after any window.
  std::span<const size_t> certain_windows(size_t scored, size_t rung) const {
    const size_t last = options_.budget ? scored + 1 : std::min(rung, plan_.windows.size());
    return std::span(plan_.windows).subspan(scored, last - scored);
  }

  static ByKind<size_t> count(const std::vector<Runner*>& alive) {
    const auto of = [&](Kind kind) {
      return static_cast<size_t>(std::ranges::count(alive, kind, &Runner::kind));
    };
    return {
        .always = of(Kind::kAlways), .portable = of(Kind::kPortable), .other = of(Kind::kOther)};
  }

  // From one pass of each kind of work, which the race needs in any case.
  void first_plan(std::vector<Runner*>& alive) {
    track_.time_each_work({alive.front()}, whole_.windows.front());  // declared
    track_.spend_besides();
    refuse_hopeless_budget(alive);
    track_.time_each_work(alive, whole_.windows.front());
    std::vector<Runner*> racing;
    race_budget_ = (options_.search > 0 ? kRaceShare : 1) * *options_.budget;
    const std::optional<RacePlan> plan =
        plan_in_time([&](double budget) { return plan_within(budget, alive, racing); });
    if (!plan) refuse_budget(racing, track_.pass_seconds(racing));
    plan_ = *plan;
    alive = racing;
    tell_plan(0, alive);
    track_.forget_times();  // these passes are counted where they have their turn
  }

  // Loss alone recommends nothing: where the race's part of the budget has no time for a copy test, it
  // has the search's, too.
  //   plan_of  a plan that keeps within so many seconds, or nothing
  template <typename PlanOf>
  std::optional<RacePlan> plan_in_time(const PlanOf& plan_of) {
    const auto recommends = [&](const std::optional<RacePlan>& plan) {
      return plan && (plan->copy_windows > 0 || whole_.copy_windows == 0);
    };
    const std::optional<RacePlan> plan = plan_of(race_budget_);
    if (recommends(plan) || race_budget_ == *options_.budget) return plan;
    race_budget_ = *options_.budget;
    return plan_of(race_budget_);
  }

  // The first that tells enough; nothing where none costs so little.
  //   racing  set to those that enter
  std::optional<RacePlan> plan_within(double budget, const std::vector<Runner*>& alive,
                                      std::vector<Runner*>& racing) const {
    std::optional<RacePlan> plan;
    for (const size_t per_scheme : kThinnings) {
      racing = thinned(alive, per_scheme);
      plan = fitted_plan(whole_, 0, count(racing), track_.pass_seconds(racing),
                         budget - track_.spent());
      if (plan) plan->per_scheme = racing.size() < alive.size() ? per_scheme : 0;
      if (plan && tells_enough(*plan, whole_)) break;
    }
    return plan;
  }

  // Told after one pass, where the budget would not do were a pass two thirds of declared's: what
  // forgets takes less than that one, hardly anything else does.
  void refuse_hopeless_budget(const std::vector<Runner*>& alive) const {
    const std::vector<Runner*> racing = thinned(alive, std::end(kThinnings)[-1]);
    const double pass = track_.pass_seconds({alive.front()}).always;
    const ByKind<double> seconds = {.always = pass, .portable = pass, .other = pass};
    if (least_cost(racing, seconds).seconds + track_.spent() > 1.5 * *options_.budget)
      refuse_budget(racing, seconds);
  }

  RaceCost least_cost(const std::vector<Runner*>& racing, const ByKind<double>& seconds) const {
    return remaining_cost(shortest_plan(whole_, 0), 0, count(racing), seconds);
  }

  [[noreturn]] void refuse_budget(const std::vector<Runner*>& racing,
                                  const ByKind<double>& seconds) const {
    const RaceCost least = least_cost(racing, seconds);
    throw Error("budget",
                fmt::format("must be at least {:.2f} s, for one window under each of {} candidates",
                            above(least.seconds + track_.spent()), racing.size()),
                fmt::format("{:.2f} s", *options_.budget), "or name fewer candidates");
  }

  // Of every scheme the settings in the middle of its range. Those that must not be left out stay.
  std::vector<Runner*> thinned(const std::vector<Runner*>& all, size_t per_scheme) const {
    if (!options_.halve) return all;
    std::map<std::pair<Kind, std::string>, std::vector<Runner*>> families;
    std::vector<Runner*> kept;
    for (Runner* runner : all) {
      if (runner->may_be_left_out && runner->kind != Kind::kAlways) {
        families[{runner->kind, runner->family}].push_back(runner);
      } else {
        kept.push_back(runner);
      }
    }
    for (const auto& [family, members] : families) {
      for (const size_t k : middle_of(members.size(), per_scheme)) kept.push_back(members[k]);
    }
    std::ranges::sort(kept, {}, &Runner::number);
    return kept;
  }

  // Cuts the plan to what time is left.
  void refit(size_t scored, const std::vector<Runner*>& alive) {
    if (options_.budget) {
      const auto plan = plan_in_time([&](double budget) {
        return fitted_plan(plan_, scored, count(alive), track_.pass_seconds(alive),
                           budget - track_.spent());
      });
      plan_ = plan ? *plan : shortest_plan(plan_, scored);
    }
    tell_plan(scored, alive);
  }

  void tell_plan(size_t scored, const std::vector<Runner*>& alive) {
    const ByKind<double> pass = track_.pass_seconds(alive);
    const RaceCost race = remaining_cost(plan_, scored, count(alive), pass);
    const auto left = options_.budget
                          ? std::optional(*options_.budget - track_.spent() - race.seconds)
                          : std::optional<double>();
    track_.set_planned(track_.done() + race.passes +
                       search_passes(plan_, options_.search, 0, pass, left));
    tell_if_new();
  }

  void tell_if_new() {
    if (told_ == plan_) return;
    told_ = plan_;
    if (options_.on_plan) options_.on_plan(plan_);
  }

  static void sort_by_rank(std::vector<Runner*>& runners) {
    std::sort(runners.begin(), runners.end(), [](const Runner* a, const Runner* b) {
      return std::tuple(a->candidate.tallies.rank(), a->candidate.scheme) <
             std::tuple(b->candidate.tallies.rank(), b->candidate.scheme);
    });
  }

  // The better half of each kind, and all of kAlways, in the order they entered.
  std::vector<Runner*> better_halves(const std::vector<Runner*>& alive) const {
    std::vector<Runner*> kept;
    for (const Kind kind : kKinds) {
      std::vector<Runner*> racing;
      std::copy_if(alive.begin(), alive.end(), std::back_inserter(racing),
                   [&](const Runner* runner) { return runner->kind == kind; });
      if (kind != Kind::kAlways) {
        sort_by_rank(racing);
        racing.resize(survivors(racing.size(), plan_.divisor));
      }
      kept.insert(kept.end(), racing.begin(), racing.end());
    }
    std::ranges::sort(kept, {}, &Runner::number);
    return kept;
  }

  void copy_tests(const std::vector<Runner*>& finalists) {
    for (Runner* runner : finalists) runner->candidate.finalist = true;
    // What fewer finalists cost may be had again.
    plan_.copy_windows = std::max(plan_.copy_windows, std::min<size_t>(whole_.copy_windows, 1));
    for (size_t k = 0; k < plan_.copy_windows; ++k) {
      if (options_.budget && !affords_copies(finalists, k == 0 ? *options_.budget : race_budget_)) {
        plan_.copy_windows = k;
        return tell_plan(plan_.windows.size(), finalists);
      }
      const size_t certain = options_.budget ? k + 1 : plan_.copy_windows;
      track_.share(finalists, {}, std::span(plan_.windows).subspan(k, certain - k));
      for (Runner* runner : finalists) track_.copy_test(*runner, plan_.windows[k]);
    }
    tell_if_new();
  }

  // Another window of the copy test.
  bool affords_copies(const std::vector<Runner*>& finalists, double budget) const {
    const RacePlan one = {.windows = {}, .copy_windows = 1, .divisor = 0};
    return remaining_cost(one, 0, count(finalists), track_.pass_seconds(finalists)).seconds <=
           budget - track_.spent();
  }

  // What the recommendation will name, and what is shown beside it; where the candidates were named,
  // all of them.
  std::vector<Runner*> told_of(const std::vector<Candidate>& candidates) {
    std::set<std::string> named;
    for (const Winner& winner : choose_winners(candidates)) {
      for (const std::optional<size_t>& one :
           {std::optional(winner.index), winner.next, winner.grid})
        if (one) named.insert(candidates[*one].scheme);
    }
    std::vector<Runner*> told;
    for (Runner& runner : track_.runners()) {
      const Candidate& candidate = runner.candidate;
      if (candidate.finalist && (runner.kind == Kind::kAlways || named.contains(candidate.scheme) ||
                                 (!options_.halve && candidate.found_by.empty()))) {
        told.push_back(&runner);
      }
    }
    return told;
  }

  void run_held_out(const std::vector<Runner*>& told) {
    track_.set_stage("held out, ");
    const size_t copies = plan_.held_out_copies();
    for (size_t k = 0; k < plan_.held_out.size(); ++k) {
      const RacePlan one = {
          .copy_windows = k < copies ? 1u : 0u, .divisor = 0, .held_out = {plan_.held_out[k]}};
      if (options_.budget && held_out_cost(one, count(told), track_.pass_seconds(told)).seconds >
                                 *options_.budget - track_.spent()) {
        plan_.held_out.resize(k);
        return tell_if_new();
      }
      track_.share(told, one.held_out, std::span(one.held_out).first(one.copy_windows));
      for (Runner* runner : told) track_.score_held_out(*runner, plan_.held_out[k]);
      if (k >= copies) continue;
      for (Runner* runner : told) track_.copy_test_held_out(*runner, plan_.held_out[k]);
    }
  }

  std::vector<Candidate> candidates() {
    const Candidate& declared = track_.runners().front().candidate;
    std::vector<Candidate> candidates;
    for (Runner& runner : track_.runners()) {
      const size_t windows = runner.candidate.tallies.inside.size();
      if (windows == 0) continue;  // left out
      fill_estimates(std::span(declared.tallies.inside).first(windows), runner.candidate);
      fill_shape(std::span(declared.tallies.runs).first(windows), track_.trained_length(),
                 runner.candidate);
      fill_held_out(declared.held_out.tallies.inside, runner.candidate.held_out);
      candidates.push_back(runner.candidate);
    }
    sort_candidates(candidates);
    return candidates;
  }

  const RaceOptions& options_;
  Track track_;
  RacePlan whole_;  // where time does not matter
  RacePlan plan_;
  std::optional<RacePlan> told_;
  double race_budget_ = 0;  // seconds, of options_.budget
};

}  // namespace

double telling_mean(const Candidate& candidate) {
  const std::optional<Estimate>& told = candidate.beyond ? candidate.beyond : candidate.inside;
  return told && !std::isnan(told->mean) ? told->mean : std::numeric_limits<double>::infinity();
}

std::vector<Candidate> run_race(const Model& model, const std::vector<Window>& windows,
                                const RaceOptions& options, CellSource& cells,
                                const std::function<void(const RaceProgress&)>& progress) {
  if (windows.size() <= options.held_out.size())
    throw Error("windows", "must be at least one that is not held out", "none");
  return Race(model, windows, options, cells, progress).run();
}

}  // namespace ropewalk
