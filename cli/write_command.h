#ifndef ROPEWALK_CLI_WRITE_COMMAND_H_
#define ROPEWALK_CLI_WRITE_COMMAND_H_

#include <CLI/CLI.hpp>

namespace ropewalk {

// ropewalk write MODEL --scheme S -o OUT: a model file that declares another scheme.
void add_write_command(CLI::App& app);

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_WRITE_COMMAND_H_
