#include "cli/bands_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <string>

#include "cli/bands_report.h"
#include "cli/bands_tables.h"
#include "cli/bias_table.h"
#include "cli/model_options.h"
#include "cli/option_checks.h"
#include "cli/progress.h"
#include "cli/study_addition.h"
#include "cli/study_options.h"
#include "cli/terminal_text.h"
#include "ropewalk/base/error.h"
#include "ropewalk/engine/memory_estimate.h"

namespace ropewalk {
namespace {

constexpr int64_t kLength = 2048;  // means of so many tokens no longer change
constexpr int64_t kFarther = 8;    // times the trained length
constexpr int64_t kMostTokens = int64_t{1} << 24;

struct Options {
  ModelOptions model;
  TextOptions text = {.texts = {}, .ids = {}, .most_windows = 1};
  int64_t length = 0;  // 0: not given
  int64_t target = 0;  // 0: not given
  int64_t queries = 64;
  uint64_t seed = 1;
  std::string into;
  bool every_pair = false;
  bool json = false;
};

struct Lengths {
  int64_t length = 0;
  int64_t target = 0;
};

Lengths lengths_of(const Options& options, int64_t trained) {
  if (trained < 2) {
    throw Error(options.model.path, "must have rotary layers and a trained length",
                std::to_string(trained));
  }
  const Lengths lengths{
      .length = options.length > 0 ? options.length : std::min(trained, kLength),
      .target = options.target > 0 ? options.target : std::min(kFarther * trained, kMostTokens)};
  if (lengths.length > trained) {
    throw Error("--length", fmt::format("must be at most the trained length of {}", trained),
                std::to_string(lengths.length), "what lies beyond is predicted, not measured");
  }
  if (lengths.target <= trained) {
    throw Error("--to", fmt::format("must be beyond the trained length of {}", trained),
                std::to_string(lengths.target));
  }
  return lengths;
}

BandsReport measure(const Options& options, const Model& model, const StudyText& text,
                    int64_t target) {
  ProgressLine line("bands");
  return measure_bands(
      model, text.windows,
      {.target_length = target,
       .usage = {.queries = options.queries, .seed = options.seed, .skipped_keys = kSkippedTokens}},
      [&](double share) { line.update(share); });
}

void run(const Options& options) {
  ModelFile file = options.model.open_decoder();
  const Lengths lengths = lengths_of(options, trained_length(file.config));
  const StudyText text = read_study_text(options.text, file, lengths.length);
  const Precision precision = options.model.chosen_precision();
  const Positions declared = make_positions(file.config, {});
  fit_into_memory(file, usage_run(precision, text.longest_window(), declared),
                  "a shorter --length");
  std::optional<StudyAddition> addition;
  if (!options.into.empty())
    addition.emplace(options.into, options.model.path, options.model.precision);
  const Model model(std::move(file), precision);
  const ShownBands shown{.model = options.model.path,
                         .text = text.describe(),
                         .seed = options.seed,
                         .report = measure(options, model, text, lengths.target)};
  if (addition) {
    std::vector<StudyTable> tables = usage_tables(shown.report);
    if (auto bias = bias_table(shown.report.bias)) tables.push_back(std::move(*bias));
    addition->add(tables);
  }
  fmt::print("{}",
             options.json ? to_json(shown) : terminal_lines(to_text(shown, options.every_pair)));
}

}  // namespace

void add_bands_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("bands",
                                         "Where a model fails past its trained length and why, and "
                                         "what its pairs are used for, from one "
                                         "short pass");
  options->model.add_to(*command);
  options->text.add_to(*command);
  command
      ->add_option("--length", options->length,
                   "Tokens of a window, at most the trained length; by default that, or 2048")
      ->check(CLI::Range(int64_t{2}, kMostTokens));
  command
      ->add_option(
          "--to", options->target,
          "Distance up to which the curve is looked at; by default 8 times the trained length")
      ->check(CLI::Range(int64_t{2}, kMostTokens));
  command
      ->add_option("--queries", options->queries,
                   "Tokens of each window whose scores are taken apart")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--seed", options->seed, "Of the choice of these tokens")
      ->check(whole_number())
      ->capture_default_str();
  add_into_option(*command, options->into);
  command->add_flag("--pairs", options->every_pair, "A row for every pair");
  command->add_flag("--json", options->json, "One JSON object, with every layer, head and pair");
  command->callback([options] { run(*options); });
}

}  // namespace ropewalk
