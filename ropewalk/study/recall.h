// Whether a model finds what it has read: questions about sentences hidden in the user's own text,
// scored by the losses of the answers, so that models that follow no instructions can be measured.
//
// Sources: the passkey task of Mohtashami and Jaggi 2023 (2305.16300); several needles and depths,
// Kamradt 2023; the key that is overwritten, and the order of events, are our own.
#ifndef ROPEWALK_STUDY_RECALL_H_
#define ROPEWALK_STUDY_RECALL_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/study/bootstrap.h"
#include "ropewalk/study/scorer.h"
#include "ropewalk/study/windows.h"
#include "ropewalk/text/tokenizer.h"

namespace ropewalk {

enum class RecallTask : uint8_t {
  kPasskey,  // one number in one short passage of the text, said over and over
  kNeedles,  // numbers of several names in the text: which is whose
  kLatest,   // one name's number, changed at every depth: which is the last
  kOrder,    // of two that came, who came first
};
inline constexpr std::array kRecallTasks = {RecallTask::kPasskey, RecallTask::kNeedles,
                                            RecallTask::kLatest, RecallTask::kOrder};

std::string to_string(RecallTask task);

struct RecallPlan {
  std::vector<RecallTask> tasks = {kRecallTasks.begin(), kRecallTasks.end()};
  std::vector<int64_t> lengths;  // tokens of the text, the question and its answer
  std::vector<double> depths = {0, 0.25, 0.5, 0.75, 1};  // rising, 0 the start of the text
  int64_t trials = 4;                                    // of each task and length
  uint64_t seed = 1;
};

// One question of a haystack.
struct Probe {
  std::string place;     // "25 %"; of the order: "0 % and 25 %"
  std::string answer;    // "48213"
  int64_t position = 0;  // where the needle begins, in tokens; of the order that of the first
};

// A text with needles, and what is asked behind it. The first choice of each question is right.
struct Haystack {
  RecallTask task = RecallTask::kPasskey;
  int64_t length = 0;  // that was asked for
  int64_t trial = 0;
  std::vector<int32_t> text;  // BOS included
  std::vector<Question> questions;
  std::vector<Probe> probes;  // (questions.size())
  std::string not_run;        // why not; empty: it is
};

// Tokens of the text with its longest question and answer: at most the length asked for.
int64_t achieved_length(const Haystack& haystack);

// Equal documents, plans and tokenizers give equal haystacks. An answer stands nowhere but in its
// needle, and not in the question; wrong choices have as many tokens as the right one.
//   documents  without special tokens; filler is cut from them at places that the seed says
std::vector<Haystack> make_haystacks(const Tokenizer& tokenizer,
                                     const std::vector<Document>& documents,
                                     const RecallPlan& plan);

// What came of one task at one length and place, over all trials.
struct RecallCell {
  RecallTask task = RecallTask::kPasskey;
  int64_t length = 0;
  std::string place;
  int64_t achieved_length = 0;  // the shortest of the trials
  double achieved_depth = 0;    // of the needle's first token in that many tokens; the mean
  double chance = 0;            // of `found`, for one who guesses
  Estimate found;               // 1 where the right choice has the lowest loss; of ties a share
  Estimate gain;                // nats per token: mean loss of wrong choices less that of the right
  Estimate loss;                // nats per token of the right one
  std::optional<Estimate> strict;  // its own answer begins with the right one, token for token
  std::optional<Estimate> loose;   // its own answer has the right one in it
  std::string not_run;             // why; then nothing above is set
};

// Trials are what is resampled. Cells come in the order of the haystacks.
std::vector<RecallCell> measure_recall(const Scorer& scorer, const Tokenizer& tokenizer,
                                       const std::vector<Haystack>& haystacks,
                                       const Progress& progress = {});

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_RECALL_H_
