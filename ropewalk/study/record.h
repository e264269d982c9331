// What a study's file says beside its cells, so that the file alone can be reported: names, sizes,
// what each scheme does to distances and frequencies. Kept as JSON documents:
//   "facts"           StudyFacts
//   "scheme/<name>"   SchemeFacts of each candidate
//   "outcome"         what the last finished run found, as `extend --json` prints it
//   "table/<name>"    any other measurement, as ropewalk/report/table.h spells it
//   "job"             which job of several ranks finished it last, and how often (study/job_state.h)
#ifndef ROPEWALK_STUDY_RECORD_H_
#define ROPEWALK_STUDY_RECORD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/config/model_config.h"
#include "ropewalk/config/model_format.h"
#include "ropewalk/study/copy_gain.h"
#include "ropewalk/study/store.h"

namespace ropewalk {

inline constexpr const char* kFactsRecord = "facts";
inline constexpr const char* kOutcomeRecord = "outcome";
inline constexpr const char* kSchemeRecords = "scheme/";
inline constexpr const char* kTableRecords = "table/";
inline constexpr const char* kJobRecord = "job";

// A window without its tokens.
struct WindowFacts {
  std::string document;         // its file's name, without folders
  int64_t first = 0;            // its first token in the document
  int64_t tokens = 0;           // BOS included
  std::vector<Repeat> repeats;  // of the copy test; empty where none is run on it
  // Nothing counts that was run on it: for want of time; or, where it is held out as well, because
  // of studies that were merged one chose by it and one did not, which further merging must know.
  bool left_out = false;
  bool held_out = false;  // took no part in choosing, but tells of what was chosen
};

struct StudyFacts {
  std::string model;        // its file's name, without folders
  std::string description;  // "llama, 5 layers, 8 query heads, ..."
  int64_t trained_length = 0;
  int64_t target_length = 0;
  std::string engine;  // that was asked for
  std::string precision;
  std::string text;  // one line on documents, windows and BOS
  int threads = 0;
  std::string started;   // UTC, ISO 8601
  std::string finished;  // empty: the study is not
  std::string left_out;  // of the race, by its budget of time; empty: nothing
  std::vector<WindowFacts> windows;
};

struct EngineVerdict {
  std::string engine;
  bool portable = false;
  std::string how;                 // or why not
  std::vector<std::string> lines;  // as engine_lines() has them
};

// What a candidate is, of the model's first rotary layers.
struct SchemeFacts {
  std::string scheme;  // canonical
  std::vector<EngineVerdict> engines;
  bool truncates = false;
  bool recommended = true;
  bool finalist = false;                         // of a finished study
  bool keeps_distances = true;                   // sees every key, at its true distance
  std::string found_by;                          // where the search past the grid met it
  std::vector<int64_t> distances;                // rising, about equally far on a log scale
  std::vector<std::optional<double>> effective;  // f(d) of each; nothing: the key is not seen
  std::vector<double> inv_freq;                  // (n_pairs), radians per token at N tokens
};

// Of the first layers that rotate; throws Error where none does.
const Rotary& first_rotary(const ModelConfig& config);

// Throws Error where the scheme does not fit the model.
//   n  N, the target length
SchemeFacts scheme_facts(const ModelConfig& config, ModelFormat format, const std::string& scheme,
                         int64_t n);

// "llama, 5 layers, 8 query heads, 4 key heads of 8 coordinates, base 10000"
std::string describe_model(const ModelConfig& config);

// "2026-11-30T12:00:00Z"
std::string utc_now();

std::string to_json(const StudyFacts& facts);
std::string to_json(const SchemeFacts& facts);

// Throw Error, naming the study, where a record is missing or is none.
StudyFacts study_facts(const StudyContents& study);
std::vector<SchemeFacts> all_scheme_facts(const StudyContents& study);

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_RECORD_H_
