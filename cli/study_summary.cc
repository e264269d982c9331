#include "cli/study_summary.h"

#include <fmt/core.h>

#include <algorithm>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

// Tokens per second; 0 where nothing was timed.
double speed(const Candidate& candidate) {
  return candidate.seconds > 0 ? static_cast<double>(candidate.tokens) / candidate.seconds : 0;
}

void show_first(StudySummary& study, const std::string& scheme, const std::string& role) {
  for (StudySummary::Shown& shown : study.shown) {
    if (shown.scheme != scheme) continue;
    shown.role += (shown.role.empty() ? "" : ", ") + role;
    return;
  }
  study.shown.push_back({scheme, role});
}

void choose_shown(StudySummary& study) {
  if (study.find("declared") != nullptr) show_first(study, "declared", "as the file says");
  for (const Winner& winner : study.recommendation.winners)
    show_first(study, study.candidates[winner.index].scheme, to_string(winner.role));
  for (const Candidate& candidate : study.candidates) {
    if (!candidate.truncates || !candidate.finalist) continue;
    show_first(study, candidate.scheme, "forgets far text");
    break;
  }
}

}  // namespace

const SchemeFacts* StudySummary::facts_of(const std::string& scheme) const {
  const auto found = std::find_if(schemes.begin(), schemes.end(),
                                  [&](const SchemeFacts& one) { return one.scheme == scheme; });
  return found == schemes.end() ? nullptr : &*found;
}

const Candidate* StudySummary::find(const std::string& scheme) const {
  const auto found = std::find_if(candidates.begin(), candidates.end(),
                                  [&](const Candidate& one) { return one.scheme == scheme; });
  return found == candidates.end() ? nullptr : &*found;
}

std::string StudySummary::role_of(const std::string& scheme) const {
  for (const Shown& one : shown) {
    if (one.scheme == scheme) return one.role;
  }
  return "";
}

std::optional<double> StudySummary::relative_speed(const Candidate& candidate) const {
  const Candidate* declared = find("declared");
  if (declared == nullptr || speed(*declared) <= 0 || speed(candidate) <= 0) return std::nullopt;
  return speed(candidate) / speed(*declared);
}

std::vector<Bucket> StudySummary::curve(const std::string& scheme, int64_t n_buckets) const {
  return loss_curve(losses_of(contents, facts, scheme), facts.trained_length, n_buckets);
}

std::string StudySummary::title() const {
  return fmt::format("{}: {} to {} tokens", facts.model, facts.trained_length, facts.target_length);
}

std::vector<std::pair<std::string, std::string>> running_lines(const Candidate& candidate) {
  std::vector<std::pair<std::string, std::string>> lines;
  for (const EngineVerdict& verdict : candidate.engines) {
    for (const std::string& line : verdict.lines) lines.emplace_back(verdict.engine, line);
  }
  if (lines.empty()) {
    lines.emplace_back(
        "Ropewalk only",
        fmt::format("ropewalk generate MODEL --scheme '{}' -p TEXT -n 200", candidate.scheme));
  }
  return lines;
}

StudySummary summarize_study(const std::string& path) {
  StudySummary study{.contents = read_study(path)};
  study.facts = study_facts(study.contents);
  study.schemes = all_scheme_facts(study.contents);
  study.candidates = candidates_of(study.contents);
  if (study.candidates.empty()) {
    throw Error(path, "must have a finished pass to report", "none",
                "let `ropewalk extend` run on");
  }
  const StudyScope scope = scope_of(study.facts);
  study.recommendation = recommend(study.candidates, scope);
  study.calibrations = calibrate(study.candidates, scope, study.facts.model, published_orderings());
  choose_shown(study);
  return study;
}

}  // namespace ropewalk
