#ifndef ROPEWALK_CLI_RECALL_COMMAND_H_
#define ROPEWALK_CLI_RECALL_COMMAND_H_

#include <CLI/CLI.hpp>

namespace ropewalk {

void add_recall_command(CLI::App& app);

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_RECALL_COMMAND_H_
