// ropewalk tokens: what a model's tokenizer makes of texts.
#ifndef ROPEWALK_CLI_TOKENS_COMMAND_H_
#define ROPEWALK_CLI_TOKENS_COMMAND_H_

#include <CLI/CLI.hpp>

namespace ropewalk {

void add_tokens_command(CLI::App& app);

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_TOKENS_COMMAND_H_
