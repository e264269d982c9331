#include "ropewalk/study/race.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <tuple>

#include "ropewalk/base/error.h"
#include "ropewalk/schemes/scheme_string.h"
#include "ropewalk/study/copy_gain.h"
#include "ropewalk/study/results.h"

namespace ropewalk {
namespace {

constexpr size_t kFewest = 3;  // of each kind that halving leaves

// Candidates of one kind race among themselves, so that a winner of each comes through.
enum class Kind {
  kAlways,    // "declared", and what truncates: shown in every table
  kPortable,  // the engine asked for runs it
  kOther,
};

struct Runner {
  Candidate candidate;
  Kind kind = Kind::kOther;
  Positions positions;
};

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
    enter("declared");
    for (const std::string& scheme : options.candidates) enter(scheme);
    progress_now_.planned = planned_cells();
  }

  std::vector<Candidate> run() {
    std::vector<Runner*> alive;
    for (Runner& runner : runners_) alive.push_back(&runner);
    size_t scored = 0;
    for (size_t rung = 1; scored < windows_.size(); rung *= 2) {
      const size_t last = std::min(rung, windows_.size());
      for (Runner* runner : alive) {
        for (size_t w = scored; w < last; ++w) score(*runner, w);
      }
      scored = last;
      if (scored < windows_.size()) alive = better_halves(alive);
    }
    copy_tests(better_halves(alive));
    return finish();
  }

 private:
  void enter(const std::string& text) {
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

  size_t survivors(size_t racing) const {
    return options_.halve ? std::min(racing, std::max(kFewest, (racing + 1) / 2)) : racing;
  }

  // What the race will run, known beforehand: halving goes by numbers, not by results.
  size_t planned_cells() const {
    std::map<Kind, size_t> racing;
    for (const Runner& runner : runners_) ++racing[runner.kind];
    size_t cells = 0;
    size_t scored = 0;
    const auto halve = [&] {
      for (auto& [kind, count] : racing) {
        if (kind != Kind::kAlways) count = survivors(count);
      }
    };
    const auto total = [&] {
      return racing[Kind::kAlways] + racing[Kind::kPortable] + racing[Kind::kOther];
    };
    for (size_t rung = 1; scored < windows_.size(); rung *= 2) {
      const size_t last = std::min(rung, windows_.size());
      cells += total() * (last - scored);
      scored = last;
      if (scored < windows_.size()) halve();
    }
    halve();
    return cells + total() * 2 * std::min(options_.copy_windows, windows_.size());
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
        racing.resize(survivors(racing.size()));
      }
      kept.insert(kept.end(), racing.begin(), racing.end());
    }
    std::sort(kept.begin(), kept.end());  // runners lie in one array
    return kept;
  }

  // The losses of one pass, from the study if it has them.
  std::vector<double> losses(Runner& runner, const std::string& text, size_t window,
                             const std::vector<int32_t>& ids) {
    const CellKey key{runner.candidate.scheme, text, static_cast<int64_t>(window)};
    progress_now_.label = runner.candidate.scheme + ", window " + std::to_string(window + 1) +
                          " of " + std::to_string(windows_.size()) +
                          (text == "plain" ? "" : ", copy test");
    report(0);
    std::optional<Cell> cell = store_.find(key);
    if (cell && cell->losses.size() == ids.size() - 1) {
      ++runner.candidate.resumed_cells;
    } else {
      const auto start = std::chrono::steady_clock::now();
      cell =
          Cell{.losses = model_.losses(ids, runner.positions, [&](double share) { report(share); }),
               .seconds = 0};
      cell->seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      store_.insert(key, *cell);
    }
    runner.candidate.seconds += cell->seconds;
    runner.candidate.tokens += static_cast<int64_t>(ids.size());
    ++progress_now_.done;
    return std::move(cell->losses);
  }

  void report(double share) {
    progress_now_.cell = share;
    if (progress_) progress_(progress_now_);
  }

  void score(Runner& runner, size_t w) {
    runner.candidate.tallies.add_losses(losses(runner, "plain", w, windows_[w].ids), trained_);
  }

  void copy_tests(const std::vector<Runner*>& finalists) {
    const size_t count = std::min(options_.copy_windows, windows_.size());
    for (Runner* runner : finalists) {
      runner->candidate.finalist = true;
      for (size_t w = 0; w < count; ++w) {
        const CopyTest test = make_copy_test(windows_[w], trained_);
        if (test.repeats.empty()) continue;
        const std::vector<double> repeated = losses(*runner, "repeated", w, test.repeated);
        const std::vector<double> control = losses(*runner, "control", w, test.control);
        runner->candidate.tallies.add_copy(copy_gain(test, trained_, repeated, control));
      }
    }
  }

  std::vector<Candidate> finish() {
    const std::span<const Tally> declared = runners_.front().candidate.tallies.inside;
    std::vector<Candidate> candidates;
    for (Runner& runner : runners_) {
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
  std::vector<Runner> runners_;  // "declared" first
  RaceProgress progress_now_;
};

}  // namespace

std::vector<Candidate> run_race(const Model& model, const std::vector<Window>& windows,
                                const RaceOptions& options, StudyStore& store,
                                const std::function<void(const RaceProgress&)>& progress) {
  if (windows.empty()) throw Error("windows", "must be at least one", "none");
  return Race(model, windows, options, store, progress).run();
}

}  // namespace ropewalk
