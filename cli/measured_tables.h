// What was measured into a study beside its passes: recall, bias curve, what pairs are used for.
#ifndef ROPEWALK_CLI_MEASURED_TABLES_H_
#define ROPEWALK_CLI_MEASURED_TABLES_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/study_summary.h"
#include "cli/text_layout.h"
#include "ropewalk/report/table.h"

namespace ropewalk {

struct MeasuredTable {
  std::string place;  // of its record, for errors
  nlohmann::ordered_json record;
  ResultTable table;
};

// In order of their names. Throws Error where a record is no table.
std::vector<MeasuredTable> measured_tables(const StudySummary& study);

// All of them for a terminal: curves in block characters and grids of numbers.
std::string measured_text(const StudySummary& study, const PageWidth& width);

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_MEASURED_TABLES_H_
