// A report: sections of words, pictures and tables, and what it is written as.
#ifndef ROPEWALK_REPORT_PAGE_H_
#define ROPEWALK_REPORT_PAGE_H_

#include <compare>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ropewalk/report/table.h"

namespace ropewalk {

// One line or point kind, the same in every picture of a page. Its place in the page's list says
// what it looks like: see look_of().
struct Series {
  std::string name;
  std::string role;    // "best overall"; empty: none
  bool shown = false;  // before the reader chooses
};

// Colour, dash and shape: no two of kDifferentLooks in a row are alike in all, none of kLookColors in
// colour, neighbours in nothing.
struct SeriesLook {
  std::string color;      // on white: "#0072b2"
  std::vector<int> dash;  // lengths drawn and left out; empty: solid
  std::string shape;      // of Vega: "circle"

  auto operator<=>(const SeriesLook&) const = default;
};
inline constexpr size_t kLookColors = 8;
inline constexpr size_t kDifferentLooks = 120;
SeriesLook look_of(size_t index);

// A picture of one table of its section, as Vega-Lite draws it.
struct Picture {
  std::string table;            // whose rows it shows
  nlohmann::ordered_json spec;  // without "data"
  std::string description;      // what one sees, for who does not
  std::string series;           // column that names the series; empty: none
};

struct Section {
  std::string id;  // letters and dashes
  std::string title;
  std::vector<std::string> paragraphs;
  std::vector<std::string> cautions;                          // set apart
  std::vector<std::pair<std::string, std::string>> quotes;    // title, text as it is
  std::vector<std::pair<std::string, std::string>> commands;  // what for, the line
  std::optional<Picture> picture;
  std::vector<ResultTable> tables;
  bool tables_open = false;  // else behind "numbers"
};

struct Page {
  std::string title;
  std::string subtitle;
  std::vector<Series> series;
  std::vector<Section> sections;
};

// With which all files of their kind begin, JSON indented by one, so that they are known again.
inline constexpr std::string_view kHtmlBeginning =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"generator\" content=\"Ropewalk\">\n";
inline constexpr std::string_view kJsonBeginning = "{\n \"generator\": \"Ropewalk\"";
inline constexpr std::string_view kSpecBeginning =
    "{\n \"usermeta\": {\n  \"generator\": \"Ropewalk\"";

// The specification of a section's picture with its data inside: what Vega's editor takes.
nlohmann::ordered_json whole_spec(const Section& section);

// {"generator", "title", "subtitle", "series", "sections": [...], "tables": {name: table}, "pictures": {name:
// specification}}
nlohmann::ordered_json to_json(const Page& page);

// One file that asks for no other. In it are only rows of series that the page lists; rows of no
// series are all there.
std::string to_html(const Page& page);

// Whether this build can draw the page's pictures; otherwise it has words and tables alone.
bool can_draw();

}  // namespace ropewalk

#endif  // ROPEWALK_REPORT_PAGE_H_
