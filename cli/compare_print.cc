#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/compare_report.h"
#include "cli/text_layout.h"
#include "ropewalk/formats/json_file.h"
#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;

std::string layer_text(int64_t layer) {
  return layer < 0 ? "whole model" : "layer " + std::to_string(layer);
}

std::string ratio_text(double ratio) {
  return std::isinf(ratio) ? "one of the two stands still"
                           : fmt::format("by up to {:.4g} times", ratio);
}

void print_parting(const Parting& parting) {
  const std::string length = parting.length == 0
                                 ? "in sequences of any length"
                                 : fmt::format("in sequences of {} tokens", parting.length);
  const std::string position = parting.position == 0
                                   ? "at no position below 2^53"
                                   : fmt::format("from position {} on", parting.position);
  Table table;
  table.add({"rotation parts", fmt::format("in layer {}, at pair {}, {}, {}", parting.layer,
                                           parting.pair, position, length)});
  table.add({"its inv_freq", fmt::format("{:.9g} and {:.9g} radians per token", parting.inv_freq_a,
                                         parting.inv_freq_b)});
  table.add({"all its layer",
             fmt::format("rates differ {}, most at pair {}", ratio_text(parting.gap.largest_ratio),
                         parting.gap.worst_pair)});
  fmt::print("{}", table.text());
}

void print_curve(const CompareReport& report) {
  if (report.curve.empty()) return;
  fmt::print("\n{}", paragraph(fmt::format("Mean cosine, over all pairs of layer {}, between the "
                                           "two rotations of a key so many tokens back: 1 is the "
                                           "same, 0 has nothing in common",
                                           report.curve_layer),
                               "", 0));
  fmt::print("  {:>10}  {}\n", "distance", "mean cosine");
  for (const CosineAtDistance& point : report.curve) {
    fmt::print("  {:>10}  {:>11.6f}\n", point.distance, point.mean);
  }
}

void print_equal(const CompareReport& report) {
  const std::string layers =
      report.n_layers == 0 ? "all layers" : fmt::format("all {} layers", report.n_layers);
  std::string text = "equal: identical tables in " + layers + ", at every position and length";
  if (report.largest_ratio > 1) {
    text += fmt::format(", but for rounding: rates agree to {:.1e}, as float32 keys have it",
                        report.largest_ratio - 1);
  }
  fmt::print("{}", paragraph(text, "", 2));
}

Json or_null(double value) { return std::isfinite(value) ? Json(value) : Json(); }

}  // namespace

void print_compare_text(const CompareReport& report) {
  Table files;
  files.add({"a", report.a.path, report.a.config.architecture});
  files.add({"b", report.b.path, report.b.config.architecture});
  fmt::print("{}", files.text());
  if (report.equal()) {
    print_equal(report);
  } else {
    fmt::print("different\n");
    if (report.parting) print_parting(*report.parting);
    Table table;
    for (const Difference& difference : report.differences) {
      table.add({difference.what, fmt::format("{}: {} in a, {} in b", layer_text(difference.layer),
                                              difference.a, difference.b)});
    }
    fmt::print("{}", table.text());
    print_curve(report);
  }
  for (const std::string& note : report.notes) fmt::print("{}", paragraph(note, "note: ", 6));
}

void print_compare_json(const CompareReport& report) {
  Json json = {{"a", report.a.path},
               {"b", report.b.path},
               {"equal", report.equal()},
               {"layers", report.n_layers},
               {"largest_ratio", or_null(report.largest_ratio)}};
  json["parting"] = nullptr;
  if (report.parting) {
    const Parting& parting = *report.parting;
    json["parting"] = {{"layer", parting.layer},
                       {"length", parting.length == 0 ? Json() : Json(parting.length)},
                       {"pair", parting.pair},
                       {"position", parting.position == 0 ? Json() : Json(parting.position)},
                       {"inv_freq", {parting.inv_freq_a, parting.inv_freq_b}},
                       {"largest_ratio", or_null(parting.gap.largest_ratio)},
                       {"worst_pair", parting.gap.worst_pair}};
  }
  json["differences"] = Json::array();
  for (const Difference& difference : report.differences) {
    json["differences"].push_back(
        {{"what", difference.what},
         {"layer", difference.layer < 0 ? Json() : Json(difference.layer)},
         {"a", difference.a},
         {"b", difference.b}});
  }
  json["curve_layer"] = report.curve_layer;
  json["curve"] = Json::array();
  for (const CosineAtDistance& point : report.curve) {
    json["curve"].push_back({{"distance", point.distance}, {"mean_cosine", point.mean}});
  }
  json["notes"] = report.notes;
  fmt::print("{}\n", dump_json(json, 2));
}

}  // namespace ropewalk
