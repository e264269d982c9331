#include "ropewalk/study/record.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <limits>
#include <nlohmann/json.hpp>

#include "ropewalk/base/error.h"
#include "ropewalk/base/json_reason.h"
#include "ropewalk/config/engine_lines.h"
#include "ropewalk/config/portability.h"
#include "ropewalk/formats/json_file.h"
#include "ropewalk/math/map_reach.h"
#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kPointsPerDecade = 32;

// 1 to n - 1.
std::vector<int64_t> log_distances(int64_t n) {
  std::vector<int64_t> distances;
  for (double step = 0;; ++step) {
    const int64_t d = std::llround(std::pow(10.0, step / kPointsPerDecade));
    if (d >= n - 1) break;
    if (distances.empty() || d > distances.back()) distances.push_back(d);
  }
  if (n > 1) distances.push_back(n - 1);
  return distances;
}

Json parse_record(const StudyContents& study, const std::string& name) {
  const auto found = study.records.find(name);
  if (found == study.records.end()) {
    throw Error(study.path, "must say what it measured: it has no " + name, {},
                "run the same `ropewalk extend` on it once more: no pass is run again");
  }
  return parse_json(found->second, study.path + ": " + name);
}

// What nlohmann-json says of a wrong type, with the study's name.
template <typename Read>
auto read_record(const StudyContents& study, const std::string& name, const Read& read) {
  const Json json = parse_record(study, name);
  const std::string place = study.path + ": " + name;
  try {
    return read(json, place);
  } catch (const Json::exception& error) {
    throw Error(place, "must be as Ropewalk writes it", json_reason(error));
  }
}

// nlohmann-json casts whatever number is there: 1e300 as an integer is anything.
//   key  or an entry's place in a list
//   most  what the result's type holds
template <typename Key>
int64_t whole(const Json& json, const Key& key, const std::string& place,
              int64_t most = int64_t{1} << 53) {
  const Json& value = json.at(key);
  const double number = value.get<double>();
  if (value.is_number_integer() && number >= 0 && number <= static_cast<double>(most))
    return value.get<int64_t>();
  throw Error(fmt::format("{}: {}", place, key),
              fmt::format("must be a whole number, 0 to {}", most), value.dump());
}

WindowFacts read_window(const Json& json, const std::string& place) {
  WindowFacts window{.document = json.at("document"),
                     .first = whole(json, "first", place),
                     .tokens = whole(json, "tokens", place)};
  window.left_out = json.value("left_out", false);
  window.held_out = json.value("held_out", false);
  for (const Json& repeat : json.at("repeats")) {
    const std::string own = place + ": repeats";
    window.repeats.push_back({.first = whole(repeat, 0, own),
                              .length = whole(repeat, 1, own),
                              .distance = whole(repeat, 2, own)});
  }
  return window;
}

StudyFacts read_facts(const Json& json, const std::string& place) {
  constexpr int64_t kMostThreads = std::numeric_limits<int>::max();
  StudyFacts facts{.model = json.at("model"),
                   .description = json.at("description"),
                   .trained_length = whole(json, "trained_length", place),
                   .target_length = whole(json, "target_length", place),
                   .engine = json.at("engine"),
                   .precision = json.at("precision"),
                   .text = json.at("text"),
                   .threads = static_cast<int>(whole(json, "threads", place, kMostThreads)),
                   .started = json.at("started"),
                   .finished = json.at("finished"),
                   .left_out = json.value("left_out", "")};
  for (const Json& window : json.at("windows"))
    facts.windows.push_back(read_window(window, place + ": windows"));
  return facts;
}

SchemeFacts read_scheme(const Json& json, const std::string& place) {
  SchemeFacts facts{.scheme = json.at("scheme"),
                    .truncates = json.at("truncates"),
                    .recommended = json.at("recommended"),
                    .finalist = json.at("finalist"),
                    .keeps_distances = json.at("keeps_distances"),
                    .found_by = json.value("found_by", ""),
                    .inv_freq = json.at("inv_freq").get<std::vector<double>>()};
  const Json& distances = json.at("distances");
  for (size_t k = 0; k < distances.size(); ++k)
    facts.distances.push_back(whole(distances, k, place + ": distances"));
  for (const Json& engine : json.at("engines")) {
    facts.engines.push_back({.engine = engine.at("engine"),
                             .portable = engine.at("portable"),
                             .how = engine.at("how"),
                             .lines = engine.value("lines", std::vector<std::string>())});
  }
  for (const Json& value : json.at("effective")) {
    facts.effective.push_back(value.is_null() ? std::nullopt : std::optional<double>(value));
  }
  if (facts.effective.size() != facts.distances.size()) {
    throw Error(place, "must have as many effective distances as distances",
                std::to_string(facts.effective.size()));
  }
  return facts;
}

}  // namespace

const Rotary& first_rotary(const ModelConfig& config) {
  for (const LayerGroup& group : config.groups) {
    if (group.rotary) return *group.rotary;
  }
  throw Error("model", "must have a layer that is rotated", "none");
}

SchemeFacts scheme_facts(const ModelConfig& config, ModelFormat format, const std::string& scheme,
                         int64_t n) {
  const ParsedScheme parsed = parse_scheme(scheme);
  const Rotary rotary = at_length(apply_scheme(parsed, first_rotary(config)), n);
  SchemeFacts facts{.scheme = parsed.text(),
                    .truncates = rotary.visibility.window < n,
                    .recommended = parsed.recommended(),
                    .distances = log_distances(n),
                    .inv_freq = rotary.spectrum.at(n).inv_freq()};
  for (const TargetEngine engine : kTargetEngines) {
    const Portability verdict = judge_portability(config, format, facts.scheme, engine);
    facts.engines.push_back({.engine = to_string(engine),
                             .portable = verdict.portable,
                             .how = verdict.portable ? verdict.how : verdict.why_not,
                             .lines = engine_lines(config, format, facts.scheme, engine, n)});
  }
  for (const int64_t d : facts.distances) {
    const std::optional<DoubleDouble> seen = effective_distance(rotary, n, d);
    facts.effective.push_back(seen ? std::optional(static_cast<double>(*seen)) : std::nullopt);
    if (facts.effective.back() != static_cast<double>(d)) facts.keeps_distances = false;
  }
  return facts;
}

std::string describe_model(const ModelConfig& config) {
  const ModelShape& shape = config.shape;
  std::string text = fmt::format("{}, {} layers, {} query heads, {} key heads of {} coordinates",
                                 config.architecture, shape.n_layers, shape.n_heads,
                                 shape.n_kv_heads, shape.head_dim);
  for (const LayerGroup& group : config.groups) {
    if (!group.rotary) continue;
    text += fmt::format(", base {}", to_text(static_cast<double>(group.rotary->source.base)));
    if (!group.scheme.empty()) text += ", declared " + group.scheme;
    break;
  }
  return text;
}

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc = {};
  gmtime_r(&now, &utc);
  char text[32];
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

std::string to_json(const StudyFacts& facts) {
  Json out = {{"model", facts.model},
              {"description", facts.description},
              {"trained_length", facts.trained_length},
              {"target_length", facts.target_length},
              {"engine", facts.engine},
              {"precision", facts.precision},
              {"text", facts.text},
              {"threads", facts.threads},
              {"started", facts.started},
              {"finished", facts.finished}};
  if (!facts.left_out.empty()) out["left_out"] = facts.left_out;
  out["windows"] = Json::array();
  for (const WindowFacts& window : facts.windows) {
    Json row = {{"document", window.document}, {"first", window.first}, {"tokens", window.tokens}};
    if (window.left_out) row["left_out"] = true;
    if (window.held_out) row["held_out"] = true;
    row["repeats"] = Json::array();
    for (const Repeat& repeat : window.repeats) {
      row["repeats"].push_back(Json::array({repeat.first, repeat.length, repeat.distance}));
    }
    out["windows"].push_back(std::move(row));
  }
  return dump_json(out);
}

std::string to_json(const SchemeFacts& facts) {
  Json out = {{"scheme", facts.scheme},
              {"truncates", facts.truncates},
              {"recommended", facts.recommended},
              {"finalist", facts.finalist},
              {"keeps_distances", facts.keeps_distances}};
  if (!facts.found_by.empty()) out["found_by"] = facts.found_by;
  out["engines"] = Json::array();
  for (const EngineVerdict& verdict : facts.engines) {
    out["engines"].push_back({{"engine", verdict.engine},
                              {"portable", verdict.portable},
                              {"how", verdict.how},
                              {"lines", verdict.lines}});
  }
  out["distances"] = facts.distances;
  out["effective"] = Json::array();
  for (const auto& value : facts.effective)
    out["effective"].push_back(value ? Json(*value) : Json(nullptr));
  out["inv_freq"] = facts.inv_freq;
  return dump_json(out);
}

StudyFacts study_facts(const StudyContents& study) {
  return read_record(study, kFactsRecord, read_facts);
}

std::vector<SchemeFacts> all_scheme_facts(const StudyContents& study) {
  std::vector<SchemeFacts> all;
  const std::string prefix = kSchemeRecords;
  for (auto record = study.records.lower_bound(prefix);
       record != study.records.end() && record->first.starts_with(prefix); ++record) {
    all.push_back(read_record(study, record->first, read_scheme));
  }
  return all;
}

}  // namespace ropewalk
