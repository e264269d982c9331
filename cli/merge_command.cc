#include "cli/merge_command.h"

#include <fmt/core.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/option_checks.h"
#include "cli/terminal_text.h"
#include "ropewalk/study/merge.h"

namespace ropewalk {
namespace {

struct Options {
  std::vector<std::string> studies;
  std::string output;
};

void run(const Options& options) {
  StudyContents all = read_study(options.studies.front());
  fmt::print("{}: {} passes\n", terminal_text(options.studies.front()), all.cells.size());
  for (size_t k = 1; k < options.studies.size(); ++k) {
    const StudyContents other = read_study(options.studies[k]);
    const size_t before = all.cells.size();
    all = merged(std::move(all), other);
    fmt::print("{}: {} passes, {} of them new\n", terminal_text(other.path), other.cells.size(),
               all.cells.size() - before);
  }
  write_study(all, options.output);
  fmt::print("{}: {} passes\n", terminal_text(options.output), all.cells.size());
}

}  // namespace

void add_merge_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("merge-study",
                         "The passes of studies of the same model, text, length and precision in "
                         "one; what contradicts is named");
  command->add_option("STUDY", options->studies, "Two studies or more")
      ->required()
      ->expected(2, 1 << 20);
  command->add_option("-o,--output", options->output, "The study to make")
      ->required()
      ->check(names_output());
  command->callback([options] { run(*options); });
}

}  // namespace ropewalk
