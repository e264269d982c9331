// What `ropewalk extend` found, for people and for machines.
#ifndef ROPEWALK_CLI_EXTEND_REPORT_H_
#define ROPEWALK_CLI_EXTEND_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ropewalk/config/scheme_writer.h"
#include "ropewalk/study/bands.h"
#include "ropewalk/study/calibration.h"
#include "ropewalk/study/race.h"
#include "ropewalk/study/recommend.h"

namespace ropewalk {

// All that may differ between two equal runs.
struct RunFacts {
  std::string study;
  double seconds = 0;
  int ranks = 1;
  int threads = 0;         // of each rank
  int64_t peak_bytes = 0;  // of the rank that answers
};

struct ExtendReport {
  std::string model;
  TargetEngine engine = TargetEngine::kLlamaCpp;
  int64_t trained_length = 0;
  int64_t target_length = 0;
  std::string text;
  std::string left_out = {};            // of the race, for want of time
  int64_t held_out = 0;                 // windows that took no part in choosing
  std::optional<BiasReport> bias = {};  // of the model as declared; none where no layer rotates
  std::vector<Candidate> candidates = {};
  Recommendation recommendation = {};
  std::vector<Calibration> calibrations = {};
  int64_t prompt_tokens = 0;
  std::vector<std::pair<std::string, std::string>> passages = {};  // scheme, its 60 tokens
  std::optional<WriteReport> written = {};
  RunFacts run = {};

  std::vector<std::string> proposed() const {
    return bias ? proposed_schemes(*bias) : std::vector<std::string>();
  }
};

std::string to_text(const ExtendReport& report);
std::string to_json(const ExtendReport& report);

// The same for a study to keep: on one line, and without what names this machine's folders.
std::string outcome_json(const ExtendReport& report);

// The last part of a path.
std::string file_name(const std::string& path);

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_EXTEND_REPORT_H_
