#include "cli/measured_tables.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "cli/bands_tables.h"
#include "cli/bias_table.h"
#include "cli/report_text.h"
#include "ropewalk/formats/json_file.h"

namespace ropewalk {
namespace {

constexpr size_t kCell = 9;  // characters of a grid's column

struct Grid {
  std::string rows;  // columns of the table
  std::string columns;
  std::string value;
  std::string group;  // what its rows stand under; empty: nothing
};

std::string text_at(const ResultTable& table, const std::vector<ResultValue>& row,
                    const std::string& column) {
  const size_t c = table.column(column);
  return c < row.size() ? shown(row[c], table.columns[c]) : "-";
}

std::optional<double> number_at(const ResultTable& table, const std::vector<ResultValue>& row,
                                const std::string& column) {
  const size_t c = table.column(column);
  if (c >= row.size()) return std::nullopt;
  if (const auto* whole = std::get_if<int64_t>(&row[c])) return static_cast<double>(*whole);
  if (const auto* number = std::get_if<double>(&row[c])) return *number;
  return std::nullopt;
}

// Different texts of a column, in the order of the rows.
std::vector<std::string> different(const ResultTable& table, const std::string& column) {
  std::vector<std::string> texts;
  if (column.empty()) return texts;
  for (const auto& row : table.rows) {
    const std::string text = text_at(table, row, column);
    if (std::ranges::find(texts, text) == texts.end()) texts.push_back(text);
  }
  return texts;
}

// At most so many, evenly.
std::vector<std::string> some_of(const std::vector<std::string>& all, size_t most) {
  if (all.size() <= most) return all;
  std::vector<std::string> some;
  for (size_t k = 0; k < most; ++k) some.push_back(all[k * (all.size() - 1) / (most - 1)]);
  return some;
}

std::string value_at(const ResultTable& table, const Grid& grid, const std::string& group,
                     const std::string& row_text, const std::string& column_text) {
  for (const auto& row : table.rows) {
    if (text_at(table, row, grid.rows) == row_text &&
        text_at(table, row, grid.columns) == column_text &&
        (grid.group.empty() || text_at(table, row, grid.group) == group)) {
      const std::optional<double> value = number_at(table, row, grid.value);
      return value ? fmt::format("{:.2f}", *value) : "-";
    }
  }
  return "-";
}

std::string grid_text(const ResultTable& table, const Grid& grid, const PageWidth& width) {
  const std::vector<std::string> rows = different(table, grid.rows);
  const std::vector<std::string> columns = different(table, grid.columns);
  size_t longest_column = 0;
  for (const std::string& column : columns)
    longest_column = std::max(longest_column, column.size());
  const size_t cell = std::max(kCell, longest_column + 2);
  size_t name = 0;
  for (const std::string& row : rows) name = std::max(name, std::min(row.size(), width.name()));
  const std::vector<std::string> told =
      some_of(columns, std::max<size_t>(2, (width.line - name - 4) / cell));
  std::string text = fmt::format("  {:<{}}", "", name + 2);
  for (const std::string& column : told) text += fmt::format("{:>{}}", column, cell);
  text += "\n";
  std::vector<std::string> groups = different(table, grid.group);
  if (groups.empty()) groups.emplace_back();
  for (const std::string& group : groups) {
    if (!group.empty()) text += "  " + shortened(group, width.line - 4) + "\n";
    for (const std::string& row : rows) {
      text += fmt::format("  {:<{}}", (group.empty() ? "" : "  ") + shortened(row, name), name + 2);
      for (const std::string& column : told)
        text += fmt::format("{:>{}}", value_at(table, grid, group, row, column), cell);
      text += "\n";
    }
  }
  return text;
}

// A line of blocks for each series, over x as it stands.
std::string lines_text(const ResultTable& table, const std::string& series, const std::string& x,
                       const std::string& y, const PageWidth& width) {
  std::string text;
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const auto& row : table.rows) {
    const std::optional<double> value = number_at(table, row, y);
    if (!value || !std::isfinite(*value)) continue;
    low = std::min(low, *value);
    high = std::max(high, *value);
  }
  const size_t across = table.column(x);
  if (low > high || across >= table.columns.size()) return text;  // a stranger's table
  const ResultColumn& of = table.columns[table.column(y)];
  text += fmt::format("  {:.2f} (\u2581) to {:.2f} (\u2588){}, {} {} to {}\n", low, high,
                      of.unit.empty() ? "" : " " + of.unit, table.columns[across].title,
                      text_at(table, table.rows.front(), x), text_at(table, table.rows.back(), x));
  for (const std::string& name : different(table, series)) {
    std::vector<double> values;
    for (const auto& row : table.rows) {
      if (text_at(table, row, series) == name)
        values.push_back(number_at(table, row, y).value_or(std::nan("")));
    }
    const size_t most = width.curve();
    std::vector<double> told;
    for (size_t k = 0; k < std::min(most, values.size()); ++k)
      told.push_back(values[k * values.size() / std::min(most, values.size())]);
    text += fmt::format("  {:<{}}  {}\n", shortened(name, width.name()), width.name(),
                        spark_line(told, low, high));
  }
  return text;
}

std::string body_of(const ResultTable& table, const PageWidth& width) {
  if (table.name.starts_with("recall_"))
    return grid_text(table, {"place", "length", "found", "scheme"}, width);
  if (table.name == "copy_by_position")
    return grid_text(table, {"scheme", "position", "gain", ""}, width);
  if (table.name == kBiasTable) return lines_text(table, "curve", "distance", "bias", width);
  if (table.name == kRelationTable) return grid_text(table, {"pairs", "key", "share", ""}, width);
  if (table.name == kPairUsageTable) {
    return table.column("pair") < table.columns.size()
               ? lines_text(table, "distances", "pair", "share", width)
               : grid_text(table, {"pairs", "distances", "share", ""}, width);
  }
  return "";
}

}  // namespace

std::vector<MeasuredTable> measured_tables(const StudySummary& study) {
  const std::string prefix = kTableRecords;
  const auto& records = study.contents.records;
  std::vector<MeasuredTable> tables;
  for (auto record = records.lower_bound(prefix);
       record != records.end() && record->first.starts_with(prefix); ++record) {
    const std::string place = study.contents.path + ": " + record->first;
    auto json = parse_json(record->second, place);
    ResultTable table = table_from_json(json, place);
    tables.push_back({.place = place, .record = std::move(json), .table = std::move(table)});
  }
  return tables;
}

std::string measured_text(const StudySummary& study, const PageWidth& width) {
  std::string text;
  for (const auto& [place, record, table] : measured_tables(study)) {
    const std::string body = body_of(table, width);
    if (body.empty()) continue;
    text += "\n" + paragraph(table.title + ". " + table.about, "", 0, width.line) + "\n" + body;
  }
  return text;
}

}  // namespace ropewalk
