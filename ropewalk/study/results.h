// From losses to a candidate's numbers: one arithmetic for a race as it runs and for a study read
// from its file.
#ifndef ROPEWALK_STUDY_RESULTS_H_
#define ROPEWALK_STUDY_RESULTS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ropewalk/study/race.h"
#include "ropewalk/study/recommend.h"
#include "ropewalk/study/record.h"
#include "ropewalk/study/store.h"

namespace ropewalk {

// What its facts say of a scheme, before anything is measured.
//   engine    the one asked for
//   declared  the facts of "declared"; null where there are none
Candidate candidate_of(const SchemeFacts& scheme, const std::string& engine,
                       const SchemeFacts* declared);

// Fills the candidate's windows and estimates from its tallies.
//   declared_inside  of "declared" over the same windows; empty where it did not run them
void fill_estimates(std::span<const Tally> declared_inside, Candidate& candidate);

// Fills the estimates of windows that are held out from their tallies.
//   declared_inside  of "declared" over the same windows; empty where it did not run them
void fill_held_out(std::span<const Tally> declared_inside, HeldOut& held_out);

// Fills its shape, where declared ran the same windows.
//   declared_runs  as Tallies::runs, of "declared" over the same windows
void fill_shape(std::span<const std::vector<Tally>> declared_runs, int64_t trained_length,
                Candidate& candidate);

// What the doubts of a recommendation go by.
StudyScope scope_of(const StudyFacts& facts);

// Finalists by ascending telling_mean(), then the others, those that ran longer first.
void sort_candidates(std::vector<Candidate>& candidates);

// The numbers of every scheme that the study has a whole window of, sorted; as run_race() returns
// them, resumed_cells apart. Of a study that is not finished, finalists are those that ran every
// window that chooses.
// Throws Error where the study does not say what it measured.
std::vector<Candidate> candidates_of(const StudyContents& study);

// Losses of the scheme's windows that choose, by window; empty where the study has none.
std::vector<std::vector<double>> losses_of(const StudyContents& study, const StudyFacts& facts,
                                           const std::string& scheme);

// Copy gain at each distance of the copy test, over windows that choose. Sorted by distance.
struct CopyAtDistance {
  int64_t distance = 0;
  Estimate gain;  // nats per repeated token
};
std::vector<CopyAtDistance> copy_by_distance(const StudyContents& study, const StudyFacts& facts,
                                             const std::string& scheme);

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_RESULTS_H_
