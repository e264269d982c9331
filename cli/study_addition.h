// What other commands add to a study of `extend`, for its report to show.
#ifndef ROPEWALK_CLI_STUDY_ADDITION_H_
#define ROPEWALK_CLI_STUDY_ADDITION_H_

#include <CLI/CLI.hpp>
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

// Tables as a study keeps them (study/record.h), in place of those of these names that it has. All of
// them or, where it throws Error, none.
void put_tables(StudyStore& store, const std::vector<StudyTable>& tables);

// The study, held from the beginning of the measurement to its end, so that what cannot be added is
// said before anything long is run.
class StudyAddition {
 public:
  // Throws Error where the file is no study of `extend`, or is one of another model, precision or
  // version.
  StudyAddition(const std::string& path, const std::string& model, const std::string& precision);

  // As put_tables() does.
  void add(const std::vector<StudyTable>& tables) { put_tables(store_, tables); }

 private:
  StudyStore store_;
};

// --into STUDY
void add_into_option(CLI::App& command, std::string& path);

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_STUDY_ADDITION_H_
