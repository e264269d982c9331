// A study read for people: its candidates, the recommendation, and who is shown first.
#ifndef ROPEWALK_CLI_STUDY_SUMMARY_H_
#define ROPEWALK_CLI_STUDY_SUMMARY_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ropewalk/study/calibration.h"
#include "ropewalk/study/curve.h"
#include "ropewalk/study/recommend.h"
#include "ropewalk/study/record.h"
#include "ropewalk/study/results.h"

namespace ropewalk {

struct StudySummary {
  StudyContents contents;
  StudyFacts facts;
  std::vector<SchemeFacts> schemes;
  std::vector<Candidate> candidates;  // as candidates_of() sorts them
  Recommendation recommendation;      // over everything in the study
  std::vector<Calibration> calibrations;

  // Those whom every picture shows first: declared, the winners, the best that forgets far text.
  struct Shown {
    std::string scheme;
    std::string role;
  };
  std::vector<Shown> shown;

  const SchemeFacts* facts_of(const std::string& scheme) const;
  const Candidate* find(const std::string& scheme) const;
  bool is_finished() const { return !facts.finished.empty(); }
  std::string role_of(const std::string& scheme) const;  // empty: none

  // Tokens per second over declared's, as the passes were timed; nothing where either is unknown.
  std::optional<double> relative_speed(const Candidate& candidate) const;

  // About 32 runs of positions, over the scheme's windows.
  std::vector<Bucket> curve(const std::string& scheme, int64_t n_buckets = 32) const;

  // "smollm2.gguf: 2048 to 8192 tokens"
  std::string title() const;
};

// Engines and what they are given to run it, in order; what no engine runs, Ropewalk does.
std::vector<std::pair<std::string, std::string>> running_lines(const Candidate& candidate);

// Throws Error where it is no study, or has no finished pass.
StudySummary summarize_study(const std::string& path);

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_STUDY_SUMMARY_H_
