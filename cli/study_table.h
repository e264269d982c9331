// Tables that a study has besides its own (study/record.h), for its report to show.
#ifndef ROPEWALK_CLI_STUDY_TABLE_H_
#define ROPEWALK_CLI_STUDY_TABLE_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ropewalk/report/table.h"
#include "ropewalk/study/store.h"

namespace ropewalk {

// A table with the picture that a report draws of it.
struct StudyTable {
  ResultTable table;
  nlohmann::ordered_json spec;  // Vega-Lite, without "data"
  std::string description;      // what one sees
};

// In place of those of these names that it has. All of them or, where it throws Error, none.
void put_tables(StudyStore& store, const std::vector<StudyTable>& tables);

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_STUDY_TABLE_H_
