#include "ropewalk/report/pictures.h"

#include <fmt/core.h>

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

Json by_series(const std::string& column, Json scale) {
  Json out = {{"field", column}, {"type", "nominal"}, {"scale", std::move(scale)}};
  out["legend"] = {{"orient", "bottom"}, {"columns", 1}, {"title", nullptr}};
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
      text["dx"] = 4;
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

}  // namespace

Json line_spec(const LinePicture& picture, const std::vector<Series>& series) {
  Json out = head();
  out["transform"] = filters(picture.x, picture.y);
  if (!picture.is_own) add_choice(series, picture.series, out);

  Json x = axis_json(picture.x, true);
  const Json y = axis_json(picture.y, false);
  if (picture.bars || !picture.is_line) x["scale"]["padding"] = 10;  // whole shapes at the edges
  const Json color = by_series(
      picture.series, scale(series, [](const SeriesLook& look) { return Json(look.color); }));
  const Json dash = by_series(picture.series, scale(series, [](const SeriesLook& look) {
                                return look.dash.empty() ? Json::array({1, 0}) : Json(look.dash);
                              }));
  const Json shape = by_series(
      picture.series, scale(series, [](const SeriesLook& look) { return Json(look.shape); }));
  Json layers = Json::array();
  if (!picture.low.empty()) {
    const Json mark = picture.bars ? Json{{"type", "rule"}, {"opacity", 0.7}}
                                   : Json{{"type", "area"}, {"opacity", 0.13}};
    Json low = y;
    low["field"] = picture.low;
    Json plain = color;
    plain["legend"] = nullptr;
    layers.push_back(
        {{"mark", mark},
         {"encoding",
          {{"x", x}, {"y", low}, {"y2", {{"field", picture.high}}}, {"color", plain}}}});
  }
  if (picture.is_line) {
    layers.push_back({{"mark", {{"type", "line"}, {"strokeWidth", 2}}},
                      {"encoding", {{"x", x}, {"y", y}, {"color", color}, {"strokeDash", dash}}}});
  }
  Json points = {{"mark", {{"type", "point"}, {"filled", true}, {"size", 45}, {"opacity", 1}}},
                 {"encoding", {{"x", x}, {"y", y}, {"color", color}, {"shape", shape}}}};
  points["encoding"]["tooltip"] =
      Json::array({{{"field", picture.series}, {"title", "setting"}},
                   {{"field", picture.x.column}, {"title", picture.x.title}},
                   {{"field", picture.y.column}, {"title", picture.y.title}, {"format", ".4~f"}}});
  if (picture.is_line && !picture.bars) {
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
  layers.push_back(
      {{"mark", {{"type", "point"}, {"filled", true}, {"size", 70}, {"opacity", 0.9}}},
       {"encoding",
        {{"x", x},
         {"y", y},
         {"color",
          by_series(picture.kind,
                    scale(series, [](const SeriesLook& look) { return Json(look.color); }))},
         {"shape",
          by_series(picture.kind,
                    scale(series, [](const SeriesLook& look) { return Json(look.shape); }))},
         {"tooltip", tooltip}}}});
  layers.push_back({{"mark", {{"type", "text"}, {"dy", -9}, {"fontSize", 11}}},
                    {"encoding", {{"x", x}, {"y", y}, {"text", {{"field", picture.label}}}}}});
  add_rules(picture.x_rules, "x", layers);
  out["layer"] = std::move(layers);
  return out;
}

Json heat_spec(const HeatPicture& picture) {
  constexpr int kRowHeight = 22;         // pixels
  constexpr int kLongestLabel = 150;     // pixels: a phone has 360
  constexpr double kLightEnough = 0.45;  // of the colours, for black text
  Json out = head();
  out["height"] = {{"step", kRowHeight}};
  const auto side = [](const PictureField& field) {
    return Json{
        {"field", field.column}, {"type", "ordinal"}, {"title", field.title}, {"sort", nullptr}};
  };
  Json x = side(picture.x);
  x["axis"] = {{"labelAngle", 0}, {"orient", "top"}};
  Json y = side(picture.y);
  y["axis"] = {{"labelLimit", kLongestLabel}};
  const std::string value = "datum." + picture.value.column;
  const Json number = {
      {"field", picture.value.column}, {"type", "quantitative"}, {"title", picture.value.title}};
  Json color = number;
  color["scale"] = {{"scheme", "viridis"}, {"domain", {0, 1}}, {"clamp", true}};
  color["legend"] = nullptr;
  Json text = number;
  text["format"] = ".2f";
  Json tooltip = Json::array();
  for (const PictureField* field : {&picture.y, &picture.x, &picture.value})
    tooltip.push_back({{"field", field->column}, {"title", field->title}});
  const Json text_color = {
      {"condition", {{"test", fmt::format("{} > {}", value, kLightEnough)}, {"value", "black"}}},
      {"value", "white"}};
  out["layer"] =
      Json::array({{{"mark", {{"type", "rect"}}},
                    {"encoding", {{"x", x}, {"y", y}, {"color", color}, {"tooltip", tooltip}}}},
                   {{"mark", {{"type", "text"}, {"fontSize", 11}}},
                    {"encoding", {{"x", x}, {"y", y}, {"text", text}, {"color", text_color}}}}});
  return out;
}

}  // namespace ropewalk
