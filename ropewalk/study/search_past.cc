#include "ropewalk/study/search_past.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/study/search.h"
#include "ropewalk/study/search_space.h"

namespace ropewalk {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kFellOut = 1e6;  // above every rank: what fell out is told apart by one window
constexpr size_t kBlock = 32;

// The start of each space first, then steps from the best of them.
class SpaceSearch {
 public:
  SpaceSearch(Kind kind, std::vector<SearchSpace> spaces)
      : kind_(kind), spaces_(std::move(spaces)) {}

  Kind kind() const { return kind_; }

  // A canonical scheme, and where it was found; nothing at the end.
  struct Question {
    std::string scheme;
    std::string found_by;
  };
  std::optional<Question> next() {
    return asked_early_ ? std::exchange(asked_early_, std::nullopt) : ask();
  }

  // What next() will give.
  const std::optional<Question>& peek() {
    if (!asked_early_) asked_early_ = ask();
    return asked_early_;
  }

  void tell(double value) {
    if (pattern_) return pattern_->tell(value);
    values_.push_back(value);
    ++started_;
  }

 private:
  std::optional<Question> ask() {
    while (const std::optional<std::vector<double>> point = next_point()) {
      const SearchSpace& space = spaces_[asked_];
      try {
        return Question{space.scheme(*point), space.describe(*point)};
      } catch (const Error&) {
        tell(kNever);  // a step that the scheme refuses leads nowhere
      }
    }
    return std::nullopt;
  }

  std::optional<std::vector<double>> next_point() {
    if (started_ < spaces_.size()) {
      asked_ = started_;
      return spaces_[started_].start;
    }
    if (spaces_.empty()) return std::nullopt;
    if (!pattern_) {
      asked_ = static_cast<size_t>(std::ranges::min_element(values_) - values_.begin());
      if (values_[asked_] == kNever) return std::nullopt;
      pattern_.emplace(spaces_[asked_].knobs, spaces_[asked_].start, values_[asked_]);
    }
    return pattern_->next();
  }

  Kind kind_;
  std::vector<SearchSpace> spaces_;
  size_t started_ = 0;
  size_t asked_ = 0;            // the space of the last question
  std::vector<double> values_;  // of the starts
  std::optional<PatternSearch> pattern_;
  std::optional<Question> asked_early_;
};

class Search {
 public:
  Search(Track& track, const RacePlan& plan) : track_(track), plan_(plan) {
    for (Runner& runner : track.runners()) {
      if (runner.candidate.finalist) take_if_best(runner);
    }
    const int64_t target = track.options().target_length;
    searches_.emplace_back(Kind::kPortable,
                           pair_factor_spaces(track.declared(), best_portable(), target));
    for (const Kind kind : {Kind::kPortable, Kind::kOther}) {
      if (best_.contains(kind)) {
        searches_.emplace_back(kind, spaces_around(best_.at(kind).runner->candidate.scheme,
                                                   track.trained_length(), target));
      }
    }
  }

  void run() {
    while (!searches_.empty()) {
      if (track_.is_shared()) share_first_passes();
      for (auto search = searches_.begin(); search != searches_.end();) {
        if (!has_room(search->kind())) return;
        search = take_turn(*search) ? search + 1 : searches_.erase(search);
      }
    }
  }

 private:
  struct Best {
    Runner* runner = nullptr;
    double value = kNever;
  };

  // Its rank.
  double take_if_best(Runner& runner) {
    const double value = rank_of(runner);
    Best& best = best_[runner.kind];
    if (best.runner == nullptr || value < best.value) best = {&runner, value};
    return value;
  }

  // Of the first layers that rotate; null where there is none.
  const Rotary* best_portable() const {
    const auto best = best_.find(Kind::kPortable);
    return best == best_.end() ? nullptr : &best->second.runner->positions.schemes.front();
  }

  // Of each kind, for what their passes took.
  std::vector<Runner*> bests() const {
    std::vector<Runner*> all;
    for (const auto& [kind, best] : best_) all.push_back(best.runner);
    return all;
  }

  size_t passes_of_one() const { return plan_.windows.size() + 2 * plan_.copy_windows; }

  // For one more that runs everything.
  bool has_room(Kind kind) const {
    const RaceOptions& options = track_.options();
    if (tried_ >= options.search) return false;
    if (!options.budget) return true;
    const ByKind<double> pass = track_.pass_seconds(bests());
    double seconds = kind == Kind::kPortable ? pass.portable : pass.other;
    if (seconds == 0) seconds = std::max(pass.always, pass.other);
    return static_cast<double>(passes_of_one()) * seconds <= *left();
  }

  // Of the settings of one round, which do not go by each other's answers.
  void share_first_passes() {
    std::deque<Runner> made;
    std::vector<Runner*> next;
    size_t turn = tried_;
    for (SpaceSearch& search : searches_) {
      if (turn++ >= track_.options().search || !has_room(search.kind())) break;
      const auto& question = search.peek();
      if (!question || track_.find(question->scheme) != nullptr) continue;
      if (auto runner = made_of(*question, search.kind()))
        next.push_back(&made.emplace_back(std::move(*runner)));
    }
    track_.share(next, std::span(plan_.windows).first(1));
  }

  // Measures one setting; false where the search has none.
  bool take_turn(SpaceSearch& search) {
    while (const auto question = search.next()) {
      Runner* const known = track_.find(question->scheme);
      if (known != nullptr && known->candidate.tallies.inside.empty()) {
        known->facts.found_by = known->candidate.found_by = question->found_by;
        search.tell(measure(*known));  // the race had no time for it
        return true;
      }
      if (known != nullptr) {
        search.tell(known->candidate.finalist ? rank_of(*known) : kNever);
        continue;
      }
      std::optional<Runner> made = made_of(*question, search.kind());
      if (!made) {
        search.tell(kNever);
        continue;
      }
      search.tell(measure(track_.add(std::move(*made))));
      return true;
    }
    return false;
  }

  // Nothing where it does not fit the model or is of another kind.
  std::optional<Runner> made_of(const SpaceSearch::Question& question, Kind kind) const {
    try {
      Runner runner = track_.make(question.scheme, question.found_by);
      if (runner.kind == kind) return runner;
    } catch (const Error&) {
    }
    return std::nullopt;
  }

  double measure(Runner& runner) {
    const RaceOptions& options = track_.options();
    ++tried_;
    track_.set_stage("search " + std::to_string(tried_) + ", ");
    tell_plan();
    if (options.on_candidate) options.on_candidate(runner.facts);
    const size_t first = plan_.windows.front();
    if (falls_out(runner, track_.score(runner, first), first))
      return kFellOut + runner.candidate.tallies.rank();
    const std::span<const size_t> all(plan_.windows);
    track_.share({&runner}, all.subspan(1), all.first(plan_.copy_windows));
    for (size_t k = 1; k < plan_.windows.size(); ++k) track_.score(runner, plan_.windows[k]);
    for (size_t k = 0; k < plan_.copy_windows; ++k) track_.copy_test(runner, plan_.windows[k]);
    runner.candidate.finalist = true;
    return take_if_best(runner);
  }

  bool falls_out(const Runner& runner, std::span<const double> losses, size_t window) {
    const auto best = best_.find(runner.kind);
    if (best == best_.end()) return false;
    return is_worse(losses, track_.pass(*best->second.runner, window).losses,
                    track_.trained_length())
        .value_or(false);
  }

  // Of the windows that are held out, for all that they may be run by after the search.
  RaceCost held_out() const {
    ByKind<size_t> finalists = {.other = kMostTold};
    for (const Runner& runner : track_.runners()) {
      if (!runner.candidate.finalist || !runner.candidate.found_by.empty()) continue;
      size_t& count = runner.kind == Kind::kAlways     ? finalists.always
                      : runner.kind == Kind::kPortable ? finalists.portable
                                                       : finalists.other;
      ++count;
    }
    return held_out_cost(plan_, finalists, track_.pass_seconds(bests()));
  }

  // Of the budget, in seconds; nothing where there is none.
  std::optional<double> left() const {
    if (!track_.options().budget) return std::nullopt;
    return *track_.options().budget - track_.spent() - held_out().seconds;
  }

  void tell_plan() {
    track_.set_planned(track_.done() + held_out().passes +
                       search_passes(plan_, track_.options().search, tried_ - 1,
                                     track_.pass_seconds(bests()), left()));
  }

  Track& track_;
  const RacePlan& plan_;
  std::vector<SpaceSearch> searches_;
  std::map<Kind, Best> best_;  // among finalists
  size_t tried_ = 0;
};

}  // namespace

size_t search_passes(const RacePlan& plan, size_t most, size_t tried, const ByKind<double>& pass,
                     std::optional<double> seconds) {
  const size_t passes = plan.windows.size() + 2 * plan.copy_windows;
  size_t settings = most - std::min(most, tried);
  const double one = static_cast<double>(passes) * std::max(pass.portable, pass.other);
  if (seconds) {
    const double fit = one > 0 ? std::floor(std::max(0.0, *seconds) / one) : 0;
    if (fit < static_cast<double>(settings)) settings = static_cast<size_t>(fit);
  }
  return std::min(settings, SIZE_MAX / 2 / passes) * passes;
}

std::optional<bool> is_worse(std::span<const double> losses, std::span<const double> best,
                             int64_t first) {
  size_t start = std::min(static_cast<size_t>(std::max<int64_t>(first, 0)), losses.size());
  if (start == losses.size()) start = 0;
  if (std::any_of(losses.begin() + static_cast<std::ptrdiff_t>(start), losses.end(),
                  [](double loss) { return !std::isfinite(loss); })) {
    return true;
  }
  if (losses.size() - start < kEnoughLosses) return std::nullopt;
  std::vector<double> blocks;  // mean differences
  for (size_t t = start; t < losses.size(); t += kBlock) {
    const size_t end = std::min(t + kBlock, losses.size());
    double sum = 0;
    for (size_t k = t; k < end; ++k) sum += losses[k] - best[k];
    blocks.push_back(sum / static_cast<double>(end - t));
  }
  const auto n = static_cast<double>(blocks.size());
  double mean = 0;
  for (const double block : blocks) mean += block / n;
  double squares = 0;
  for (const double block : blocks) squares += (block - mean) * (block - mean);
  return !(mean <= 2 * std::sqrt(squares / (n - 1) / n));
}

void search_past_grid(Track& track, const RacePlan& plan) { Search(track, plan).run(); }

}  // namespace ropewalk
