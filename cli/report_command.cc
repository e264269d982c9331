#include "cli/report_command.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "cli/messages.h"
#include "cli/option_checks.h"
#include "cli/report_text.h"
#include "cli/result_file.h"
#include "cli/study_page.h"
#include "cli/study_summary.h"
#include "cli/study_tables.h"
#include "cli/terminal_text.h"
#include "ropewalk/base/error.h"
#include "ropewalk/formats/json_file.h"
#include "ropewalk/report/page.h"

namespace ropewalk {
namespace {

constexpr size_t kNarrowest = 72;  // characters of the terminal's page
constexpr size_t kWidest = 200;

struct Options {
  std::string study;
  std::string html;
  std::string json;
  std::string csv;
  size_t width = 0;
};

// Of the terminal; kLineWidth where there is none.
PageWidth page_width(size_t asked) {
  if (asked > 0) return {.line = asked};
  winsize size{};
  if (isatty(STDOUT_FILENO) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 ||
      size.ws_col == 0)
    return {};
  return {.line = std::clamp<size_t>(size.ws_col, kNarrowest, kWidest)};
}

// A result that is ready to be written.
struct Result {
  const char* option = nullptr;
  std::string path;
  std::string beginning;  // of every file of its kind
  std::string content;
};

// A study's texts may be no UTF-8.
std::string text_of(const nlohmann::ordered_json& json) { return dump_json(json, 1) + "\n"; }

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n') + 1); }

// A file for each table, and each picture's specification with its data.
std::vector<Result> folder_results(const StudySummary& study, const Page& page,
                                   const std::string& folder) {
  std::vector<Result> results;
  const auto path_of = [&](const std::string& name) {
    return (std::filesystem::path(folder) / name).string();
  };
  const auto add_table = [&](const ResultTable& table) {
    std::string text = to_csv(table);
    results.push_back({"--csv", path_of(table.name + ".csv"), first_line(text), std::move(text)});
  };
  for (const Section& section : page.sections) {
    for (const ResultTable& table : section.tables) add_table(table);
    if (!section.picture) continue;
    results.push_back({"--csv", path_of(section.id + ".vl.json"), std::string(kSpecBeginning),
                       text_of(whole_spec(section))});
  }
  add_table(pass_table(study));
  return results;
}

std::vector<Result> make_results(const Options& options, const StudySummary& study) {
  const Page page = study_page(study);
  std::vector<Result> results;
  if (!options.html.empty())
    results.push_back({"-o", options.html, std::string(kHtmlBeginning), to_html(page)});
  if (!options.json.empty()) {
    nlohmann::ordered_json json = to_json(page);
    json["tables"][kPassTable] = to_json(pass_table(study));
    results.push_back({"--json", options.json, std::string(kJsonBeginning), text_of(json)});
  }
  if (!options.csv.empty()) {
    std::error_code failed;
    std::filesystem::create_directories(options.csv, failed);
    if (failed)
      throw Error(options.csv, "cannot be made", failed.message(), "name a folder with --csv");
    std::ranges::move(folder_results(study, page, options.csv), std::back_inserter(results));
  }
  return results;
}

void run(const Options& options) {
  const StudySummary study = summarize_study(options.study);
  if (options.html.empty() && options.json.empty() && options.csv.empty()) {
    fmt::print("{}", terminal_lines(report_text(study, page_width(options.width))));
    return;
  }
  const std::vector<Result> results = make_results(options, study);
  for (const Result& one : results)
    check_result(one.option, one.path, one.beginning, {options.study});
  for (const Result& one : results) write_result(one.path, one.content);
  if (!options.html.empty() && !can_draw()) {
    complain(
        options.html +
        " has words and tables but no pictures: this build has no Vega. scripts/build.sh fetches "
        "it where npm is reachable");
  }
}

}  // namespace

void add_report_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "report", "A study of `extend`, finished or not, as a page, as numbers, or on the terminal");
  command->add_option("STUDY", options->study, "The study's file")->required();
  command
      ->add_option("-o,--output", options->html,
                   "Write one HTML page with pictures that needs no network")
      ->check(names_output());
  command
      ->add_option("--json", options->json,
                   "Write everything as JSON, with the pictures as Vega-Lite specifications")
      ->check(names_output());
  command
      ->add_option("--csv", options->csv,
                   "Write each table as CSV and each picture's specification into this folder")
      ->check(names_output());
  command
      ->add_option("--width", options->width,
                   "Characters of a line on the terminal; by default the terminal's own, else 110")
      ->check(CLI::Range(kNarrowest, kWidest));
  command->callback([options] { run(*options); });
}

}  // namespace ropewalk
