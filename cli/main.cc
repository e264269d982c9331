// ropewalk: the command. Each subcommand lives in a file of its own.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <new>

#include "cli/check_command.h"
#include "cli/curve_command.h"
#include "cli/extend_command.h"
#include "cli/generate_command.h"
#include "cli/losses_command.h"
#include "cli/map_command.h"
#include "cli/show_command.h"
#include "cli/write_command.h"
#include "ropewalk/base/error.h"

// Exit status of a command line that was not understood; 1 is a task that failed.
constexpr int kUsage = 2;

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
    if (std::fflush(stdout) != 0) throw ropewalk::Error("standard output", "cannot be written");
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "ropewalk: not enough memory for this\n");
    return 1;
  } catch (const std::exception& error) {
    std::fflush(stdout);
    std::fprintf(stderr, "ropewalk: %s\n", error.what());
    return 1;
  }
}
