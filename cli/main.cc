// ropewalk: the command. Each subcommand lives in a file of its own.
#include <fcntl.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <new>
#include <string>
#include <system_error>

#include "cli/bands_command.h"
#include "cli/check_command.h"
#include "cli/compare_command.h"
#include "cli/curve_command.h"
#include "cli/exit_status.h"
#include "cli/extend_command.h"
#include "cli/generate_command.h"
#include "cli/losses_command.h"
#include "cli/map_command.h"
#include "cli/merge_command.h"
#include "cli/messages.h"
#include "cli/perplexity_command.h"
#include "cli/recall_command.h"
#include "cli/report_command.h"
#include "cli/show_command.h"
#include "cli/states_command.h"
#include "cli/terminal_text.h"
#include "cli/tokens_command.h"
#include "cli/write_command.h"
#include "ropewalk/base/error.h"

namespace {

// Exit status of a command line that was not understood; 1 is a task that failed.
constexpr int kUsage = 2;

int refuse_usage(const CLI::App& app, const CLI::ParseError& error) {
  // Where something is missing, a mistyped option may be why: it is what must be named.
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    for (const std::string& word : app.remaining(true)) {
      if (word.size() < 2 || word[0] != '-') continue;
      return app.exit(CLI::ExtrasError({word})) == 0 ? 0 : kUsage;
    }
  }
  return app.exit(error) == 0 ? 0 : kUsage;
}

// Were one of the three that every program has closed, the first file that is opened would get its
// number, and what is printed with it. Opened so that they cannot be used for what they are for, they
// fail as closed ones do.
void fill_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    const int file = open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (file != stream) std::_Exit(1);
  }
}

// A value of the command line may be anything.
std::string usage_message(const CLI::App* app, const CLI::Error& error) {
  const std::string said = error.what();
  return ropewalk::terminal_text(said) +
         CLI::FailureMessage::simple(app, error).substr(said.size());
}

int flush_output() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw ropewalk::Error("standard output", "cannot be written");
  return 0;
}

// OpenMP's threads spin while they wait, which on a machine with other work makes a token cost a
// hundred times its price. How they wait is read when the library is loaded, before main(): so the
// program starts once more, unless the user has said how.
void wait_without_spinning(char** arguments) {
  for (const char* const said : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"}) {
    if (std::getenv(said) != nullptr) return;
  }
  // Started through a loader, the link names the loader, and arguments no longer do.
  const auto* const program = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  std::error_code failed;
  const char* const link = "/proc/self/exe";
  if (program == nullptr || !std::filesystem::equivalent(link, program, failed)) return;
  const std::filesystem::path self = std::filesystem::read_symlink(link, failed);
  if (failed || setenv("OMP_WAIT_POLICY", "passive", 1) != 0) return;
  execv(self.c_str(), arguments);  // returns only where it fails: then they spin
}

// Of a help text: it may not have come through.
int help_status(int status) {
  if (status != 0 || (std::cout.flush() && std::fflush(stdout) == 0)) return status;
  ropewalk::complain("standard output: cannot be written");
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  fill_closed_streams();
  wait_without_spinning(argv);
  CLI::App app("Position encodings of Transformers: made, checked and stretched.", "ropewalk");
  app.require_subcommand(1);
  app.failure_message(usage_message);
  app.set_version_flag("--version", ROPEWALK_VERSION);
  ropewalk::add_show_command(app);
  ropewalk::add_check_command(app);
  ropewalk::add_compare_command(app);
  ropewalk::add_losses_command(app);
  ropewalk::add_curve_command(app);
  ropewalk::add_bands_command(app);
  ropewalk::add_extend_command(app);
  ropewalk::add_generate_command(app);
  ropewalk::add_map_command(app);
  ropewalk::add_merge_command(app);
  ropewalk::add_perplexity_command(app);
  ropewalk::add_recall_command(app);
  ropewalk::add_report_command(app);
  ropewalk::add_states_command(app);
  ropewalk::add_tokens_command(app);
  ropewalk::add_write_command(app);
  try {
    try {
      app.parse(argc, argv);
    } catch (const ropewalk::ExitStatus& status) {
      flush_output();
      return status.code;
    }
    return flush_output();
  } catch (const CLI::ParseError& error) {
    return help_status(refuse_usage(app, error));
  } catch (const std::bad_alloc&) {
    ropewalk::complain("not enough memory for this");
    return 1;
  } catch (const std::exception& error) {
    std::fflush(stdout);
    ropewalk::complain(error.what());
    return 1;
  }
}
