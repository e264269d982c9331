// ropewalk bands: what positions do in a model, from one short pass over a text.
#ifndef ROPEWALK_CLI_BANDS_COMMAND_H_
#define ROPEWALK_CLI_BANDS_COMMAND_H_

#include <CLI/CLI.hpp>

namespace ropewalk {

void add_bands_command(CLI::App& app);

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_BANDS_COMMAND_H_
