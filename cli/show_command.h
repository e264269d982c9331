#ifndef ROPEWALK_CLI_SHOW_COMMAND_H_
#define ROPEWALK_CLI_SHOW_COMMAND_H_

#include <CLI/CLI.hpp>

namespace ropewalk {

// ropewalk show MODEL: what the file declares of its positions, each number with where it is from.
void add_show_command(CLI::App& app);

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_SHOW_COMMAND_H_
