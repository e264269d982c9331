#include "cli/report_command.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/report_text.h"
#include "cli/study_page.h"
#include "cli/study_summary.h"
#include "cli/study_tables.h"
#include "ropewalk/base/error.h"
#include "ropewalk/formats/atomic_file.h"
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

void write_file(const std::string& study, const std::string& path, const std::string& text) {
  refuse_same_file(study, path);
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

// A study's texts may be no UTF-8.
std::string text_of(const nlohmann::ordered_json& json) {
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

// A file for each table, and each picture's specification with its data.
void write_folder(const StudySummary& study, const Page& page, const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) throw Error(folder, "cannot be made", failed.message(), "name a folder with --csv");
  const auto write = [&](const std::string& name, const std::string& text) {
    write_file(study.contents.path, (std::filesystem::path(folder) / name).string(), text);
  };
  for (const Section& section : page.sections) {
    for (const ResultTable& table : section.tables) write(table.name + ".csv", to_csv(table));
    if (section.picture) write(section.id + ".vl.json", text_of(whole_spec(section)));
  }
  const ResultTable passes = pass_table(study);
  write(passes.name + ".csv", to_csv(passes));
}

void run(const Options& options) {
  const StudySummary study = summarize_study(options.study);
  if (options.html.empty() && options.json.empty() && options.csv.empty()) {
    fmt::print("{}", report_text(study, page_width(options.width)));
    return;
  }
  const Page page = study_page(study);
  if (!options.html.empty()) {
    write_file(options.study, options.html, to_html(page));
    if (!can_draw()) {
      fmt::print(stderr,
                 "ropewalk: {} has words and tables but no pictures: this build has no Vega. "
                 "scripts/build.sh fetches it where npm is reachable\n",
                 options.html);
    }
  }
  if (!options.json.empty()) {
    nlohmann::ordered_json json = to_json(page);
    json["tables"][kPassTable] = to_json(pass_table(study));
    write_file(options.study, options.json, text_of(json));
  }
  if (!options.csv.empty()) write_folder(study, page, options.csv);
}

}  // namespace

void add_report_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "report", "A study of `extend`, finished or not, as a page, as numbers, or on the terminal");
  command->add_option("STUDY", options->study, "The study's file")->required();
  command->add_option("-o,--output", options->html,
                      "Write one HTML page with pictures that needs no network");
  command->add_option("--json", options->json,
                      "Write everything as JSON, with the pictures as Vega-Lite specifications");
  command->add_option("--csv", options->csv,
                      "Write each table as CSV and each picture's specification into this folder");
  command
      ->add_option("--width", options->width,
                   "Characters of a line on the terminal; by default the terminal's own, else 110")
      ->check(CLI::Range(kNarrowest, kWidest));
  command->callback([options] { run(*options); });
}

}  // namespace ropewalk
