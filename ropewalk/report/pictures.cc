#include "ropewalk/report/pictures.h"

#include <fmt/core.h>

#include <algorithm>

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
  if (across) out["axis"]["tickCount"] = {{"expr", kTicksAcross}};
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
      constexpr size_t kCharacter = 7;  // pixels
      const std::string is_near_edge =
          fmt::format("scale('x', datum.at) > width - {}", kCharacter * rule.text.size());
      text["align"] = {{"expr", is_near_edge + " ? 'right' : 'left'"}};
      text["dx"] = {{"expr", is_near_edge + " ? -4 : 4"}};
      text["baseline"] = "top";
      encoding["y"] = {{"value", 2 + 15 * line_above++}};
    } else {
      text["dy"] = -4;
      text["baseline"] = "bottom";
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

// Between a row's label and its group's title. A title's own row has no label.
constexpr const char* kBeforeGroup = "  ";

Json group_rows(const std::vector<HeatGroup>& groups) {
  Json rows = Json::array();
  for (const HeatGroup& group : groups) {
    rows.push_back(grouped_row("", group.title));
    for (const std::string& label : group.labels) rows.push_back(grouped_row(label, group.title));
  }
  return rows;
}

// Across the grid, so that long names have room on a phone too.
Json group_titles(const HeatPicture& picture, const Json& y) {
  Json values = Json::array();
  for (const HeatGroup& group : picture.groups)
    values.push_back({{picture.y.column, grouped_row("", group.title)}, {"group", group.title}});
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

// Of a scale that draws some of the series.
void set_looks(const std::vector<Series>& series, const Json& domain, Json& range) {
  const auto place_of = [&](const Json& name) {
    return std::ranges::find_if(series, [&](const Series& one) { return name == one.name; }) -
           series.begin();
  };
  if (!domain.is_array() || !range.is_array() || domain.size() != range.size()) return;
  if (std::ranges::none_of(domain,
                           [&](const Json& name) { return place_of(name) < std::ssize(series); }))
    return;
  size_t next = series.size();
  for (size_t k = 0; k < domain.size(); ++k) {
    const auto place = static_cast<size_t>(place_of(domain[k]));
    const SeriesLook look = look_of(place < series.size() ? place : next++);
    const bool is_color = range[k].is_string() && range[k].get<std::string>().starts_with('#');
    range[k] = range[k].is_array() ? dash_of(look) : is_color ? color_of(look) : shape_of(look);
  }
}

}  // namespace

Json line_spec(const LinePicture& picture, const std::vector<Series>& series) {
  Json out = head();
  out["transform"] = filters(picture.x, picture.y);
  if (!picture.is_own) add_choice(series, picture.series, out);

  Json x = axis_json(picture.x, true);
  const Json y = axis_json(picture.y, false);
  if (picture.bars || !picture.is_line) x["scale"]["padding"] = 10;  // whole shapes at the edges
  const auto look = [&](const auto& of) {
    return by_series(picture.series, picture.series_title, scale(series, of));
  };
  const Json color = look(color_of);
  const Json dash = look(dash_of);
  const Json shape = look(shape_of);
  Json layers = Json::array();
  if (!picture.low.empty()) {
    const Json mark = picture.bars ? Json{{"type", "rule"}, {"opacity", 0.7}}
                                   : Json{{"type", "area"}, {"opacity", 0.13}};
    Json low = y;
    low["field"] = picture.low;
    layers.push_back(
        {{"mark", mark},
         {"encoding",
          {{"x", x}, {"y", low}, {"y2", {{"field", picture.high}}}, {"color", color}}}});
  }
  if (picture.is_line) {
    layers.push_back({{"mark", {{"type", "line"}, {"strokeWidth", 2}}},
                      {"encoding", {{"x", x}, {"y", y}, {"color", color}, {"strokeDash", dash}}}});
  }
  Json points = {{"mark", {{"type", "point"}, {"filled", true}, {"size", 45}, {"opacity", 1}}},
                 {"encoding", {{"x", x}, {"y", y}, {"color", color}, {"shape", shape}}}};
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
  layers.push_back(std::move(points));
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

std::string grouped_row(const std::string& label, const std::string& group) {
  return label + kBeforeGroup + group;
}

Json heat_spec(const HeatPicture& picture) {
  constexpr size_t kRowHeight = 22;      // pixels
  constexpr int kLongestLabel = 150;     // pixels: a phone has 360
  constexpr double kLightEnough = 0.45;  // of the colours, for black text
  Json out = head();
  const size_t n_rows = picture.groups.empty() ? picture.n_rows : group_rows(picture.groups).size();
  out["height"] = kRowHeight * n_rows;
  const auto side = [](const PictureField& field) {
    return Json{
        {"field", field.column}, {"type", "ordinal"}, {"title", field.title}, {"sort", nullptr}};
  };
  Json x = side(picture.x);
  x["axis"] = {{"labelAngle", 0},
               {"labelFontSize", 11},
               {"labelSeparation", 0},
               {"labelExpr", "split(datum.label, ' ')"}};  // a line for each word
  Json y = side(picture.y);
  y["axis"] = {{"labelLimit", kLongestLabel}};
  if (!picture.groups.empty()) {
    y["axis"]["labelExpr"] = fmt::format("split(datum.label, '{}')[0]", kBeforeGroup);
    y["axis"]["ticks"] = false;
    y["scale"]["domain"] = group_rows(picture.groups);
  }
  const std::string value = "datum." + picture.value.column;
  const Json number = {
      {"field", picture.value.column}, {"type", "quantitative"}, {"title", picture.value.title}};
  Json color = number;
  color["scale"] = {{"scheme", "viridis"}, {"domain", {0, picture.highest}}, {"clamp", true}};
  color["legend"] = nullptr;
  Json text = number;
  text["format"] = ".2f";
  Json tooltip = Json::array();
  for (const PictureField* field : {&picture.y, &picture.x, &picture.value})
    tooltip.push_back({{"field", field->column}, {"title", field->title}});
  const Json text_color = {
      {"condition",
       {{"test", fmt::format("{} > {}", value, kLightEnough * picture.highest)},
        {"value", "black"}}},
      {"value", "white"}};
  out["layer"] =
      Json::array({{{"mark", {{"type", "rect"}}},
                    {"encoding", {{"x", x}, {"y", y}, {"color", color}, {"tooltip", tooltip}}}},
                   {{"mark", {{"type", "text"}, {"fontSize", 11}}},
                    {"encoding", {{"x", x}, {"y", y}, {"text", text}, {"color", text_color}}}}});
  if (!picture.groups.empty()) out["layer"].push_back(group_titles(picture, y));
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
