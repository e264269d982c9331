// A table of results: what every output is made of.
#ifndef ROPEWALK_REPORT_TABLE_H_
#define ROPEWALK_REPORT_TABLE_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <variant>
#include <vector>

namespace ropewalk {

// Nothing, a truth, a whole number, a number (finite, or taken for nothing), a text in UTF-8.
using ResultValue = std::variant<std::monostate, bool, int64_t, double, std::string>;

struct ResultColumn {
  std::string name;        // for programs: "beyond_low"
  std::string title;       // for people: "loss beyond"
  std::string unit;        // "nats per token"; empty: none
  int digits = -1;         // decimals that people see; -1: as many as the number needs
  bool is_signed = false;  // people see a plus sign
};

struct ResultTable {
  std::string name;   // for programs, and of its file: "loss_by_position"; letters, digits, _
  std::string title;  // for people
  std::string about;  // what the numbers are, in sentences
  std::vector<ResultColumn> columns;
  std::vector<std::vector<ResultValue>> rows;  // each as long as columns

  // Index of a column; columns.size() where there is none of that name.
  size_t column(const std::string& column_name) const;
};

// As people see it: "+0.012", "4096", "yes", "-" for nothing.
std::string shown(const ResultValue& value, const ResultColumn& column);

// {"name", "title", "about", "columns": [{"name", "title", "unit"}], "rows": [{column: value}]}, a
// column also with "digits" and "signed" where it has them
nlohmann::ordered_json to_json(const ResultTable& table);

// The rows alone, as Vega takes them.
nlohmann::ordered_json rows_json(const ResultTable& table);

// The reverse of to_json; rows may lack columns. Throws Error naming `place` and what is wrong.
ResultTable table_from_json(const nlohmann::ordered_json& json, const std::string& place);

// RFC 4180, with a header line of names; numbers in full.
std::string to_csv(const ResultTable& table);

}  // namespace ropewalk

#endif  // ROPEWALK_REPORT_TABLE_H_
