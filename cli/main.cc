// ropewalk: the command. Each subcommand lives in a file of its own.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "cli/check_command.h"
#include "cli/curve_command.h"
#include "cli/extend_command.h"
#include "cli/generate_command.h"
#include "cli/losses_command.h"
#include "cli/map_command.h"
#include "cli/show_command.h"
#include "cli/write_command.h"
#include "ropewalk/base/error.h"

int main(int argc, char** argv) {
  CLI::App app("Position encodings of Transformers: made, checked and stretched.", "ropewalk");
  app.require_subcommand(1);
  app.set_version_flag("--version", ROPEWALK_VERSION);
  ropewalk::add_show_command(app);
  ropewalk::add_check_command(app);
  ropewalk::add_losses_command(app);
  ropewalk::add_curve_command(app);
  ropewalk::add_extend_command(app);
  ropewalk::add_generate_command(app);
  ropewalk::add_map_command(app);
  ropewalk::add_write_command(app);
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const std::exception& error) {
    std::fflush(stdout);
    std::fprintf(stderr, "ropewalk: %s\n", error.what());
    return 1;
  }
}
