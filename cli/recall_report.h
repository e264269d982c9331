// What `ropewalk recall` found, as a page and as JSON.
#ifndef ROPEWALK_CLI_RECALL_REPORT_H_
#define ROPEWALK_CLI_RECALL_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ropewalk/study/copy_curve.h"
#include "ropewalk/study/recall.h"

namespace ropewalk {

struct SchemeRecall {
  std::string scheme;  // canonical
  std::vector<RecallCell> cells;
  std::vector<CopyPoint> by_distance;
  std::vector<CopyPoint> by_position;
};

// What the known scorers make of the very prompts, before a model is asked: whole where the copier
// finds all and the uniform model is at chance.
struct RecallSelfTest {
  int64_t cells = 0;
  int64_t copier_missed = 0;   // of passkey, needles and latest
  int64_t uniform_missed = 0;  // away from chance

  bool passed() const { return copier_missed == 0 && uniform_missed == 0; }
};

struct RecallReport {
  std::string model;
  int64_t trained_length = 0;  // 0: none is known
  int64_t target_length = 0;
  std::string text;  // one line on documents and tokens
  RecallPlan plan;
  bool copies = false;  // were asked for
  size_t copy_windows = 0;
  int64_t copy_distance = 0;  // of the positions' curve
  RecallSelfTest self_test;
  std::vector<SchemeRecall> schemes;

  struct Run {
    double seconds = 0;
    int threads = 0;
    std::string study;       // empty: none
    int64_t from_study = 0;  // calls that it answered
  } run;
};

// "one number in a passage said over and over"
std::string meaning_of(RecallTask task);

// A page. Intervals of the depth tables are in the JSON alone.
std::string to_text(const RecallReport& report);
// All that may differ between equal runs stands under "run".
std::string to_json(const RecallReport& report);

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_RECALL_REPORT_H_
