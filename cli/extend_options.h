// What `ropewalk extend` is asked for.
#ifndef ROPEWALK_CLI_EXTEND_OPTIONS_H_
#define ROPEWALK_CLI_EXTEND_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/model_options.h"
#include "cli/study_options.h"
#include "ropewalk/config/portability.h"
#include "ropewalk/study/race_plan.h"

namespace ropewalk {

struct ExtendOptions {
  ModelOptions model;
  TextOptions text;
  int64_t target = 0;
  std::vector<std::string> schemes;
  size_t copy_windows = 4;
  std::optional<size_t> held_out;  // windows; nothing: as many as hold_out() takes by itself
  std::string study;
  std::string output;
  std::string engine;            // empty: the one that reads the model's format
  std::optional<double> budget;  // seconds
  std::optional<size_t> search;  // settings; nothing: what the budget has time for
  bool force = false;
  bool json = false;

  void add_to(CLI::App& command);

  // The engine to judge for. Throws Error where what is asked for could not be written for it.
  TargetEngine target_engine() const;
  // Throws Error where the output would overwrite an input, or what it must not replace.
  void check_files() const;
  // Throws Error where there is nothing to extend, or no text to tell it by.
  void check_lengths(int64_t trained, const StudyText& text) const;

  std::vector<std::string> candidates(int64_t trained) const;
  // Settings that are searched for past the grid, at most.
  size_t most_searched() const;
  // Of the race where time does not matter. Throws Error where no window is left to choose by.
  RacePlan plan(const StudyText& text, int64_t trained) const;
};

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_EXTEND_OPTIONS_H_
