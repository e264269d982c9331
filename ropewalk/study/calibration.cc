#include "ropewalk/study/calibration.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk {
namespace {

constexpr double kSameStretch = 1.25;  // times more or less is another length
constexpr double kSameShare = 0.06;    // of a parameter's share of L; grids have 0.7 for 0.75

bool is_setting_of(const PublishedScheme& published, const Candidate& candidate,
                   int64_t trained_length) {
  const ParsedScheme parsed = parse_scheme(candidate.scheme);
  if (parsed.parts.size() != 1 || parsed.parts.front().scheme->name != published.name) return false;
  const SchemeParams& params = parsed.parts.front().params;
  if (params.has("pairs")) return false;  // moves only some
  if (published.parameter.empty()) return true;
  const auto value = static_cast<double>(params.integer(published.parameter));
  return std::abs(value / static_cast<double>(trained_length) - published.share) <= kSameShare;
}

// The first of the sorted candidates, so the best, that is a setting of it; null where none is.
// Declared stands for the file as trained where nothing is declared, which rope's losses tell.
const Candidate* find_setting(const PublishedScheme& published,
                              const std::vector<Candidate>& candidates, int64_t trained_length) {
  const auto found = std::ranges::find_if(candidates, [&](const Candidate& candidate) {
    return is_setting_of(published, candidate, trained_length);
  });
  if (found == candidates.end()) return nullptr;
  const bool is_declared = found->shape && found->shape->past == PastLength::kAsDeclared;
  if (published.name != "rope" || !is_declared) return &*found;
  return &*std::ranges::find(candidates, "declared", &Candidate::scheme);
}

// Over the first windows of both.
std::optional<Estimate> difference(const std::vector<Tally>& a, const std::vector<Tally>& b) {
  const size_t both = std::min(a.size(), b.size());
  const auto one = std::span(a).first(both);
  const auto other = std::span(b).first(both);
  if (!std::ranges::equal(one, other, {}, &Tally::count, &Tally::count)) return std::nullopt;
  return estimate_difference(one, other);
}

PairVerdict verdict_of(const Estimate& lead) {
  if (!lead.interval) return PairVerdict::kUntold;
  if (lead.interval->low > 0) return PairVerdict::kAgrees;
  return lead.interval->high < 0 ? PairVerdict::kContradicts : PairVerdict::kOverlaps;
}

std::optional<ComparedPair> compare(const PublishedOrdering& ordering,
                                    std::pair<const PublishedScheme*, const Candidate*> better,
                                    std::pair<const PublishedScheme*, const Candidate*> worse) {
  const Tallies& ours = better.second->tallies;
  const Tallies& theirs = worse.second->tallies;
  const std::optional<Estimate> lead = ordering.of_recall
                                           ? difference(ours.copy_beyond, theirs.copy_beyond)
                                           : difference(theirs.beyond, ours.beyond);
  if (!lead || std::isnan(lead->mean)) return std::nullopt;
  return ComparedPair{.better = better.second->scheme,
                      .worse = worse.second->scheme,
                      .better_figure = better.first->figure,
                      .worse_figure = worse.first->figure,
                      .lead = *lead,
                      .verdict = verdict_of(*lead)};
}

std::vector<ComparedPair> compare_all(const PublishedOrdering& ordering,
                                      const std::vector<Candidate>& candidates,
                                      int64_t trained_length) {
  std::vector<std::pair<const PublishedScheme*, const Candidate*>> measured;
  for (const PublishedScheme& scheme : ordering.schemes) {
    if (const Candidate* const setting = find_setting(scheme, candidates, trained_length))
      measured.emplace_back(&scheme, setting);
  }
  std::vector<ComparedPair> pairs;
  for (const auto& better : measured) {
    for (const auto& worse : measured) {
      const double more = better.first->figure - worse.first->figure;
      if (better.second == worse.second || !(ordering.more_is_better ? more > 0 : more < 0))
        continue;
      if (const auto pair = compare(ordering, better, worse)) pairs.push_back(*pair);
    }
  }
  return pairs;
}

}  // namespace

std::string to_string(PairVerdict verdict) {
  switch (verdict) {
    case PairVerdict::kAgrees:
      return "agrees";
    case PairVerdict::kOverlaps:
      return "overlaps";
    case PairVerdict::kContradicts:
      return "contradicts";
    case PairVerdict::kUntold:
      return "one window";
  }
  return "";
}

size_t Calibration::count(PairVerdict verdict) const {
  return static_cast<size_t>(std::ranges::count(pairs, verdict, &ComparedPair::verdict));
}

std::vector<Calibration> calibrate(const std::vector<Candidate>& candidates,
                                   const StudyScope& scope, const std::string& model,
                                   std::span<const PublishedOrdering> orderings) {
  std::vector<Calibration> all;
  if (scope.trained_length < 1) return all;
  const double stretch =
      static_cast<double>(scope.target_length) / static_cast<double>(scope.trained_length);
  for (const PublishedOrdering& ordering : orderings) {
    const double times = stretch / ordering.stretch;
    if (times > kSameStretch || times < 1 / kSameStretch) continue;
    std::vector<ComparedPair> pairs = compare_all(ordering, candidates, scope.trained_length);
    if (pairs.empty()) continue;
    const bool same = !ordering.file.empty() && model.find(ordering.file) != std::string::npos;
    all.push_back({.ordering = &ordering, .same_model = same, .pairs = std::move(pairs)});
  }
  return all;
}

std::string calibration_sentence(std::span<const Calibration> calibrations) {
  size_t pairs = 0;
  const auto count = [&](PairVerdict verdict) {
    size_t sum = 0;
    for (const Calibration& one : calibrations) sum += one.count(verdict);
    return sum;
  };
  for (const Calibration& one : calibrations) pairs += one.pairs.size();
  if (pairs == 0) return "";
  const bool others =
      std::ranges::any_of(calibrations, [](const Calibration& one) { return !one.same_model; });
  return fmt::format(
      "Published orderings at this stretch{}: of {} pair{} measured here too, {} agree, {} "
      "overlap, {} contradict{}.",
      others ? ", of other models, which are not expected to be equal" : "", pairs,
      pairs == 1 ? "" : "s", count(PairVerdict::kAgrees), count(PairVerdict::kOverlaps),
      count(PairVerdict::kContradicts),
      count(PairVerdict::kUntold) == 0
          ? ""
          : fmt::format(", {} ran one window", count(PairVerdict::kUntold)));
}

}  // namespace ropewalk
