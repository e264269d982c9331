#include "ropewalk/study/race.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "ropewalk/base/error.h"
#include "ropewalk/schemes/scheme_string.h"
#include "ropewalk/study/copy_gain.h"
#include "ropewalk/study/results.h"

namespace ropewalk {
namespace {

constexpr double kSpare = 1.1;  // over what passes took so far, for they differ

// Candidates of one kind race among themselves, so that a winner of each comes through.
enum class Kind {
  kAlways,    // "declared", and what truncates: shown in every table
  kPortable,  // the engine asked for runs it
  kOther,
};

// What passes took.
struct Timed {
  double seconds = 0;
  int64_t tokens = 0;

  void add(double taken, size_t count) {
    seconds += taken;
    tokens += static_cast<int64_t>(count);
  }
  bool known() const { return tokens > 0; }
  // That so many tokens will take.
  double of(size_t count) const {
    return kSpare * static_cast<double>(count) * seconds / static_cast<double>(tokens);
  }
};

struct Runner {
  Candidate candidate;
  Kind kind = Kind::kOther;
  std::string family;            // the names of its parts
  bool may_be_left_out = false;  // for want of time
  bool depends_on_length = false;
  Positions positions;
  Timed timed;
};

// Candidates of which a pass takes about as long.
using Work = std::pair<Kind, bool>;  // whether the spectrum goes by the length

Work work_of(const Runner& runner) { return {runner.kind, runner.depends_on_length}; }

class Race {
 public:
  Race(const Model& model, const std::vector<Window>& windows, const RaceOptions& options,
       StudyStore& store, const std::function<void(const RaceProgress&)>& progress)
      : model_(model),
        windows_(windows),
        options_(options),
        store_(store),
        progress_(progress),
        trained_(trained_length(model.config())) {
    enter("declared", false);
    for (const std::string& scheme : options.proposed) enter(scheme, false);
    for (const std::string& scheme : options.candidates) enter(scheme, true);
    whole_ = whole_plan(windows.size(), options.copy_windows, options.halve);
    plan_ = whole_;
  }

  std::vector<Candidate> run() {
    std::vector<Runner*> alive;
    for (Runner& runner : runners_) alive.push_back(&runner);
    if (options_.budget) first_plan(alive);
    tell_plan(0, alive);
    size_t scored = 0;
    for (size_t rung = 1; scored < plan_.windows.size(); rung *= 2) {
      while (scored < std::min(rung, plan_.windows.size())) {
        for (Runner* runner : alive) score(*runner, plan_.windows[scored]);
        ++scored;
        if (scored == rung && scored < plan_.windows.size()) alive = better_halves(alive);
        refit(scored, alive);
      }
    }
    copy_tests(better_halves(alive));
    return finish();
  }

 private:
  void enter(const std::string& text, bool may_be_left_out) {
    const ParsedScheme parsed = parse_scheme(text);
    const bool known = std::any_of(runners_.begin(), runners_.end(), [&](const Runner& runner) {
      return runner.candidate.scheme == parsed.text();
    });
    if (known) return;
    Runner runner;
    const SchemeFacts facts =
        scheme_facts(model_.config(), options_.format, parsed.text(), options_.target_length);
    if (parsed.is_declared()) declared_ = facts;
    runner.candidate = candidate_of(facts, to_string(options_.engine), &declared_);
    for (const ParsedPart& part : parsed.parts) runner.family += part.scheme->name + "+";
    runner.may_be_left_out = may_be_left_out;
    runner.depends_on_length = parsed.depends_on_length();
    runner.positions = make_positions(model_.config(), {{.scheme = parsed.text()}});
    const auto& schemes = runner.positions.schemes;
    runner.candidate.truncates = std::any_of(
        schemes.begin(), schemes.end(),
        [&](const Rotary& rotary) { return rotary.visibility.window < options_.target_length; });
    if (parsed.is_declared() || runner.candidate.truncates) {
      runner.kind = Kind::kAlways;
    } else {
      runner.kind = runner.candidate.portability.portable ? Kind::kPortable : Kind::kOther;
    }
    runners_.push_back(std::move(runner));
  }

  static ByKind<size_t> count(const std::vector<Runner*>& alive) {
    const auto of = [&](Kind kind) {
      return static_cast<size_t>(std::ranges::count(alive, kind, &Runner::kind));
    };
    return {
        .always = of(Kind::kAlways), .portable = of(Kind::kPortable), .other = of(Kind::kOther)};
  }

  // Of a pass over the longest window, a mean over each kind, by what passes took so far: its own,
  // else those of the same kind of work.
  ByKind<double> pass_seconds(const std::vector<Runner*>& racing) const {
    size_t longest = 0;
    for (const Window& window : windows_) longest = std::max(longest, window.ids.size());
    const auto one = [&](const Runner& runner) {
      if (runner.timed.known()) return runner.timed.of(longest);
      const auto found = timed_.find(work_of(runner));
      return found == timed_.end() ? 0.0 : found->second.of(longest);
    };
    const auto of = [&](Kind kind) {
      double sum = 0;
      size_t count = 0;
      for (const Runner* runner : racing) {
        if (runner->kind != kind) continue;
        sum += one(*runner);
        ++count;
      }
      return count == 0 ? 0.0 : sum / static_cast<double>(count);
    };
    return {
        .always = of(Kind::kAlways), .portable = of(Kind::kPortable), .other = of(Kind::kOther)};
  }

  // From one pass of each kind of work, which the race needs in any case.
  void first_plan(std::vector<Runner*>& alive) {
    const std::vector<int32_t>& ids = windows_.front().ids;
    for (Runner* runner : alive) {
      const auto [timed, is_first] = timed_.try_emplace(work_of(*runner));
      if (is_first) timed->second.add(pass(*runner, "plain", 0, ids).seconds, ids.size());
    }
    std::optional<RacePlan> plan;
    std::vector<Runner*> racing;
    for (const size_t per_scheme : kThinnings) {
      racing = thinned(alive, per_scheme);
      plan = fitted_plan(whole_, 0, count(racing), pass_seconds(racing), *options_.budget);
      if (plan) plan->per_scheme = racing.size() < alive.size() ? per_scheme : 0;
      if (plan && tells_enough(*plan, whole_)) break;
    }
    if (!plan) {
      const RaceCost least =
          remaining_cost(shortest_plan(whole_, 0), 0, count(racing), pass_seconds(racing));
      throw Error(
          "budget",
          fmt::format("must be at least {:.2f} s, for one window under each of {} candidates",
                      std::ceil(100 * least.seconds) / 100, racing.size()),
          fmt::format("{:.2f} s", *options_.budget), "or name fewer candidates");
    }
    plan_ = *plan;
    alive = racing;
    timed_.clear();  // these passes are counted where they have their turn
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
    std::sort(kept.begin(), kept.end());  // runners lie in one array
    return kept;
  }

  // Cuts the plan to what time is left.
  void refit(size_t scored, const std::vector<Runner*>& alive) {
    if (options_.budget) {
      const auto plan =
          fitted_plan(plan_, scored, count(alive), pass_seconds(alive), *options_.budget - spent_);
      plan_ = plan ? *plan : shortest_plan(plan_, scored);
    }
    tell_plan(scored, alive);
  }

  void tell_plan(size_t scored, const std::vector<Runner*>& alive) {
    progress_now_.planned =
        progress_now_.done + remaining_cost(plan_, scored, count(alive), {}).passes;
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
    for (const Kind kind : {Kind::kAlways, Kind::kPortable, Kind::kOther}) {
      std::vector<Runner*> racing;
      std::copy_if(alive.begin(), alive.end(), std::back_inserter(racing),
                   [&](const Runner* runner) { return runner->kind == kind; });
      if (kind != Kind::kAlways) {
        sort_by_rank(racing);
        racing.resize(survivors(racing.size(), plan_.divisor));
      }
      kept.insert(kept.end(), racing.begin(), racing.end());
    }
    std::sort(kept.begin(), kept.end());  // runners lie in one array
    return kept;
  }

  // From the study if it has it.
  Cell pass(Runner& runner, const std::string& text, size_t window,
            const std::vector<int32_t>& ids) {
    const CellKey key{runner.candidate.scheme, text, static_cast<int64_t>(window)};
    const bool is_first = counted_.insert(key).second;
    StudyStore::Kept kept = store_.find_or_measure(
        key, [&](const std::vector<double>& losses) { return losses.size() == ids.size() - 1; },
        [&] { return model_.losses(ids, runner.positions, [&](double share) { report(share); }); });
    if (is_first && kept.was_stored) ++runner.candidate.resumed_cells;
    return std::move(kept.cell);
  }

  std::vector<double> losses(Runner& runner, const std::string& text, size_t window,
                             const std::vector<int32_t>& ids) {
    progress_now_.label = runner.candidate.scheme + ", window " + std::to_string(window + 1) +
                          " of " + std::to_string(windows_.size()) +
                          (text == "plain" ? "" : ", copy test");
    report(0);
    Cell cell = pass(runner, text, window, ids);
    runner.candidate.seconds += cell.seconds;
    runner.candidate.tokens += static_cast<int64_t>(ids.size());
    spent_ += cell.seconds;
    runner.timed.add(cell.seconds, ids.size());
    timed_[work_of(runner)].add(cell.seconds, ids.size());
    ++progress_now_.done;
    return std::move(cell.losses);
  }

  void report(double share) {
    progress_now_.cell = share;
    if (progress_) progress_(progress_now_);
  }

  void score(Runner& runner, size_t w) {
    runner.candidate.tallies.add_losses(losses(runner, "plain", w, windows_[w].ids), trained_);
  }

  void copy_tests(const std::vector<Runner*>& finalists) {
    for (Runner* runner : finalists) runner->candidate.finalist = true;
    for (size_t k = 0; k < plan_.copy_windows; ++k) {
      if (options_.budget && !affords_copies(finalists)) {
        plan_.copy_windows = k;
        return tell_plan(plan_.windows.size(), finalists);
      }
      const size_t w = plan_.windows[k];
      const CopyTest test = make_copy_test(windows_[w], trained_);
      if (test.repeats.empty()) continue;
      for (Runner* runner : finalists) {
        const std::vector<double> repeated = losses(*runner, "repeated", w, test.repeated);
        const std::vector<double> control = losses(*runner, "control", w, test.control);
        runner->candidate.tallies.add_copy(copy_gain(test, trained_, repeated, control));
      }
    }
  }

  // Another window of the copy test.
  bool affords_copies(const std::vector<Runner*>& finalists) const {
    const RacePlan one = {.windows = {}, .copy_windows = 1, .divisor = 0};
    return remaining_cost(one, 0, count(finalists), pass_seconds(finalists)).seconds <=
           *options_.budget - spent_;
  }

  std::vector<Candidate> finish() {
    const std::span<const Tally> declared = runners_.front().candidate.tallies.inside;
    std::vector<Candidate> candidates;
    for (Runner& runner : runners_) {
      if (runner.candidate.tallies.inside.empty()) continue;  // left out
      fill_estimates(declared.first(runner.candidate.tallies.inside.size()), runner.candidate);
      candidates.push_back(runner.candidate);
    }
    sort_candidates(candidates);
    return candidates;
  }

  const Model& model_;
  const std::vector<Window>& windows_;
  const RaceOptions& options_;
  StudyStore& store_;
  const std::function<void(const RaceProgress&)>& progress_;
  int64_t trained_;
  SchemeFacts declared_;
  RacePlan whole_;  // where time does not matter
  RacePlan plan_;
  std::optional<RacePlan> told_;
  double spent_ = 0;  // seconds, of every pass that counts
  std::map<Work, Timed> timed_;
  std::set<CellKey> counted_;    // as run now or as resumed
  std::vector<Runner> runners_;  // "declared" first
  RaceProgress progress_now_;
};

}  // namespace

double telling_mean(const Candidate& candidate) {
  const std::optional<Estimate>& told = candidate.beyond ? candidate.beyond : candidate.inside;
  return told && !std::isnan(told->mean) ? told->mean : std::numeric_limits<double>::infinity();
}

std::vector<Candidate> run_race(const Model& model, const std::vector<Window>& windows,
                                const RaceOptions& options, StudyStore& store,
                                const std::function<void(const RaceProgress&)>& progress) {
  if (windows.empty()) throw Error("windows", "must be at least one", "none");
  return Race(model, windows, options, store, progress).run();
}

}  // namespace ropewalk
