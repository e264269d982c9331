#include "cli/recall_tables.h"

#include <fmt/core.h>

#include <algorithm>

#include "cli/estimate_values.h"
#include "ropewalk/report/pictures.h"

namespace ropewalk {
namespace {

constexpr const char* kNats = "nats per token";

ResultTable empty_task_table(const RecallReport& report, RecallTask task) {
  return {.name = "recall_" + to_string(task),
          .title = fmt::format("Recall by depth and length: {}", to_string(task)),
          .about = fmt::format(
              "Task: {}. Shown is the share of {} trials whose right answer is likelier than the "
              "wrong ones, by "
              "where the needle lies and how long the text is. Trained length {} tokens.",
              meaning_of(task), report.plan.trials, report.trained_length),
          .columns = {{.name = "scheme", .title = "setting"},
                      {.name = "place", .title = "depth"},
                      {.name = "length", .title = "length", .unit = "tokens"},
                      {.name = "achieved_length", .title = "achieved", .unit = "tokens"},
                      {.name = "achieved_depth", .title = "achieved depth", .digits = 3},
                      {.name = "found", .title = "found", .digits = 2},
                      {.name = "found_low", .title = "95 % from", .digits = 2},
                      {.name = "found_high", .title = "to", .digits = 2},
                      {.name = "chance", .title = "chance", .digits = 2},
                      {.name = "gain",
                       .title = "right over wrong",
                       .unit = kNats,
                       .digits = 3,
                       .is_signed = true}}};
}

StudyTable task_table(const RecallReport& report, RecallTask task) {
  ResultTable table = empty_task_table(report, task);
  std::vector<HeatGroup> groups;
  for (const SchemeRecall& scheme : report.schemes) {
    HeatGroup group{.title = scheme.scheme};
    for (const RecallCell& cell : scheme.cells) {
      if (cell.task != task || !cell.not_run.empty()) continue;
      table.rows.push_back({scheme.scheme, cell.place, cell.length, cell.achieved_length,
                            cell.achieved_depth, cell.found.mean, low_of(cell.found),
                            high_of(cell.found), cell.chance, cell.gain.mean});
      if (std::ranges::find(group.labels, cell.place) == group.labels.end())
        group.labels.push_back(cell.place);
    }
    if (!group.labels.empty()) groups.push_back(std::move(group));
  }
  return {.table = std::move(table),
          .spec = heat_spec({.x = {"length", "length (tokens)"},
                             .y = {"place", "depth"},
                             .value = {"found", "found"},
                             .group = {"scheme", "setting"},
                             .groups = std::move(groups)}),
          .description = "A grid of what was found, by length and by depth under each setting."};
}

StudyTable position_table(const RecallReport& report) {
  ResultTable table{
      .name = "copy_by_position",
      .title = "Copies by position",
      .about = fmt::format("How much a passage is easier to predict {} tokens after it was read "
                           "before, by how far into the text that is: the distance is the same "
                           "everywhere, the position alone grows.",
                           report.copy_distance),
      .columns = {{.name = "scheme", .title = "setting"},
                  {.name = "position", .title = "position", .unit = "tokens"},
                  {.name = "gain", .title = "gain", .unit = kNats, .digits = 3, .is_signed = true},
                  {.name = "low", .title = "95 % from", .digits = 3},
                  {.name = "high", .title = "to", .digits = 3}}};
  std::vector<Series> series;
  bool intervals = false;
  for (const SchemeRecall& scheme : report.schemes) {
    series.push_back({.name = scheme.scheme});
    for (const CopyPoint& point : scheme.by_position) {
      intervals = intervals || point.gain.interval;
      table.rows.push_back(
          {scheme.scheme, point.at, point.gain.mean, low_of(point.gain), high_of(point.gain)});
    }
  }
  std::vector<PictureRule> trained;
  if (report.trained_length > 0)
    trained.push_back({.at = static_cast<double>(report.trained_length), .text = "trained length"});
  return {.table = std::move(table),
          .spec = line_spec(
              {.x = {.column = "position", .title = "position (tokens)"},
               .y = {.column = "gain", .title = "gain (nats per token)", .from_zero = true},
               .low = intervals ? "low" : "",
               .high = "high",
               .bars = true,
               .series = "scheme",
               .is_own = true,
               .x_rules = trained,
               .y_rules = {{.at = 0, .text = ""}}},
              series),
          .description = "Lines of copy gain against position, one for each setting."};
}

}  // namespace

std::vector<StudyTable> recall_tables(const RecallReport& report) {
  std::vector<StudyTable> tables;
  for (const RecallTask task : kRecallTasks) tables.push_back(task_table(report, task));
  tables.push_back(position_table(report));
  std::erase_if(tables, [](const StudyTable& one) { return one.table.rows.empty(); });
  return tables;
}

}  // namespace ropewalk
