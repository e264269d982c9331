#include "cli/bias_table.h"

#include <fmt/core.h>

#include "ropewalk/report/pictures.h"

namespace ropewalk {

std::optional<StudyTable> bias_table(const BiasReport& bias) {
  if (bias.median.empty()) return std::nullopt;
  const std::string name = fmt::format("median of {} heads", bias.heads.size());
  ResultTable table{
      .name = kBiasTable,
      .title = "Bias curve",
      .about =
          "The score that the model, as declared, gives a distance whatever stands there, from "
          "mean queries and keys inside the trained length. Where it rises again past the "
          "trained length, all attention goes to the farthest text; a cap belongs at its "
          "lowest place.",
      .columns = {{.name = "curve", .title = "curve"},
                  {.name = "distance", .title = "distance", .unit = "tokens"},
                  {.name = "bias", .title = "B(d)", .unit = "logits", .digits = 3}}};
  for (size_t k = 0; k < bias.distances.size(); ++k)
    table.rows.push_back({name, bias.distances[k], bias.median[k]});
  std::vector<PictureRule> rules = {
      {.at = static_cast<double>(bias.trained_length), .text = "trained length"}};
  if (bias.cap) rules.push_back({.at = static_cast<double>(*bias.cap), .text = "lowest"});
  if (bias.median_collapse)
    rules.push_back({.at = static_cast<double>(*bias.median_collapse), .text = "collapse"});
  return StudyTable{
      .table = std::move(table),
      .spec = line_spec({.x = {.column = "distance", .title = "distance (tokens)", .is_log = true},
                         .y = {.column = "bias", .title = "B(d) (logits)"},
                         .series = "curve",
                         .series_title = "curve",
                         .is_own = true,
                         .x_rules = rules},
                        {{.name = name}}),
      .description = "A line of the median bias curve against distance."};
}

}  // namespace ropewalk
