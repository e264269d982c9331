// What other commands add to a study of `extend`, for its report to show.
#ifndef ROPEWALK_CLI_STUDY_ADDITION_H_
#define ROPEWALK_CLI_STUDY_ADDITION_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/study_table.h"
#include "ropewalk/study/store.h"

namespace ropewalk {

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
