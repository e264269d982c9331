// Vega-Lite specifications of the few kinds of picture that a report has.
#ifndef ROPEWALK_REPORT_PICTURES_H_
#define ROPEWALK_REPORT_PICTURES_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ropewalk/report/page.h"

namespace ropewalk {

struct PictureAxis {
  std::string column;
  std::string title;
  bool is_log = false;  // values at and below 0 are left out
  bool from_zero = false;
  bool is_whole = false;  // ticks at whole numbers
};

// A line across the whole picture.
struct PictureRule {
  double at = 0;
  std::string text;
};

// Lines by series, with intervals where the table has them, and a shape on every fourth point, or
// on every one of bars and whole numbers.
struct LinePicture {
  PictureAxis x;
  PictureAxis y;
  std::string low;  // columns; empty: no intervals
  std::string high;
  bool bars = false;    // intervals as bars on every point; else as a band
  bool is_line = true;  // false: points alone
  std::string series;   // column
  std::string series_title = "setting";
  bool is_own = false;  // series of its own, all drawn: no reader's choice of the page's
  std::vector<PictureRule> x_rules;
  std::vector<PictureRule> y_rules;
};
nlohmann::ordered_json line_spec(const LinePicture& picture, const std::vector<Series>& series);

// Points of few kinds, told apart by colour and shape, each with a label.
struct PointPicture {
  PictureAxis x;
  PictureAxis y;
  std::string kind;   // column
  std::string label;  // column
  std::vector<std::string> tooltip;
  std::vector<PictureRule> x_rules;
};
nlohmann::ordered_json point_spec(const PointPicture& picture,
                                  const std::vector<std::string>& kinds);

struct PictureField {
  std::string column;
  std::string title;
};

// Rows of a grid under a title of their own.
struct HeatGroup {
  std::string title;                // value of the column of groups
  std::vector<std::string> labels;  // values of y
};

// A grid of cells, colours from 0 to `highest`, each with its number. Rows and columns stand as the
// table has them first, or rows as the groups say, where there are some.
struct HeatPicture {
  PictureField x;
  PictureField y;
  PictureField value;
  double highest = 1;
  size_t n_rows = 0;   // without groups
  PictureField group;  // with groups
  std::vector<HeatGroup> groups;
};
nlohmann::ordered_json heat_spec(const HeatPicture& picture);

// The specification with the looks that the page's series have, where it draws series of these
// names; other series beside them get looks that the page does not use. No two have one colour while
// there is another: then the later one of the page, or the other, gets that.
nlohmann::ordered_json with_looks(nlohmann::ordered_json spec, const std::vector<Series>& series);

// The grey of rules, which a page puts its own in place of.
inline constexpr const char* kRuleColor = "#767676";

}  // namespace ropewalk

#endif  // ROPEWALK_REPORT_PICTURES_H_
