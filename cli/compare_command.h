#ifndef ROPEWALK_CLI_COMPARE_COMMAND_H_
#define ROPEWALK_CLI_COMPARE_COMMAND_H_

#include <CLI/CLI.hpp>

namespace ropewalk {

// ropewalk compare A B: whether two files turn alike, and where they part. Exit status 0 where they
// are equal, 1 where they differ, 2 where one cannot be read.
void add_compare_command(CLI::App& app);

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_COMPARE_COMMAND_H_
