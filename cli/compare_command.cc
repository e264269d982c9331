#include "cli/compare_command.h"

#include <memory>
#include <string>

#include "cli/compare_report.h"
#include "cli/exit_status.h"
#include "cli/messages.h"
#include "cli/option_checks.h"
#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

constexpr int kDifferent = 1;
constexpr int kTrouble = 2;

struct Options {
  std::string a;
  std::string b;
  bool json = false;
};

CompareReport read(const Options& options) {
  try {
    return compare_files(options.a, options.b);
  } catch (const Error& error) {
    complain(error.what());
    throw ExitStatus{kTrouble};
  }
}

void compare(const Options& options) {
  const CompareReport report = read(options);
  options.json ? print_compare_json(report) : print_compare_text(report);
  if (!report.equal()) throw ExitStatus{kDifferent};
}

}  // namespace

void add_compare_command(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* const command = app.add_subcommand(
      "compare",
      "Whether two model files turn alike, else where they part; exit status 1 where they differ, "
      "2 where one cannot be read");
  command->add_option("A", options->a, "A GGUF file, a config.json, or a directory with one")
      ->required()
      ->check(names_file());
  command->add_option("B", options->b, "The other one, of any kind")
      ->required()
      ->check(names_file());
  command->add_flag("--json", options->json, "One JSON object");
  command->callback([options] { compare(*options); });
}

}  // namespace ropewalk
