#include "ropewalk/report/table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "ropewalk/base/error.h"
#include "ropewalk/base/json_reason.h"

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostColumns = 256;
constexpr size_t kMostRows = size_t{1} << 20;

bool is_name(const std::string& text) {
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

Json value_json(const ResultValue& value) {
  return std::visit(
      [](const auto& held) -> Json {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::monostate>) {
          return nullptr;
        } else if constexpr (std::is_same_v<Held, double>) {
          return std::isfinite(held) ? Json(held) : Json(nullptr);
        } else {
          return held;
        }
      },
      value);
}

ResultValue value_from_json(const Json& json, const std::string& place) {
  if (json.is_null()) return std::monostate();
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  throw Error(place, "must be a number, a text, a truth or null", json.dump().substr(0, 40));
}

int digits_from_json(const Json& column, const std::string& place) {
  const auto digits = column.find("digits");
  if (digits == column.end()) return -1;
  constexpr int kMostDigits = 17;
  if (!digits->is_number_integer() || *digits < 0 || *digits > kMostDigits) {
    throw Error(place + ": digits", fmt::format("must be 0 to {}", kMostDigits),
                digits->dump().substr(0, 40));
  }
  return digits->get<int>();
}

std::string csv_field(const ResultValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    if (text->find_first_of(",\"\r\n") == std::string::npos) return *text;
    std::string field = "\"";
    for (const char c : *text) field += c == '"' ? std::string("\"\"") : std::string(1, c);
    return field + "\"";
  }
  const Json json = value_json(value);
  return json.is_null() ? "" : json.dump();
}

}  // namespace

size_t ResultTable::column(const std::string& column_name) const {
  const auto found = std::find_if(columns.begin(), columns.end(), [&](const ResultColumn& column) {
    return column.name == column_name;
  });
  return static_cast<size_t>(found - columns.begin());
}

std::string shown(const ResultValue& value, const ResultColumn& column) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "yes" : "no";
  if (const auto* whole = std::get_if<int64_t>(&value)) return std::to_string(*whole);
  const auto* number = std::get_if<double>(&value);
  if (number == nullptr || !std::isfinite(*number)) return "-";
  if (column.digits < 0) return fmt::format("{:.6g}", *number);
  return column.is_signed ? fmt::format("{:+.{}f}", *number, column.digits)
                          : fmt::format("{:.{}f}", *number, column.digits);
}

Json rows_json(const ResultTable& table) {
  Json rows = Json::array();
  for (const auto& row : table.rows) {
    Json out = Json::object();
    for (size_t c = 0; c < table.columns.size(); ++c)
      out[table.columns[c].name] = value_json(row[c]);
    rows.push_back(std::move(out));
  }
  return rows;
}

Json to_json(const ResultTable& table) {
  Json out = {{"name", table.name}, {"title", table.title}, {"about", table.about}};
  out["columns"] = Json::array();
  for (const ResultColumn& column : table.columns) {
    Json one = {{"name", column.name}, {"title", column.title}, {"unit", column.unit}};
    if (column.digits >= 0) one["digits"] = column.digits;
    if (column.is_signed) one["signed"] = true;
    out["columns"].push_back(std::move(one));
  }
  out["rows"] = rows_json(table);
  return out;
}

ResultTable table_from_json(const Json& json, const std::string& place) {
  try {
    ResultTable table{.name = json.at("name"),
                      .title = json.at("title"),
                      .about = json.value("about", std::string())};
    for (const Json& column : json.at("columns")) {
      table.columns.push_back({.name = column.at("name"),
                               .title = column.value("title", column.at("name").get<std::string>()),
                               .unit = column.value("unit", std::string()),
                               .digits = digits_from_json(column, place),
                               .is_signed = column.value("signed", false)});
    }
    if (!is_name(table.name))
      throw Error(place + ": name", "must be letters, digits and _", table.name.substr(0, 80));
    if (table.columns.empty() || table.columns.size() > kMostColumns) {
      throw Error(place + ": columns", fmt::format("must be 1 to {}", kMostColumns),
                  std::to_string(table.columns.size()));
    }
    const Json& rows = json.at("rows");
    if (!rows.is_array() || rows.size() > kMostRows) {
      throw Error(place + ": rows", fmt::format("must be a list of at most {}", kMostRows),
                  rows.type_name());
    }
    for (const Json& row : rows) {
      std::vector<ResultValue> values;
      for (const ResultColumn& column : table.columns) {
        const auto found = row.find(column.name);
        values.push_back(found == row.end() ? ResultValue()
                                            : value_from_json(*found, place + ": " + column.name));
      }
      table.rows.push_back(std::move(values));
    }
    return table;
  } catch (const Json::exception& error) {
    throw Error(place, "must be a table as Ropewalk writes it", json_reason(error));
  }
}

std::string to_csv(const ResultTable& table) {
  std::string text;
  for (size_t c = 0; c < table.columns.size(); ++c)
    text += (c == 0 ? "" : ",") + csv_field(table.columns[c].name);
  text += "\r\n";
  for (const auto& row : table.rows) {
    for (size_t c = 0; c < row.size(); ++c) text += (c == 0 ? "" : ",") + csv_field(row[c]);
    text += "\r\n";
  }
  return text;
}

}  // namespace ropewalk
