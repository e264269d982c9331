#include "cli/recall_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/estimate_json.h"
#include "cli/progress.h"
#include "cli/terminal_text.h"
#include "cli/text_layout.h"
#include "ropewalk/formats/json_file.h"

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;

// ---- the page

std::string beyond_mark(const RecallReport& report, int64_t tokens) {
  return report.trained_length > 0 && tokens > report.trained_length ? " *" : "";
}

const RecallCell* find(const SchemeRecall& scheme, RecallTask task, int64_t length,
                       const std::string& place) {
  for (const RecallCell& cell : scheme.cells) {
    if (cell.task == task && cell.length == length && cell.place == place) return &cell;
  }
  return nullptr;
}

std::vector<std::string> places_of(const SchemeRecall& scheme, RecallTask task) {
  std::vector<std::string> places;
  for (const RecallCell& cell : scheme.cells) {
    if (cell.task == task && cell.not_run.empty() && std::ranges::count(places, cell.place) == 0)
      places.push_back(cell.place);
  }
  return places;
}

// Own answers over all places: "strict/loose".
std::string own_answers(const SchemeRecall& scheme, RecallTask task, int64_t length) {
  double strict = 0;
  double loose = 0;
  int64_t count = 0;
  for (const RecallCell& cell : scheme.cells) {
    if (cell.task != task || cell.length != length || !cell.strict) continue;
    strict += cell.strict->mean * static_cast<double>(cell.strict->count);
    loose += cell.loose->mean * static_cast<double>(cell.loose->count);
    count += cell.strict->count;
  }
  if (count == 0) return "-";
  return fmt::format("{:.2f}/{:.2f}", strict / static_cast<double>(count),
                     loose / static_cast<double>(count));
}

std::string task_table(const RecallReport& report, const SchemeRecall& scheme, RecallTask task) {
  const std::vector<std::string> places = places_of(scheme, task);
  std::vector<std::string> heads = {task == RecallTask::kOrder ? "depths" : "depth"};
  std::vector<std::string> own = {"own answer"};
  std::vector<std::string> not_run;
  double chance = 0;
  bool free = false;
  for (const int64_t length : report.plan.lengths) {
    if (const RecallCell* cell = find(scheme, task, length, "")) {
      not_run.push_back(fmt::format("{} tokens: not run: {}", length, cell->not_run));
      continue;
    }
    const RecallCell* first = places.empty() ? nullptr : find(scheme, task, length, places[0]);
    if (first == nullptr) continue;
    heads.push_back(
        fmt::format("{} ({}){}", length, first->achieved_length, beyond_mark(report, length)));
    own.push_back(own_answers(scheme, task, length));
    chance = first->chance;
    free = free || first->strict;
  }
  std::string text = fmt::format("\n  {}: {}", to_string(task), meaning_of(task));
  text += places.empty() ? "\n" : fmt::format("; chance {:.3g}\n", chance);
  Table table(4);
  if (!places.empty()) table.add(heads);
  for (const std::string& place : places) {
    std::vector<std::string> row;
    double depth = 0;  // of the longest
    for (const int64_t length : report.plan.lengths) {
      const RecallCell* cell = find(scheme, task, length, place);
      if (cell == nullptr) continue;
      row.push_back(fmt::format("{:.2f} {:+.2f}", cell->found.mean, cell->gain.mean));
      depth = cell->achieved_depth;
    }
    row.insert(row.begin(),
               task == RecallTask::kOrder ? place : fmt::format("{} ({:.1f})", place, 100 * depth));
    table.add(row);
  }
  if (free) table.add(own);
  text += table.text();
  for (const std::string& line : not_run) text += paragraph(line, "    ", 6);
  return text;
}

std::string gain_text(const Estimate& gain) {
  if (!gain.interval) return fmt::format("{:+.3f}", gain.mean);
  return fmt::format("{:+.3f} [{:+.2f} {:+.2f}]", gain.mean, gain.interval->low,
                     gain.interval->high);
}

// A row for each point, a column for each scheme.
std::string copy_table(const RecallReport& report, const std::string& head,
                       std::vector<CopyPoint> SchemeRecall::*curve) {
  const std::vector<CopyPoint>& points = report.schemes.front().*curve;
  if (points.empty()) return "  no window has room for it\n";
  Table table;
  std::vector<std::string> heads = {head};
  for (const SchemeRecall& scheme : report.schemes) heads.push_back(scheme.scheme);
  heads.push_back("tokens");
  table.add(heads);
  for (size_t k = 0; k < points.size(); ++k) {
    std::vector<std::string> row = {std::to_string(points[k].at) +
                                    beyond_mark(report, points[k].at)};
    for (const SchemeRecall& scheme : report.schemes)
      row.push_back(gain_text((scheme.*curve)[k].gain));
    row.push_back(std::to_string(points[k].gain.count));
    table.add(row);
  }
  return table.text();
}

std::string self_test_text(const RecallSelfTest& test) {
  if (test.cells == 0) return "no prompt could be made";
  if (test.passed()) {
    return fmt::format(
        "a perfect copier finds all that can be copied, a uniform model is at chance: {} cells",
        test.cells);
  }
  return fmt::format(
      "FAILED: of {} cells a perfect copier misses {}, a uniform model is away from chance in {}: "
      "this tokenizer spells an answer otherwise in the needle than behind the question",
      test.cells, test.copier_missed, test.uniform_missed);
}

std::string question_tables(const RecallReport& report) {
  std::string text = paragraph(self_test_text(report.self_test), "self-test: ", 2);
  text += paragraph(
      "Cells: share of the trials in which the right answer has the lowest loss, and nats per "
      "token that it is below the mean of the wrong ones. In brackets what was measured: tokens, "
      "and the depth at the longest. Own answer: the greedy one begins with it / has it in it. "
      "Intervals: --json.",
      "", 2);
  for (const SchemeRecall& scheme : report.schemes) {
    text += "\n" + scheme.scheme + "\n";
    for (const RecallTask task : report.plan.tasks) text += task_table(report, scheme, task);
  }
  return text;
}

std::string copy_tables(const RecallReport& report) {
  std::string text =
      "\nCopy gain, nats per token of a passage that repeats, with 95 % intervals over windows\n";
  text += copy_table(report, "distance", &SchemeRecall::by_distance);
  text += fmt::format("\nThe same {} tokens apart, at growing positions\n", report.copy_distance);
  return text + copy_table(report, "position", &SchemeRecall::by_position);
}

// ---- JSON

Json optional_json(const std::optional<Estimate>& estimate) {
  return estimate ? estimate_json(*estimate, "answers") : Json();
}

Json to_json(const RecallCell& cell) {
  Json out = {{"task", to_string(cell.task)}, {"length", cell.length}};
  out["not_run"] = nullptr;
  if (!cell.not_run.empty()) {
    out["not_run"] = cell.not_run;
    return out;
  }
  out["place"] = cell.place;
  out["achieved_length"] = cell.achieved_length;
  out["achieved_depth"] = cell.achieved_depth;
  out["chance"] = cell.chance;
  out["found"] = estimate_json(cell.found, "answers");
  out["gain"] = estimate_json(cell.gain, "answers");
  out["loss"] = estimate_json(cell.loss, "answers");
  out["strict"] = optional_json(cell.strict);
  out["loose"] = optional_json(cell.loose);
  return out;
}

Json to_json(const std::vector<CopyPoint>& points, const char* at) {
  Json out = Json::array();
  for (const CopyPoint& point : points)
    out.push_back({{at, point.at}, {"gain", estimate_json(point.gain)}});
  return out;
}

}  // namespace

std::string meaning_of(RecallTask task) {
  switch (task) {
    case RecallTask::kPasskey:
      return "one number in a passage said over and over";
    case RecallTask::kNeedles:
      return "numbers of several names in the text";
    case RecallTask::kLatest:
      return "a number that changes: which is the last";
    case RecallTask::kOrder:
      break;
  }
  return "of two who came, who came first; depths of the two";
}

std::string to_text(const RecallReport& report) {
  std::string text = paragraph(report.text, "", 2);
  text += fmt::format("{}; trained length {}; * is beyond it; seed {}, {} trials\n",
                      terminal_text(report.model), report.trained_length, report.plan.seed,
                      report.plan.trials);
  if (!report.plan.tasks.empty()) text += question_tables(report);
  if (report.copies) text += copy_tables(report);
  text += fmt::format("\n{} on {} threads", duration_text(report.run.seconds), report.run.threads);
  if (!report.run.study.empty())
    text += fmt::format("; {}, which knew {} passes", report.run.study, report.run.from_study);
  return text + "\n";
}

std::string to_json(const RecallReport& report) {
  Json out = {{"model", report.model},
              {"trained_length", report.trained_length},
              {"target_length", report.target_length},
              {"text", report.text},
              {"lengths", report.plan.lengths},
              {"depths", report.plan.depths},
              {"trials", report.plan.trials},
              {"seed", report.plan.seed},
              {"copy_windows", report.copy_windows},
              {"copy_distance", report.copy_distance},
              {"self_test",
               {{"cells", report.self_test.cells},
                {"copier_missed", report.self_test.copier_missed},
                {"uniform_missed", report.self_test.uniform_missed}}}};
  out["schemes"] = Json::array();
  for (const SchemeRecall& scheme : report.schemes) {
    Json row = {{"scheme", scheme.scheme}, {"recall", Json::array()}};
    for (const RecallCell& cell : scheme.cells) row["recall"].push_back(to_json(cell));
    row["copy_by_distance"] = to_json(scheme.by_distance, "distance");
    row["copy_by_position"] = to_json(scheme.by_position, "position");
    out["schemes"].push_back(row);
  }
  out["run"] = {{"seconds", report.run.seconds},
                {"threads", report.run.threads},
                {"study", nullptr},
                {"from_study", report.run.from_study}};
  if (!report.run.study.empty()) out["run"]["study"] = report.run.study;
  return dump_json(out, 1) + "\n";
}

}  // namespace ropewalk
