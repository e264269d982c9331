// A study's numbers as tables: what the page shows, and what is saved as CSV and JSON.
#ifndef ROPEWALK_CLI_STUDY_TABLES_H_
#define ROPEWALK_CLI_STUDY_TABLES_H_

#include <string>
#include <vector>

#include "cli/study_summary.h"
#include "ropewalk/report/table.h"

namespace ropewalk {

ResultTable winners_table(const StudySummary& study);
ResultTable evidence_table(const StudySummary& study);
ResultTable ranking_table(const StudySummary& study);
ResultTable loss_table(const StudySummary& study);
ResultTable copy_table(const StudySummary& study);  // no rows where no copy test was run
ResultTable cost_table(const StudySummary& study);
ResultTable search_table(const StudySummary& study);  // finalists, and all that was searched for
ResultTable distance_table(const StudySummary& study);
ResultTable pair_table(const StudySummary& study);
ResultTable band_table(const StudySummary& study);
ResultTable window_table(const StudySummary& study);
ResultTable fact_table(const StudySummary& study);
inline constexpr const char* kPassTable = "passes";
ResultTable pass_table(const StudySummary& study);  // every pass there is

// How a candidate can be run: the kinds that the picture of cost tells apart.
std::string running_kind(const StudySummary& study, const Candidate& candidate);
std::vector<std::string> running_kinds(const StudySummary& study);

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_STUDY_TABLES_H_
