#include "cli/measured_tables.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>

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

// Different texts, in the order in which they came.
class Texts {
 public:
  size_t add(const std::string& text) {
    const auto [at, is_new] = places_.emplace(text, all_.size());
    if (is_new) all_.push_back(text);
    return at->second;
  }
  const std::vector<std::string>& all() const { return all_; }
  const std::string& operator[](size_t place) const { return all_[place]; }

 private:
  std::vector<std::string> all_;
  std::unordered_map<std::string, size_t> places_;
};

// Of rows of one place the first counts.
struct GridValues {
  Texts groups;
  Texts rows;
  Texts columns;
  std::map<std::array<size_t, 3>, std::string> at;  // group, row, column
};

GridValues grid_values(const ResultTable& table, const Grid& grid) {
  GridValues values;
  for (const auto& row : table.rows) {
    const std::string group = grid.group.empty() ? "" : text_at(table, row, grid.group);
    const std::optional<double> value = number_at(table, row, grid.value);
    values.at.try_emplace(
        {values.groups.add(group), values.rows.add(text_at(table, row, grid.rows)),
         values.columns.add(text_at(table, row, grid.columns))},
        value ? fmt::format("{:.2f}", *value) : "-");
  }
  return values;
}

// At most so many of `count` places, evenly.
std::vector<size_t> some_of(size_t count, size_t most) {
  std::vector<size_t> some(std::min(count, most));
  for (size_t k = 0; k < some.size(); ++k)
    some[k] = count <= most ? k : k * (count - 1) / (most - 1);
  return some;
}

size_t longest(const Texts& texts, size_t most) {
  size_t length = 0;
  for (const std::string& text : texts.all())
    length = std::max(length, std::min(text.size(), most));
  return length;
}

// The rows of a group are those that the table has of it.
std::string grid_text(const ResultTable& table, const Grid& grid, const PageWidth& width) {
  const GridValues values = grid_values(table, grid);
  const size_t cell = std::max(kCell, longest(values.columns, width.name()) + 2);
  const size_t name = longest(values.rows, width.name());
  const std::vector<size_t> told =
      some_of(values.columns.all().size(), std::max<size_t>(2, (width.line - name - 4) / cell));
  std::string text = fmt::format("  {:<{}}", "", name + 2);
  for (const size_t column : told)
    text += fmt::format("{:>{}}", shortened(values.columns[column], width.name()), cell);
  text += "\n";
  const std::string indent = grid.group.empty() ? "" : "  ";
  for (auto at = values.at.begin(); at != values.at.end();) {
    const auto [group, row, first] = at->first;
    if (!grid.group.empty() && (at == values.at.begin() || std::prev(at)->first[0] != group))
      text += "  " + shortened(values.groups[group], width.line - 4) + "\n";
    text += fmt::format("  {:<{}}", indent + shortened(values.rows[row], name), name + 2);
    for (const size_t column : told) {
      const auto found = values.at.find({group, row, column});
      text += fmt::format("{:>{}}", found == values.at.end() ? "-" : found->second, cell);
    }
    text += "\n";
    at = values.at.lower_bound({group, row + 1, 0});
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
  Texts names;
  std::vector<std::vector<double>> values;  // by name
  for (const auto& row : table.rows) {
    const size_t name = names.add(text_at(table, row, series));
    values.resize(names.all().size());
    values[name].push_back(number_at(table, row, y).value_or(std::nan("")));
  }
  for (size_t name = 0; name < values.size(); ++name) {
    const size_t count = values[name].size();
    const size_t most = std::min(width.curve(), count);
    std::vector<double> told;
    for (size_t k = 0; k < most; ++k) told.push_back(values[name][k * count / most]);
    text += fmt::format("  {:<{}}  {}\n", shortened(names[name], width.name()), width.name(),
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
