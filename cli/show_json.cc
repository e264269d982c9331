// `ropewalk show --json` and `--csv`: for machines.
#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>

#include "cli/show_report.h"
#include "ropewalk/formats/json_file.h"
#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;

Json or_null(double value) { return std::isfinite(value) ? Json(value) : Json(); }
Json or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json json_of(const std::vector<DeclaredField>& fields) {
  Json list = Json::array();
  for (const DeclaredField& field : fields) {
    list.push_back({{"name", field.name},
                    {"value", field.value},
                    {"provenance", to_string(field.provenance)},
                    {"from", field.from}});
  }
  return list;
}

Json json_of(const PairLayout& layout, int64_t passed_before) {
  return {{"order", layout.order == PairOrder::kHalf ? "half" : "interleaved"},
          {"head_dim", layout.head_dim},
          {"rotary_dim", layout.rotary_dim},
          {"strip", layout.strip()},
          {"passed_before", passed_before},
          {"rows", rows_text(layout, passed_before)},
          {"reorder", reorder_text(layout)}};
}

Json json_of(const std::vector<ShownPair>& pairs) {
  Json list = Json::array();
  for (size_t p = 0; p < pairs.size(); ++p) {
    const ShownPair& pair = pairs[p];
    Json entry = {{"pair", p},
                  {"inv_freq", pair.inv_freq},
                  {"wavelength", or_null(pair.wavelength)},
                  {"turns", pair.turns},
                  {"band", pair.band}};
    if (!pair.axis.empty()) entry["axis"] = pair.axis;
    if (pair.decay != 0) entry["decay"] = pair.decay;
    list.push_back(std::move(entry));
  }
  return list;
}

Json json_of(const std::vector<Digit>& digits) {
  Json list = Json::array();
  for (const Digit& digit : digits) {
    list.push_back({{"place", or_null(digit.place)},
                    {"radix", or_null(digit.radix)},
                    {"digit", digit.value},
                    {"angle", digit.reading}});
  }
  return list;
}

Json json_of(const ShownSpectrum& shown, const QueryTemperature& temperature,
             const ShowReport& report) {
  Json json = {{"length", shown.length},
               {"when", or_null(shown.when)},
               {"base", shown.base == 0 ? Json() : Json(shown.base)},
               {"amplitude", shown.spectrum.amplitude},
               {"logit_multiplier", shown.spectrum.logit_multiplier},
               {"pairs", json_of(shown.pairs)}};
  if (report.digits) json["digits"] = json_of(shown.digits);
  if (report.positions.empty()) return json;
  json["positions"] = Json::array();
  for (size_t row = 0; row < report.positions.size(); ++row) {
    Json entry = {{"position", report.positions[row]},
                  {"query_scale", temperature.at(report.positions[row])}};
    for (const ShownAngle& angle : shown.angles[row]) {
      entry["cos"].push_back(angle.cos);
      entry["sin"].push_back(angle.sin);
      entry["turns"].push_back(angle.turns);
    }
    json["positions"].push_back(std::move(entry));
  }
  return json;
}

Json json_of(const QueryTemperature& temperature) {
  if (temperature == QueryTemperature{}) return nullptr;
  return {{"factor", temperature.factor},
          {"log_length", temperature.log_length},
          {"step_scale", temperature.step_scale},
          {"step_length", temperature.step_length},
          {"step_offset", temperature.step_offset}};
}

Json json_of(const Rotary& rotary, const ShownGroup& shown, const ShowReport& report) {
  const int64_t window = rotary.visibility.window;
  Json json = {{"base", static_cast<double>(rotary.source.base)},
               {"frequency_dim", rotary.source.frequency_dim},
               {"trained_length", rotary.source.trained_length},
               {"layout", json_of(rotary.layout, shown.passed_before)},
               {"window", window == kUnbounded ? Json() : Json(window)},
               {"query_temperature", json_of(rotary.temperature)},
               {"depends_on_length", rotary.spectrum.length() != SpectrumRule::Length::kFixed}};
  if (report.digits) json["plain_digits"] = json_of(shown.plain_digits);
  json["spectra"] = Json::array();
  for (const ShownSpectrum& spectrum : shown.spectra) {
    json["spectra"].push_back(json_of(spectrum, rotary.temperature, report));
  }
  json["reach"] = Json::object();
  for (const ShownReach& reach : shown.reach) json["reach"][reach.key] = or_null(reach.value);
  return json;
}

Json json_of(const ShownGroup& shown, const ShowReport& report) {
  const LayerGroup& group = *shown.group;
  Json json = {{"name", or_null(group.name)}, {"layers", group.layers}};
  json["scheme"] = or_null(group.scheme);
  json["fields"] = json_of(group.fields);
  json["rotary"] = group.rotary ? json_of(*group.rotary, shown, report) : Json();
  if (!group.rotary) json["query_temperature"] = json_of(group.temperature);
  return json;
}

Json json_of(const EngineView& view) {
  Json json = {{"engine", to_string(view.rule.engine)},
               {"rule", view.rule.number},
               {"name", view.rule.name},
               {"versions", or_null(std::string(view.rule.versions))},
               {"group", view.group},
               {"says", view.says},
               {"takes", view.takes}};
  json["gap"] = nullptr;
  if (view.gap) {
    const EngineGap& gap = *view.gap;
    json["gap"] = {
        {"length", gap.length == 0 ? Json() : Json(gap.length)},
        {"first_pair", gap.spectrum.first_pair < 0 ? Json() : Json(gap.spectrum.first_pair)},
        {"largest_ratio", or_null(gap.spectrum.largest_ratio)},
        {"worst_pair", gap.spectrum.worst_pair},
        {"amplitude_ratio", gap.amplitude_ratio},
        {"multiplier_ratio", gap.multiplier_ratio}};
    if (gap.spectrum.first_decay >= 0) json["gap"]["first_decay"] = gap.spectrum.first_decay;
  }
  return json;
}

Json json_of(const Finding& finding) {
  return {{"severity", finding.severity == Finding::Severity::kWarning ? "warning" : "info"},
          {"kind", to_string(finding.kind)},
          {"key", or_null(finding.key)},
          {"text", finding.text}};
}

bool has_decay(const ShowReport& report) {
  for (const ShownGroup& group : report.groups) {
    for (const ShownSpectrum& shown : group.spectra) {
      if (!shown.spectrum.decay.empty()) return true;
    }
  }
  return false;
}

// What text alone rounds or leaves out.
struct MechanismNumbers {
  Json operator()(const LearnedTable& table) const {
    return {{"rows", table.n_rows == 0 ? Json() : Json(table.n_rows)}, {"offset", table.offset}};
  }
  Json operator()(const SinusoidalTable& table) const {
    return {{"dim", table.dim}, {"base", table.base}, {"offset", table.offset}};
  }
  Json operator()(const SegmentTable& table) const { return {{"types", table.n_types}}; }
  Json operator()(const AlibiBias& alibi) const { return {{"slopes", alibi.slopes}}; }
  Json operator()(const T5Buckets& buckets) const {
    return {{"buckets", buckets.n_buckets},
            {"max_distance", buckets.max_distance},
            {"bidirectional", buckets.bidirectional}};
  }
  Json operator()(const DebertaBuckets& buckets) const {
    return {{"buckets", buckets.n_buckets}, {"max_distance", buckets.max_distance}};
  }
  Json operator()(const ClippedDistance& clipped) const { return {{"limit", clipped.limit}}; }
  Json operator()(const TransformerXlScores& scores) const { return {{"dim", scores.dim}}; }
  Json operator()(const ConvolutionalEmbedding& convolution) const {
    return {{"width", convolution.width}};
  }
};

Json json_of(const PositionMechanism& mechanism) {
  Json json = {{"kind", mechanism_name(mechanism)}, {"text", mechanism_text(mechanism)}};
  json.update(std::visit(MechanismNumbers{}, mechanism));
  return json;
}

// A cell, in quotes where it holds a comma.
std::string cell(const std::string& text) {
  return text.find(',') == std::string::npos ? text : "\"" + text + "\"";
}

std::string cell(double value) { return fmt::format("{:.17g}", value); }

}  // namespace

void print_show_json(const ShowReport& report) {
  const ModelConfig& config = report.file.config;
  Json json = {{"file", report.file.path},
               {"format", report.file.format},
               {"architecture", config.architecture},
               {"layers", config.shape.n_layers},
               {"usable_length", config.usable_length == 0 ? Json() : Json(config.usable_length)},
               {"usable_reason", or_null(config.usable_reason)},
               {"runs", report.file.obstacle.empty()},
               {"obstacle", or_null(report.file.obstacle)},
               {"fields", json_of(config.fields)}};
  json["groups"] = Json::array();
  for (const ShownGroup& group : report.groups) json["groups"].push_back(json_of(group, report));
  json["mechanisms"] = Json::array();
  for (const PositionMechanism& mechanism : config.mechanisms) {
    json["mechanisms"].push_back(json_of(mechanism));
  }
  json["engines"] = Json::array();
  for (const EngineView& view : report.engines) json["engines"].push_back(json_of(view));
  json["findings"] = Json::array();
  for (const Finding& finding : config.findings) json["findings"].push_back(json_of(finding));
  fmt::print("{}\n", dump_json(json, 2));
}

void print_show_csv(const ShowReport& report) {
  const bool decays = has_decay(report);
  fmt::print("layers,length,pair,axis,inv_freq,wavelength,turns_within_trained_length,band");
  if (decays) fmt::print(",decay");
  if (!report.positions.empty()) fmt::print(",position,cos,sin,turns");
  fmt::print("\n");
  for (const ShownGroup& group : report.groups) {
    for (const ShownSpectrum& shown : group.spectra) {
      for (size_t p = 0; p < shown.pairs.size(); ++p) {
        const ShownPair& pair = shown.pairs[p];
        std::string row = fmt::format(
            "{},{},{},{},{},{},{},{}", cell(layer_list(group.group->layers)), shown.length, p,
            pair.axis, cell(pair.inv_freq), cell(pair.wavelength), cell(pair.turns), pair.band);
        if (decays) row += "," + cell(pair.decay);
        if (report.positions.empty()) fmt::print("{}\n", row);
        for (size_t k = 0; k < report.positions.size(); ++k) {
          const ShownAngle& angle = shown.angles[k][p];
          fmt::print("{},{},{},{},{}\n", row, report.positions[k], cell(angle.cos), cell(angle.sin),
                     cell(angle.turns));
        }
      }
    }
  }
}

}  // namespace ropewalk
