#include "cli/calibration_report.h"

#include <string>

#include "cli/estimate_json.h"
#include "cli/estimate_values.h"

namespace ropewalk {
namespace {

constexpr PairVerdict kVerdicts[] = {PairVerdict::kAgrees, PairVerdict::kOverlaps,
                                     PairVerdict::kContradicts, PairVerdict::kUntold};

std::string model_of(const Calibration& one) {
  return one.ordering->model + (one.same_model ? " (this one by its name; other text)"
                                               : " (another model: not expected to be equal)");
}

}  // namespace

ResultTable calibration_table(std::span<const Calibration> calibrations) {
  ResultTable table{
      .name = "calibration",
      .title = "Published orderings",
      .about =
          "Pairs of schemes that a source orders at about this stretch and that were measured here "
          "too. A pair agrees where the 95 % interval of its difference here lies on the published "
          "side of 0, overlaps where it holds 0, contradicts where it lies on the other. Nothing "
          "is decided by them.",
      .columns = {{.name = "source", .title = "source"},
                  {.name = "model", .title = "model"},
                  {.name = "measure", .title = "measure"},
                  {.name = "stretch", .title = "stretch", .unit = "times"},
                  {.name = "held_to", .title = "held to"},
                  {.name = "pairs", .title = "pairs"}}};
  for (const PairVerdict verdict : kVerdicts) {
    const std::string name = verdict == PairVerdict::kUntold ? "one_window" : to_string(verdict);
    table.columns.push_back({.name = name, .title = to_string(verdict)});
  }
  for (const Calibration& one : calibrations) {
    auto& row = table.rows.emplace_back();
    row = {one.ordering->source,
           model_of(one),
           one.ordering->measure,
           one.ordering->stretch,
           one.ordering->of_recall ? "copy gain beyond" : "loss beyond",
           static_cast<int64_t>(one.pairs.size())};
    for (const PairVerdict verdict : kVerdicts)
      row.emplace_back(static_cast<int64_t>(one.count(verdict)));
  }
  return table;
}

ResultTable calibration_pair_table(std::span<const Calibration> calibrations) {
  ResultTable table{
      .name = "calibration_pairs",
      .title = "Published pairs",
      .about =
          "By how much the setting that is published as the better one leads here, over the "
          "windows that both ran.",
      .columns = {{.name = "source", .title = "source"},
                  {.name = "measure", .title = "measure"},
                  {.name = "better", .title = "better as published"},
                  {.name = "better_figure", .title = "figure"},
                  {.name = "worse", .title = "worse as published"},
                  {.name = "worse_figure", .title = "figure"},
                  {.name = "lead",
                   .title = "leads here",
                   .unit = "nats per token",
                   .digits = 3,
                   .is_signed = true},
                  {.name = "low", .title = "95 % from", .digits = 3, .is_signed = true},
                  {.name = "high", .title = "to", .digits = 3, .is_signed = true},
                  {.name = "verdict", .title = "verdict"}}};
  for (const Calibration& one : calibrations) {
    for (const ComparedPair& pair : one.pairs) {
      table.rows.push_back({one.ordering->source, one.ordering->measure, pair.better,
                            pair.better_figure, pair.worse, pair.worse_figure, pair.lead.mean,
                            low_of(pair.lead), high_of(pair.lead), to_string(pair.verdict)});
    }
  }
  return table;
}

nlohmann::ordered_json calibration_json(std::span<const Calibration> calibrations) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Calibration& one : calibrations) {
    nlohmann::ordered_json& out = all.emplace_back();
    out = {{"source", one.ordering->source},
           {"model", one.ordering->model},
           {"same_model", one.same_model},
           {"measure", one.ordering->measure},
           {"stretch", one.ordering->stretch},
           {"held_to", one.ordering->of_recall ? "copy_beyond" : "beyond"}};
    out["pairs"] = nlohmann::ordered_json::array();
    for (const ComparedPair& pair : one.pairs) {
      out["pairs"].push_back({{"better", pair.better},
                              {"better_figure", pair.better_figure},
                              {"worse", pair.worse},
                              {"worse_figure", pair.worse_figure},
                              {"lead", estimate_json(pair.lead)},
                              {"verdict", to_string(pair.verdict)}});
    }
  }
  return all;
}

}  // namespace ropewalk
