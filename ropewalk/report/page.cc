#include "ropewalk/report/page.h"

#include <algorithm>
#include <array>

#include "ropewalk/report/assets.h"

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kGenerator = "Ropewalk";

// Dark enough on white (3 to 1 and more), and told apart by the colour-blind: after Okabe and Ito
// 2008, darkened. page.css has them for dark grounds.
constexpr std::array<const char*, kLookColors> kColors = {
    "#1b1d21", "#0072b2", "#b85c00", "#007a5a", "#8e4a9e", "#c4302b", "#7a5230", "#62717d"};
constexpr std::array<const char*, 6> kShapes = {"circle",  "square",        "triangle-up",
                                                "diamond", "triangle-down", "cross"};

const ResultTable* find_table(const Section& section, const std::string& name) {
  const auto found = std::find_if(section.tables.begin(), section.tables.end(),
                                  [&](const ResultTable& table) { return table.name == name; });
  return found == section.tables.end() ? nullptr : &*found;
}

}  // namespace

SeriesLook look_of(size_t index) {
  static const std::array<std::vector<int>, 5> kDashes = {
      std::vector<int>{}, {7, 3}, {2, 3}, {9, 3, 2, 3}, {14, 4}};
  return {.color = kColors[index % kColors.size()],
          .dash = kDashes[index % kDashes.size()],
          .shape = kShapes[index % kShapes.size()]};
}

Json whole_spec(const Section& section) {
  Json spec = {{"usermeta", {{"generator", kGenerator}}}};
  spec.update(section.picture->spec);
  spec["description"] = section.picture->description;
  const ResultTable* table = find_table(section, section.picture->table);
  spec["data"] = {{"values", table == nullptr ? Json::array() : rows_json(*table)}};
  return spec;
}

Json to_json(const Page& page) {
  Json out = {{"generator", kGenerator}, {"title", page.title}, {"subtitle", page.subtitle}};
  out["series"] = Json::array();
  for (const Series& series : page.series)
    out["series"].push_back({{"name", series.name}, {"role", series.role}});
  out["sections"] = Json::array();
  Json tables = Json::object();
  Json pictures = Json::object();
  for (const Section& section : page.sections) {
    Json one = {{"id", section.id},
                {"title", section.title},
                {"paragraphs", section.paragraphs},
                {"cautions", section.cautions}};
    one["quotes"] = Json::array();
    for (const auto& [title, text] : section.quotes)
      one["quotes"].push_back({{"title", title}, {"text", text}});
    one["commands"] = Json::array();
    for (const auto& [purpose, line] : section.commands)
      one["commands"].push_back({{"for", purpose}, {"line", line}});
    one["tables"] = Json::array();
    for (const ResultTable& table : section.tables) {
      one["tables"].push_back(table.name);
      tables[table.name] = to_json(table);
    }
    out["sections"].push_back(std::move(one));
    if (section.picture) pictures[section.id] = whole_spec(section);
  }
  out["tables"] = std::move(tables);
  out["pictures"] = std::move(pictures);
  return out;
}

bool can_draw() { return !kVegaScript.empty(); }

}  // namespace ropewalk
