#include "ropewalk/study/track.h"

#include <algorithm>
#include <utility>

#include "ropewalk/schemes/scheme_string.h"
#include "ropewalk/study/copy_gain.h"
#include "ropewalk/study/recommend.h"
#include "ropewalk/study/results.h"

namespace ropewalk {
namespace {

constexpr double kSpare = 1.1;  // over what passes took so far, for they differ

}  // namespace

void Timed::add(double taken, size_t count) {
  seconds += taken;
  tokens += static_cast<int64_t>(count);
}

double Timed::of(size_t count) const {
  return kSpare * static_cast<double>(count) * seconds / static_cast<double>(tokens);
}

Track::Track(const Model& model, const std::vector<Window>& windows, const RaceOptions& options,
             CellSource& cells, const std::function<void(const RaceProgress&)>& progress)
    : model_(model),
      windows_(windows),
      options_(options),
      cells_(cells),
      progress_(progress),
      trained_(ropewalk::trained_length(model.config())) {}

const Rotary& Track::declared() const { return first_rotary(model_.config()); }

// ---- candidates

Runner Track::make(const std::string& scheme, const std::string& found_by) const {
  Runner runner;
  const ParsedScheme parsed = parse_scheme(scheme);
  const auto known = options_.described.find(parsed.text());
  runner.facts = known != options_.described.end() ? known->second
                                                   : scheme_facts(model_.config(), options_.format,
                                                                  scheme, options_.target_length);
  runner.facts.found_by = found_by;
  for (const ParsedPart& part : parsed.parts) runner.family += part.scheme->name + "+";
  runner.depends_on_length = parsed.depends_on_length();
  const bool is_declared = runners_.empty();
  runner.candidate = candidate_of(runner.facts, to_string(options_.engine),
                                  is_declared ? &runner.facts : &runners_.front().facts);
  runner.positions = make_positions(model_.config(), {{.scheme = runner.facts.scheme}});
  runner.candidate.truncates = std::ranges::any_of(
      runner.positions.schemes,
      [&](const Rotary& rotary) { return rotary.visibility.window < options_.target_length; });
  if (is_declared || runner.candidate.truncates) {
    runner.kind = Kind::kAlways;
  } else {
    runner.kind = runner.candidate.portability.portable ? Kind::kPortable : Kind::kOther;
  }
  return runner;
}

Runner& Track::add(Runner runner) {
  runner.number = runners_.size();
  runners_.push_back(std::move(runner));
  return runners_.back();
}

Runner* Track::find(const std::string& scheme) {
  const auto found = std::ranges::find_if(
      runners_, [&](const Runner& runner) { return runner.candidate.scheme == scheme; });
  return found == runners_.end() ? nullptr : &*found;
}

// ---- passes

std::vector<double> Track::score(Runner& runner, size_t window) {
  std::vector<double> own = losses(runner, "plain", window, windows_[window].ids);
  runner.candidate.tallies.add_losses(own, trained_);
  return own;
}

void Track::copy_test(Runner& runner, size_t window) {
  copy_test(runner, window, runner.candidate.tallies);
}

void Track::score_held_out(Runner& runner, size_t window) {
  runner.candidate.held_out.tallies.add_losses(
      losses(runner, "plain", window, windows_[window].ids), trained_);
}

void Track::copy_test_held_out(Runner& runner, size_t window) {
  copy_test(runner, window, runner.candidate.held_out.tallies);
}

void Track::copy_test(Runner& runner, size_t window, Tallies& tallies) {
  const CopyTest test = make_copy_test(windows_[window], trained_);
  if (test.repeats.empty()) return;
  const std::vector<double> repeated = losses(runner, "repeated", window, test.repeated);
  const std::vector<double> control = losses(runner, "control", window, test.control);
  tallies.add_copy(copy_gain(test, trained_, repeated, control));
}

Cell Track::pass(Runner& runner, size_t window) {
  label(runner, "plain", window);
  return found_or_measured(runner, "plain", window, windows_[window].ids);
}

void Track::share(const std::vector<Runner*>& runners, std::span<const size_t> scored,
                  std::span<const size_t> copied) {
  if (!cells_.is_shared()) return;
  std::vector<CellSource::Wanted> next;
  for (const size_t window : scored) {
    for (Runner* runner : runners)
      next.push_back(wanted(*runner, "plain", window, windows_[window].ids));
  }
  std::deque<CopyTest> tests;
  for (const size_t window : copied) {
    const CopyTest& test = tests.emplace_back(make_copy_test(windows_[window], trained_));
    if (test.repeats.empty()) continue;
    for (Runner* runner : runners) {
      next.push_back(wanted(*runner, "repeated", window, test.repeated));
      next.push_back(wanted(*runner, "control", window, test.control));
    }
  }
  ahead_ = std::max(ahead_, progress_now_.done);
  cells_.share(next, [&] {
    ++ahead_;
    report(0);
  });
}

CellSource::Wanted Track::wanted(Runner& runner, const std::string& text, size_t window,
                                 const std::vector<int32_t>& ids) {
  return {.key = {runner.candidate.scheme, text, static_cast<int64_t>(window)},
          .measure = [this, &runner, text, window, &ids] {
            label(runner, text, window);
            return model_.losses(ids, runner.positions, [this](double share) { report(share); });
          }};
}

Cell Track::found_or_measured(Runner& runner, const std::string& text, size_t window,
                              const std::vector<int32_t>& ids) {
  const CellSource::Wanted next = wanted(runner, text, window, ids);
  const bool is_first = counted_.insert(next.key).second;
  CellSource::Kept kept = cells_.find_or_measure(
      next.key, [&](const std::vector<double>& losses) { return losses.size() == ids.size() - 1; },
      next.measure);
  if (is_first && kept.was_stored) {
    ++runner.candidate.resumed_cells;
    ++progress_now_.resumed;
  }
  return std::move(kept.cell);
}

std::vector<double> Track::losses(Runner& runner, const std::string& text, size_t window,
                                  const std::vector<int32_t>& ids) {
  label(runner, text, window);
  Cell cell = found_or_measured(runner, text, window, ids);
  runner.candidate.seconds += cell.seconds;
  runner.candidate.tokens += static_cast<int64_t>(ids.size());
  spent_ += cell.seconds;
  runner.timed.add(cell.seconds, ids.size());
  timed_[work_of(runner)].add(cell.seconds, ids.size());
  ++progress_now_.done;
  return std::move(cell.losses);
}

// ---- time

double Track::pass_seconds_of(const Runner& runner, size_t tokens) const {
  if (runner.timed.known()) return runner.timed.of(tokens);
  const auto [kind, by_length] = work_of(runner);
  for (const Work& work : {Work(kind, by_length), Work(kind, !by_length)}) {
    const auto found = timed_.find(work);
    if (found != timed_.end()) return found->second.of(tokens);
  }
  return 0;
}

ByKind<double> Track::pass_seconds(const std::vector<Runner*>& racing) const {
  size_t longest = 0;
  for (const Window& window : windows_) longest = std::max(longest, window.ids.size());
  const auto of = [&](Kind kind) {
    double sum = 0;
    size_t count = 0;
    for (const Runner* runner : racing) {
      if (runner->kind != kind) continue;
      sum += pass_seconds_of(*runner, longest);
      ++count;
    }
    return count == 0 ? 0.0 : sum / static_cast<double>(count);
  };
  return {.always = of(Kind::kAlways), .portable = of(Kind::kPortable), .other = of(Kind::kOther)};
}

void Track::time_each_work(const std::vector<Runner*>& racing, size_t window) {
  stage_ = "timing one pass of each kind, ";
  std::vector<Runner*> first;
  for (Runner* runner : racing) {
    if (timed_.try_emplace(work_of(*runner)).second) first.push_back(runner);
  }
  share(first, std::span(&window, 1));
  for (Runner* runner : first) {
    timed_[work_of(*runner)].add(pass(*runner, window).seconds, windows_[window].ids.size());
  }
  stage_.clear();
}

// ---- progress

void Track::label(const Runner& runner, const std::string& text, size_t window) {
  progress_now_.label = stage_ + runner.candidate.scheme + ", window " +
                        std::to_string(window + 1) + " of " + std::to_string(windows_.size()) +
                        (text == "plain" ? "" : ", copy test");
  report(0);
}

void Track::report(double share) {
  progress_now_.cell = share;
  if (!progress_) return;
  RaceProgress told = progress_now_;
  told.done = std::max(told.done, ahead_);
  progress_(told);
}

double rank_of(const Runner& runner) {
  Candidate candidate = runner.candidate;
  fill_estimates({}, candidate);
  return rank_value(candidate);
}

}  // namespace ropewalk
