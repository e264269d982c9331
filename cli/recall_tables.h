// What `ropewalk recall` found as tables and pictures of a study's report.
#ifndef ROPEWALK_CLI_RECALL_TABLES_H_
#define ROPEWALK_CLI_RECALL_TABLES_H_

#include <vector>

#include "cli/recall_report.h"
#include "cli/study_table.h"

namespace ropewalk {

// A table of each task by length, place and scheme, and the copies by position. Tables without a
// row are left out.
std::vector<StudyTable> recall_tables(const RecallReport& report);

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_RECALL_TABLES_H_
