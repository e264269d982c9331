#ifndef ROPEWALK_CLI_REPORT_TEXT_H_
#define ROPEWALK_CLI_REPORT_TEXT_H_

#include <string>
#include <vector>

#include "cli/study_summary.h"
#include "cli/text_layout.h"

namespace ropewalk {

// The report for a terminal: curves in block characters, tables, words. Only commands are longer
// than the lines.
std::string report_text(const StudySummary& study, const PageWidth& width);

// The commands that run each winner, by engine.
std::string running_text(const std::vector<Candidate>& candidates,
                         const Recommendation& recommendation);

// One block character for each value, the lowest and highest of `low` to `high`; a space for what
// is no number.
std::string spark_line(const std::vector<double>& values, double low, double high);

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_REPORT_TEXT_H_
