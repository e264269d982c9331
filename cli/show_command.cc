#include "cli/show_command.h"

#include <fmt/core.h>

#include <memory>

#include "cli/option_checks.h"
#include "cli/result_file.h"
#include "cli/show_report.h"
#include "cli/terminal_text.h"
#include "ropewalk/formats/npy.h"

namespace ropewalk {
namespace {

void show(const ShowOptions& options) {
  if (!options.npy.empty()) check_result("--npy", options.npy, kNpyBeginning, {options.path});
  const ShowReport report = make_show_report(options);
  if (!options.npy.empty()) write_show_npy(report, options.npy);
  if (options.json) return print_show_json(report);
  if (options.csv) return print_show_csv(report);
  print_show_text(report, options.pairs);
  if (!options.npy.empty()) fmt::print("\nwritten: {}\n", terminal_text(options.npy));
}

}  // namespace

void add_show_command(CLI::App& app) {
  const auto options = std::make_shared<ShowOptions>();
  CLI::App* const command = app.add_subcommand(
      "show", "What positions a model file declares, and where each number is from");
  command->add_option("MODEL", options->path, "A GGUF file, a config.json, or a directory with one")
      ->required()
      ->check(names_file());
  command->add_flag("--pairs", options->pairs,
                    "Every pair, instead of a line for each band of distances");
  command
      ->add_option("--positions", options->positions,
                   "P1,P2,...: cos and sin of every pair's exact angle there, and the turns made")
      ->delimiter(',')
      ->check(finite_number());
  command
      ->add_option("--digits", options->digits,
                   "A position as a number: the digit that each pair shows")
      ->check(finite_number());
  command
      ->add_option("--context", options->context,
                   "Tokens to be read, where frequencies go by them: which list or base that gives")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  command
      ->add_option("--override", options->overrides,
                   "key=JSON: read a config.json as if it said so; repeatable")
      ->allow_extra_args(false);
  CLI::Option* const json = command->add_flag("--json", options->json, "One JSON object");
  command->add_flag("--csv", options->csv, "One line for each pair, and position")->excludes(json);
  command
      ->add_option("--npy", options->npy,
                   "Write inv_freq, or with --positions cos and sin, as a NumPy file")
      ->check(names_output());
  command->callback([options] { show(*options); });
}

}  // namespace ropewalk
