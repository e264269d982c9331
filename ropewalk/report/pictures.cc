#include "ropewalk/report/pictures.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "https://vega.github.io/schema/vega-lite/v6.json";

// As many ticks as there is room for.
constexpr const char* kTicksAcross = "max(2, ceil(width / 90))";

Json axis_json(const PictureAxis& axis, bool across) {
  Json out = {{"field", axis.column}, {"type", "quantitative"}, {"title", axis.title}};
  out["scale"] = axis.is_log ? Json{{"type", "log"}, {"nice", false}}
                             : Json{{"zero", axis.from_zero}, {"nice", !across}};
  out["axis"] = Json::object();
  if (axis.is_log) out["axis"]["format"] = "~s";
  if (axis.is_log && !across) out["axis"]["tickCount"] = 6;
  if (axis.is_whole) out["axis"]["tickMinStep"] = 1;
  if (across) {
    // A fit knows only the labels of the width that it began with, so none may ever need room beside
    // the axis.
    constexpr int kHalfLabel = 32;  // pixels of "1,000,000", with a tolerance
    out["axis"]["tickCount"] = {{"expr", kTicksAcross}};
    out["axis"]["labelFlush"] = kHalfLabel;
    out["axis"]["labelBound"] = 1;
  }
  return out;
}

Json filters(const PictureAxis& x, const PictureAxis& y) {
  Json all = Json::array();
  for (const PictureAxis* axis : {&x, &y}) {
    if (axis->is_log) all.push_back({{"filter", "!(datum." + axis->column + " <= 0)"}});
  }
  return all;
}

Json color_of(const SeriesLook& look) { return look.color; }
Json shape_of(const SeriesLook& look) { return look.shape; }
Json dash_of(const SeriesLook& look) {
  return look.dash.empty() ? Json::array({1, 0}) : Json(look.dash);
}

// Values are the same across layers, so scales are given once and by hand.
template <typename Of>
Json scale(const std::vector<Series>& series, const Of& of) {
  Json out = {{"domain", Json::array()}, {"range", Json::array()}};
  for (size_t k = 0; k < series.size(); ++k) {
    out["domain"].push_back(series[k].name);
    out["range"].push_back(of(look_of(k)));
  }
  return out;
}

Json by_series(const std::string& column, const Json& title, Json scale) {
  Json out = {{"field", column}, {"type", "nominal"}, {"scale", std::move(scale)}};
  out["legend"] = {{"orient", "bottom"}, {"columns", 1}, {"title", title}, {"symbolOpacity", 1}};
  return out;
}

// Right of its rule, or left of it where the right has too little room and the left has more; cut
// where it has too little there too.
void set_beside_upright(Json& mark) {
  constexpr size_t kCharacter = 7;  // pixels
  const size_t need = kCharacter * mark["text"].get<std::string>().size();
  const std::string at = "scale('x', datum.at)";
  const std::string goes_left = fmt::format("{} > max(width - {}, width / 2)", at, need);
  mark["align"] = {{"expr", goes_left + " ? 'right' : 'left'"}};
  mark["dx"] = {{"expr", goes_left + " ? -4 : 4"}};
  mark["limit"] = {{"expr", fmt::format("({0} ? {1} : width - {1}) - 4", goes_left, at)}};
  mark["baseline"] = "top";
}

void add_rules(const std::vector<PictureRule>& rules, const char* channel, Json& layers) {
  int line_above = 0;  // of text beside upright rules: each has one of its own
  for (const PictureRule& rule : rules) {
    const bool upright = channel[0] == 'x';
    const Json data = {{"values", Json::array({{{"at", rule.at}}})}};
    Json encoding;
    encoding[channel] = {{"field", "at"}, {"type", "quantitative"}};
    Json line = {{"type", "rule"}, {"color", kRuleColor}, {"strokeDash", {3, 3}}};
    layers.push_back({{"data", data}, {"mark", line}, {"encoding", encoding}});
    if (rule.text.empty()) continue;
    Json text = {{"type", "text"}, {"text", rule.text}, {"color", kRuleColor}, {"align", "left"}};
    if (upright) {
      set_beside_upright(text);
      encoding["y"] = {{"value", 2 + 15 * line_above++}};
    } else {
      text["dy"] = -4;
      text["baseline"] = "bottom";
      text["limit"] = {{"expr", "width - 4"}};
      encoding["x"] = {{"value", 4}};
    }
    layers.push_back({{"data", data}, {"mark", text}, {"encoding", encoding}});
  }
}

Json head() {
  return {{"$schema", kSchema},
          {"width", "container"},
          {"height", 320},
          {"autosize", {{"type", "fit-x"}, {"contains", "padding"}}}};
}

// Of the series that a reader has chosen on the page.
void add_choice(const std::vector<Series>& series, const std::string& column, Json& spec) {
  Json chosen = Json::array();
  for (const Series& one : series) {
    if (one.shown) chosen.push_back(one.name);
  }
  spec["params"] = Json::array({{{"name", "shown"}, {"value", chosen}}});
  spec["transform"].push_back({{"filter", "indexof(shown, datum." + column + ") >= 0"}});
}

struct LineChannels {
  Json x;
  Json y;
  Json color;
  Json dash;
  Json shape;
};

LineChannels line_channels(const LinePicture& picture, const std::vector<Series>& series) {
  const auto look = [&](const auto& of) {
    return by_series(picture.series, picture.series_title, scale(series, of));
  };
  LineChannels channels{.x = axis_json(picture.x, true),
                        .y = axis_json(picture.y, false),
                        .color = look(color_of),
                        .dash = look(dash_of),
                        .shape = look(shape_of)};
  if (picture.bars || !picture.is_line)
    channels.x["scale"]["padding"] = 10;  // whole shapes at the edges
  return channels;
}

Json interval_layer(const LinePicture& picture, const LineChannels& channels) {
  const Json mark = picture.bars ? Json{{"type", "rule"}, {"opacity", 0.7}}
                                 : Json{{"type", "area"}, {"opacity", 0.13}};
  Json low = channels.y;
  low["field"] = picture.low;
  return {{"mark", mark},
          {"encoding",
           {{"x", channels.x},
            {"y", low},
            {"y2", {{"field", picture.high}}},
            {"color", channels.color}}}};
}

Json point_layer(const LinePicture& picture, const LineChannels& channels) {
  Json points = {{"mark", {{"type", "point"}, {"filled", true}, {"size", 45}, {"opacity", 1}}},
                 {"encoding",
                  {{"x", channels.x},
                   {"y", channels.y},
                   {"color", channels.color},
                   {"shape", channels.shape}}}};
  points["encoding"]["tooltip"] =
      Json::array({{{"field", picture.series}, {"title", picture.series_title}},
                   {{"field", picture.x.column}, {"title", picture.x.title}},
                   {{"field", picture.y.column}, {"title", picture.y.title}, {"format", ".4~f"}}});
  if (picture.is_line && !picture.bars && !picture.x.is_whole) {
    points["transform"] =
        Json::array({{{"window", Json::array({{{"op", "row_number"}, {"as", "place"}}})},
                      {"groupby", Json::array({picture.series})}},
                     {{"filter", "datum.place % 4 == 1"}}});
  }
  return points;
}

// The picture's own column, of label and group's title. A title's own row has no label.
constexpr const char* kGroupedRow = "grouped_row";
constexpr const char* kBeforeGroup = "  ";

std::string grouped_row(const std::string& label, const std::string& group) {
  return label + kBeforeGroup + group;
}

Json group_rows(const std::vector<HeatGroup>& groups) {
  Json rows = Json::array();
  for (const HeatGroup& group : groups) {
    rows.push_back(grouped_row("", group.title));
    for (const std::string& label : group.labels) rows.push_back(grouped_row(label, group.title));
  }
  return rows;
}

std::string row_expression(const HeatPicture& picture) {
  return fmt::format("datum.{} + '{}' + datum.{}", picture.y.column, kBeforeGroup,
                     picture.group.column);
}

// Across the grid, so that long names have room on a phone too.
Json group_titles(const HeatPicture& picture, const Json& y) {
  Json values = Json::array();
  for (const HeatGroup& group : picture.groups)
    values.push_back({{kGroupedRow, grouped_row("", group.title)}, {"group", group.title}});
  return {{"data", {{"values", std::move(values)}}},
          {"mark",
           {{"type", "text"},
            {"align", "left"},
            {"baseline", "middle"},
            {"dy", 2},
            {"fontWeight", 600},
            {"limit", {{"expr", "width"}}}}},
          {"encoding",
           {{"x", {{"value", 0}}},
            {"y", y},
            {"text", {{"field", "group"}, {"type", "nominal"}}},
            {"tooltip", {{"field", "group"}, {"type", "nominal"}}}}}};
}

Json heat_side(const PictureField& field) {
  return {{"field", field.column}, {"type", "ordinal"}, {"title", field.title}, {"sort", nullptr}};
}

Json heat_columns(const HeatPicture& picture) {
  Json x = heat_side(picture.x);
  x["axis"] = {{"labelAngle", 0},
               {"labelFontSize", 11},
               {"labelSeparation", 0},
               {"labelLimit", {{"expr", "bandwidth('x')"}}},
               {"labelExpr", "split(datum.label, ' ')"}};  // a line for each word
  return x;
}

Json heat_rows(const HeatPicture& picture, const Json& rows) {
  constexpr int kLongestLabel = 150;  // pixels: a phone has 360
  Json y = heat_side(picture.y);
  y["axis"] = {{"labelLimit", kLongestLabel}, {"domain", false}, {"ticks", false}};
  if (picture.groups.empty()) return y;
  y["field"] = kGroupedRow;
  y["axis"]["labelExpr"] = fmt::format("split(datum.label, '{}')[0]", kBeforeGroup);
  y["scale"]["domain"] = rows;
  return y;
}

// Of each cell: its colour, its number.
Json heat_cells(const HeatPicture& picture, const Json& x, const Json& y) {
  constexpr double kLightEnough = 0.45;  // of the colours, for black text
  const Json number = {
      {"field", picture.value.column}, {"type", "quantitative"}, {"title", picture.value.title}};
  Json color = number;
  color["scale"] = {{"scheme", "viridis"}, {"domain", {0, picture.highest}}, {"clamp", true}};
  color["legend"] = nullptr;
  Json text = number;
  text["format"] = ".2f";
  Json tooltip = Json::array();
  for (const PictureField* field : {&picture.group, &picture.y, &picture.x, &picture.value}) {
    if (!field->column.empty())
      tooltip.push_back({{"field", field->column}, {"title", field->title}});
  }
  const std::string is_light =
      fmt::format("datum.{} > {}", picture.value.column, kLightEnough * picture.highest);
  const Json text_color = {{"condition", {{"test", is_light}, {"value", "black"}}},
                           {"value", "white"}};
  return Json::array({{{"mark", {{"type", "rect"}}},
                       {"encoding", {{"x", x}, {"y", y}, {"color", color}, {"tooltip", tooltip}}}},
                      {{"mark", {{"type", "text"}, {"fontSize", 11}}},
                       {"encoding", {{"x", x}, {"y", y}, {"text", text}, {"color", text_color}}}}});
}

// The looks of one picture, given one after the other.
class PictureLooks {
 public:
  // fresh: the first look that the page does not use
  explicit PictureLooks(size_t fresh) : fresh_(fresh) {}

  // look_of(wanted), but in a colour that the picture does not have yet while there are such, and
  // like no other look while there are such.
  SeriesLook add(size_t wanted) {
    SeriesLook look = look_of(wanted);
    const bool colors_left = colors_.size() < kLookColors;
    const auto is_free = [&](const SeriesLook& one) {
      return colors_left ? !colors_.contains(one.color) : !looks_.contains(one);
    };
    if (looks_.size() < kDifferentLooks) {
      for (size_t k = fresh_; !is_free(look); ++k) look = look_of(k);
    }
    colors_.insert(look.color);
    looks_.insert(look);
    return look;
  }

 private:
  size_t fresh_;
  std::set<std::string> colors_;
  std::set<SeriesLook> looks_;
};

// Of a scale that draws some of the series: these by their places, then the others. Empty where it
// draws none.
std::vector<SeriesLook> looks_of(const std::vector<Series>& series, const Json& domain) {
  std::map<Json, size_t> places;
  for (size_t k = 0; k < series.size(); ++k) places.emplace(series[k].name, k);
  std::vector<std::pair<size_t, size_t>> wanted;  // look, place in the domain
  size_t next = series.size();
  for (size_t k = 0; k < domain.size(); ++k) {
    const auto place = places.find(domain[k]);
    wanted.emplace_back(place == places.end() ? next++ : place->second, k);
  }
  if (next == series.size() + domain.size()) return {};
  std::ranges::sort(wanted);
  PictureLooks looks(series.size());
  std::vector<SeriesLook> out(domain.size());
  for (const auto& [look, k] : wanted) out[k] = looks.add(look);
  return out;
}

void set_looks(const std::vector<Series>& series, const Json& domain, Json& range) {
  if (!domain.is_array() || !range.is_array() || domain.size() != range.size()) return;
  const std::vector<SeriesLook> looks = looks_of(series, domain);
  for (size_t k = 0; k < looks.size(); ++k) {
    const SeriesLook& look = looks[k];
    const bool is_color = range[k].is_string() && range[k].get<std::string>().starts_with('#');
    range[k] = range[k].is_array() ? dash_of(look) : is_color ? color_of(look) : shape_of(look);
  }
}

}  // namespace

Json line_spec(const LinePicture& picture, const std::vector<Series>& series) {
  Json out = head();
  out["transform"] = filters(picture.x, picture.y);
  if (!picture.is_own) add_choice(series, picture.series, out);
  const LineChannels channels = line_channels(picture, series);
  Json layers = Json::array();
  if (!picture.low.empty()) layers.push_back(interval_layer(picture, channels));
  if (picture.is_line) {
    layers.push_back({{"mark", {{"type", "line"}, {"strokeWidth", 2}}},
                      {"encoding",
                       {{"x", channels.x},
                        {"y", channels.y},
                        {"color", channels.color},
                        {"strokeDash", channels.dash}}}});
  }
  layers.push_back(point_layer(picture, channels));
  add_rules(picture.x_rules, "x", layers);
  add_rules(picture.y_rules, "y", layers);
  out["layer"] = std::move(layers);
  return out;
}

Json point_spec(const PointPicture& picture, const std::vector<std::string>& kinds) {
  Json out = head();
  std::vector<Series> series;
  series.reserve(kinds.size());
  for (const std::string& kind : kinds) series.push_back({.name = kind});
  out["transform"] = filters(picture.x, picture.y);
  Json x = axis_json(picture.x, true);
  Json y = axis_json(picture.y, false);
  constexpr int kRoom = 18;  // pixels for the labels of points at the edge
  x["scale"]["padding"] = kRoom;
  y["scale"]["padding"] = kRoom;
  Json tooltip = Json::array();
  for (const std::string& column : picture.tooltip) tooltip.push_back({{"field", column}});
  Json layers = Json::array();
  layers.push_back({{"mark", {{"type", "point"}, {"filled", true}, {"size", 70}, {"opacity", 0.9}}},
                    {"encoding",
                     {{"x", x},
                      {"y", y},
                      {"color", by_series(picture.kind, nullptr, scale(series, color_of))},
                      {"shape", by_series(picture.kind, nullptr, scale(series, shape_of))},
                      {"tooltip", tooltip}}}});
  layers.push_back({{"mark", {{"type", "text"}, {"dy", -9}, {"fontSize", 11}}},
                    {"encoding", {{"x", x}, {"y", y}, {"text", {{"field", picture.label}}}}}});
  add_rules(picture.x_rules, "x", layers);
  out["layer"] = std::move(layers);
  return out;
}

Json heat_spec(const HeatPicture& picture) {
  constexpr size_t kRowHeight = 22;  // pixels
  const bool grouped = !picture.groups.empty();
  const Json rows = group_rows(picture.groups);
  const Json x = heat_columns(picture);
  const Json y = heat_rows(picture, rows);
  Json out = head();
  out["height"] = kRowHeight * (grouped ? rows.size() : picture.n_rows);
  if (grouped) {
    out["transform"] = Json::array({{{"calculate", row_expression(picture)}, {"as", kGroupedRow}}});
  }
  out["layer"] = heat_cells(picture, x, y);
  if (grouped) out["layer"].push_back(group_titles(picture, y));
  return out;
}

Json with_looks(Json spec, const std::vector<Series>& series) {
  if (spec.is_object() && spec.contains("domain") && spec.contains("range")) {
    set_looks(series, spec["domain"], spec["range"]);
    return spec;
  }
  if (!spec.is_structured()) return spec;
  for (Json& part : spec) part = with_looks(std::move(part), series);
  return spec;
}

}  // namespace ropewalk
