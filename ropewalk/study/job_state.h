// How far a job of several ranks is with a study, in the note that its ranks read and in the study's
// file. Numbers tell a rank that is late from one that the same job has started anew; clocks do not,
// for those of machines differ.
#ifndef ROPEWALK_STUDY_JOB_STATE_H_
#define ROPEWALK_STUDY_JOB_STATE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/study/ranks.h"

namespace ropewalk {

enum class JobStage {
  kOpening,  // nothing else is known yet
  kOpen,     // the folder has all that the study has
  kFinished,
};

struct JobState {
  JobStage stage = JobStage::kOpening;
  int64_t invocation = 0;          // of the program by the job, from 1; 0: none
  std::vector<int64_t> seen = {};  // (ranks): the last invocation that each knows to be finished

  // The invocation that a process of the rank belongs to which comes now: each rank runs all of them.
  int64_t next_of(int rank) const { return seen[static_cast<size_t>(rank)] + 1; }
};

JobState new_job(const Ranks& ranks);

// A JSON document.
std::string to_json(const Ranks& ranks, const JobState& state);

// Nothing where the text is none of these, or of another job.
std::optional<JobState> parse_job_state(const std::string& text, const Ranks& ranks);

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_JOB_STATE_H_
