// The two passages that anyone can judge: what the model writes past its trained length, as
// declared and under the winner.
#ifndef ROPEWALK_CLI_EXTEND_PASSAGES_H_
#define ROPEWALK_CLI_EXTEND_PASSAGES_H_

#include <cstdint>

#include "cli/extend_report.h"
#include "cli/study_options.h"
#include "ropewalk/engine/model.h"

namespace ropewalk {

inline constexpr int64_t kShownTokens = 60;  // of each passage

// Tokens of the prompt of both passages; below 1: there is no room for one.
int64_t passage_prompt(const StudyText& text, int64_t trained, int64_t target);

// None without a tokenizer or a winner.
void add_passages(const Model& model, const StudyText& text, ExtendReport& report);

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_EXTEND_PASSAGES_H_
