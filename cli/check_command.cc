#include "cli/check_command.h"

#include <memory>

#include "cli/check_report.h"
#include "cli/exit_status.h"

namespace ropewalk {
namespace {

void check(const CheckOptions& options) {
  const CheckReport report = check_file(options);
  options.json ? print_check_json(report, options.strict)
               : print_check_text(report, options.strict);
  const int status = report.exit_status(options.strict);
  if (status != 0) throw ExitStatus{status};
}

}  // namespace

void add_check_command(CLI::App& app) {
  const auto options = std::make_shared<CheckOptions>();
  CLI::App* const command =
      app.add_subcommand("check",
                         "Name every fault of a model file. Exit status 0: none; 1: faults, or "
                         "with --strict warnings or assumed values");
  options->model.add_to(*command);
  command->add_flag("--strict", options->strict,
                    "Warnings, and values that the file does not say, count as faults");
  command->add_option("--text", options->text,
                      "A text in the model's language: do the weights of a decoder fit the "
                      "architecture?");
  command
      ->add_option("--tokens", options->tokens,
                   "Foretell the memory of losses of so many tokens; without it, of the trained "
                   "length, or of 512 where that is not known")
      ->check(CLI::Range(int64_t{2}, kMostCheckTokens));
  command->add_flag("--json", options->json, "One JSON object");
  command->callback([options] { check(*options); });
}

}  // namespace ropewalk
