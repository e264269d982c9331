#include "ropewalk/study/results.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

// Null where the study has no such pass, or one of another length.
const Cell* cell_of(const StudyContents& study, const StudyFacts& facts, const std::string& scheme,
                    const char* text, size_t window) {
  if (facts.windows[window].left_out) return nullptr;
  const auto found = study.cells.find({scheme, text, static_cast<int64_t>(window)});
  if (found == study.cells.end()) return nullptr;
  const auto tokens = static_cast<size_t>(facts.windows[window].tokens);
  return found->second.losses.size() + 1 == tokens ? &found->second : nullptr;
}

// Both passes of a window's copy test.
struct CopyCells {
  const Cell* repeated = nullptr;
  const Cell* control = nullptr;

  explicit operator bool() const { return repeated != nullptr && control != nullptr; }
};

CopyCells copy_cells(const StudyContents& study, const StudyFacts& facts, const std::string& scheme,
                     size_t window) {
  if (facts.windows[window].repeats.empty()) return {};
  return {.repeated = cell_of(study, facts, scheme, "repeated", window),
          .control = cell_of(study, facts, scheme, "control", window)};
}

// As much of the window's copy test as gains are told from.
CopyTest test_of(const WindowFacts& window) {
  return {.repeated = {}, .control = {}, .repeats = window.repeats};
}

void check_repeats(const StudyContents& study, const StudyFacts& facts) {
  for (const WindowFacts& window : facts.windows) {
    for (const Repeat& repeat : window.repeats) {
      if (repeat.first >= 1 && repeat.length >= 1 && repeat.length <= window.tokens &&
          repeat.first <= window.tokens - repeat.length) {
        continue;
      }
      throw Error(study.path + ": facts", "must have repeats inside their window",
                  std::to_string(repeat.first) + " + " + std::to_string(repeat.length));
    }
  }
}

// The windows that a scheme has run, and what was measured there.
struct Scored {
  Candidate candidate;
  std::vector<size_t> windows;   // that choose
  std::vector<size_t> held_out;  // that do not
};

// Of a study's windows those that choose.
size_t choosing_windows(const StudyFacts& facts) {
  return static_cast<size_t>(std::ranges::count_if(facts.windows, [](const WindowFacts& window) {
    return !window.left_out && !window.held_out;
  }));
}

Scored score(const StudyContents& study, const StudyFacts& facts, const SchemeFacts& scheme,
             const SchemeFacts* declared) {
  Scored scored{.candidate = candidate_of(scheme, facts.engine, declared)};
  Candidate& candidate = scored.candidate;
  const auto count = [&](const Cell& cell) {
    candidate.seconds += cell.seconds;
    candidate.tokens += static_cast<int64_t>(cell.losses.size()) + 1;
  };
  for (size_t w = 0; w < facts.windows.size(); ++w) {
    const bool held_out = facts.windows[w].held_out;
    Tallies& tallies = held_out ? candidate.held_out.tallies : candidate.tallies;
    if (const Cell* plain = cell_of(study, facts, scheme.scheme, "plain", w)) {
      tallies.add_losses(plain->losses, facts.trained_length);
      (held_out ? scored.held_out : scored.windows).push_back(w);
      count(*plain);
    }
    const CopyCells cells = copy_cells(study, facts, scheme.scheme, w);
    if (!cells) continue;
    tallies.add_copy(copy_gain(test_of(facts.windows[w]), facts.trained_length,
                               cells.repeated->losses, cells.control->losses));
    count(*cells.repeated);
    count(*cells.control);
  }
  candidate.finalist = scored.windows.size() == choosing_windows(facts) &&
                       (scheme.finalist || facts.finished.empty());
  return scored;
}

// What "declared" has of each window.
class Declared {
 public:
  void add(const std::vector<size_t>& windows, const Tallies& own) {
    for (size_t k = 0; k < windows.size(); ++k)
      by_window_[windows[k]] = {own.inside[k], own.runs[k]};
  }

  // Of those that it ran: inside and runs.
  Tallies over(const std::vector<size_t>& windows) const {
    Tallies found;
    for (const size_t w : windows) {
      const auto own = by_window_.find(w);
      if (own == by_window_.end()) continue;
      found.inside.push_back(own->second.first);
      found.runs.push_back(own->second.second);
    }
    return found;
  }

 private:
  std::map<size_t, std::pair<Tally, std::vector<Tally>>> by_window_;
};

// By run, over all windows.
std::vector<Tally> sum_of(std::span<const std::vector<Tally>> windows) {
  std::vector<Tally> runs;
  for (const std::vector<Tally>& window : windows) {
    runs.resize(std::max(runs.size(), window.size()));
    for (size_t k = 0; k < window.size(); ++k) runs[k].add(window[k]);
  }
  return runs;
}

}  // namespace

Candidate candidate_of(const SchemeFacts& scheme, const std::string& engine,
                       const SchemeFacts* declared) {
  Candidate candidate{.scheme = scheme.scheme,
                      .truncates = scheme.truncates,
                      .engines = scheme.engines,
                      .recommended = scheme.recommended,
                      .found_by = scheme.found_by};
  if (declared != nullptr) candidate.change = scheme_change(scheme, *declared);
  for (const EngineVerdict& verdict : scheme.engines) {
    if (verdict.engine != engine) continue;
    candidate.portability = {.portable = verdict.portable,
                             .how = verdict.portable ? verdict.how : "",
                             .why_not = verdict.portable ? "" : verdict.how};
  }
  return candidate;
}

void fill_estimates(std::span<const Tally> declared_inside, Candidate& candidate) {
  const Tallies& own = candidate.tallies;
  candidate.windows = own.inside.size();
  candidate.inside = estimate(own.inside);
  candidate.beyond = estimate(own.beyond);
  candidate.copy_inside = estimate(own.copy_inside);
  candidate.copy_beyond = estimate(own.copy_beyond);
  if (declared_inside.size() == own.inside.size())
    candidate.inside_cost = estimate_difference(own.inside, declared_inside);
}

void fill_held_out(std::span<const Tally> declared_inside, HeldOut& held_out) {
  const Tallies& own = held_out.tallies;
  held_out.beyond = estimate(own.beyond);
  held_out.copy_beyond = estimate(own.copy_beyond);
  if (declared_inside.size() == own.inside.size())
    held_out.inside_cost = estimate_difference(own.inside, declared_inside);
}

void fill_shape(std::span<const std::vector<Tally>> declared_runs, int64_t trained_length,
                Candidate& candidate) {
  const std::vector<std::vector<Tally>>& own = candidate.tallies.runs;
  if (own.size() != declared_runs.size()) return;
  const bool is_declared = candidate.scheme == "declared";
  candidate.shape = curve_shape(
      sum_of(own), is_declared ? std::vector<Tally>() : sum_of(declared_runs), trained_length);
}

void sort_candidates(std::vector<Candidate>& candidates) {
  const auto key = [&](const Candidate& candidate) {
    return std::tuple(!candidate.finalist, -static_cast<int64_t>(candidate.windows),
                      telling_mean(candidate), candidate.scheme);
  };
  std::sort(candidates.begin(), candidates.end(),
            [&](const Candidate& a, const Candidate& b) { return key(a) < key(b); });
}

StudyScope scope_of(const StudyFacts& facts) {
  StudyScope scope{.trained_length = facts.trained_length,
                   .target_length = facts.target_length,
                   .windows = choosing_windows(facts),
                   .left_out = facts.left_out};
  const WindowFacts* last = nullptr;
  for (const WindowFacts& window : facts.windows) {
    scope.held_out += window.held_out && !window.left_out;
    if (window.left_out || window.tokens <= facts.trained_length + 1) continue;
    // Windows stand in reading order, and names are without folders.
    if (last == nullptr || last->document != window.document || window.first <= last->first)
      ++scope.long_documents;
    last = &window;
  }
  return scope;
}

std::vector<Candidate> candidates_of(const StudyContents& study) {
  const StudyFacts facts = study_facts(study);
  check_repeats(study, facts);
  std::vector<Scored> all;
  Declared declared;
  const std::vector<SchemeFacts> schemes = all_scheme_facts(study);
  const auto as_file = std::ranges::find(schemes, "declared", &SchemeFacts::scheme);
  for (const SchemeFacts& scheme : schemes) {
    Scored scored = score(study, facts, scheme, as_file == schemes.end() ? nullptr : &*as_file);
    if (scored.windows.empty()) continue;
    if (scheme.scheme == "declared") {
      declared.add(scored.windows, scored.candidate.tallies);
      declared.add(scored.held_out, scored.candidate.held_out.tallies);
    }
    all.push_back(std::move(scored));
  }
  std::vector<Candidate> candidates;
  for (Scored& scored : all) {
    const Tallies same = declared.over(scored.windows);
    fill_estimates(same.inside, scored.candidate);
    fill_shape(same.runs, facts.trained_length, scored.candidate);
    fill_held_out(declared.over(scored.held_out).inside, scored.candidate.held_out);
    candidates.push_back(std::move(scored.candidate));
  }
  sort_candidates(candidates);
  return candidates;
}

std::vector<std::vector<double>> losses_of(const StudyContents& study, const StudyFacts& facts,
                                           const std::string& scheme) {
  std::vector<std::vector<double>> losses;
  for (size_t w = 0; w < facts.windows.size(); ++w) {
    if (facts.windows[w].held_out) continue;
    if (const Cell* plain = cell_of(study, facts, scheme, "plain", w))
      losses.push_back(plain->losses);
  }
  return losses;
}

std::vector<CopyAtDistance> copy_by_distance(const StudyContents& study, const StudyFacts& facts,
                                             const std::string& scheme) {
  std::map<int64_t, std::vector<Tally>> by_distance;
  for (size_t w = 0; w < facts.windows.size(); ++w) {
    if (facts.windows[w].held_out) continue;
    const CopyCells cells = copy_cells(study, facts, scheme, w);
    if (!cells) continue;
    const CopyTest test = test_of(facts.windows[w]);
    const std::vector<Tally> gains =
        copy_gains(test, cells.repeated->losses, cells.control->losses);
    for (size_t k = 0; k < gains.size(); ++k)
      by_distance[test.repeats[k].distance].push_back(gains[k]);
  }
  std::vector<CopyAtDistance> all;
  for (const auto& [distance, tallies] : by_distance) {
    if (const auto gain = estimate(tallies)) all.push_back({.distance = distance, .gain = *gain});
  }
  return all;
}

}  // namespace ropewalk
