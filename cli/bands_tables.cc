#include "cli/bands_tables.h"

#include <algorithm>
#include <set>

#include "cli/bands_report.h"
#include "ropewalk/report/pictures.h"

namespace ropewalk {
namespace {

const ResultColumn kShare = {
    .name = "share", .title = "share of what tells keys apart", .digits = 3};
const ResultColumn kAttention = {.name = "attention", .title = "attention", .digits = 3};

template <size_t n>
bool is_used(const std::array<ModelGroup, n>& groups, size_t kind) {
  return std::ranges::any_of(groups,
                             [&](const ModelGroup& group) { return group.shares[kind] != 0; });
}

// By pair where all layers have equal spectra, else by kind of pair.
ResultTable usage_table(const UsageReport& report, bool by_pair) {
  ResultTable table{
      .name = kPairUsageTable,
      .title = "Pair usage by distance",
      .about =
          "How much each pair of coordinates tells keys of a run of distances apart, over all "
          "heads, measured inside the trained length: the share that it has of the scores' "
          "variance among them. Bands by the speed of the pairs would have each line "
          "peak at the pairs of its own distance.",
      .columns = {{.name = "distances", .title = "distances", .unit = "tokens"},
                  by_pair ? ResultColumn{.name = "pair", .title = "pair"}
                          : ResultColumn{.name = "pairs", .title = "pairs of"},
                  {.name = "own", .title = "own distance", .unit = "tokens"},
                  kShare,
                  kAttention}};
  for (size_t band = 0; band < kDistanceBands; ++band) {
    const ModelGroup& group = report.bands[band];
    if (group.n_scores == 0) continue;
    const size_t count = by_pair ? group.pair_shares.size() - 1 : kPairKinds;
    for (size_t k = 0; k < count; ++k) {
      if (!by_pair && !is_used(report.bands, k)) continue;
      const std::string own = pair_kind_name(by_pair ? own_band(report.inv_freq.front()[k]) : k);
      table.rows.push_back({pair_kind_name(band),
                            by_pair ? ResultValue(static_cast<int64_t>(k)) : ResultValue(own), own,
                            by_pair ? group.pair_shares[k] : group.shares[k], group.attention});
    }
  }
  return table;
}

// The end of the colours: the shares of one column are all of 1, so few come near it.
double highest_share(const ResultTable& table) {
  const size_t column = table.column(kShare.name);
  double highest = 0;
  for (const auto& row : table.rows) highest = std::max(highest, std::get<double>(row[column]));
  return highest > 0 ? highest : 1;
}

size_t n_different(const ResultTable& table, const std::string& column) {
  std::set<ResultValue> values;
  for (const auto& row : table.rows) values.insert(row[table.column(column)]);
  return values.size();
}

std::vector<Series> distances_of(const ResultTable& table) {
  std::vector<Series> series;
  for (const auto& row : table.rows) {
    const auto& name = std::get<std::string>(row.front());
    if (series.empty() || series.back().name != name) series.push_back({.name = name});
  }
  return series;
}

StudyTable pair_usage(const UsageReport& report) {
  const bool by_pair = std::ranges::all_of(report.bands, [](const ModelGroup& group) {
    return group.n_scores == 0 || !group.pair_shares.empty();
  });
  StudyTable out{.table = usage_table(report, by_pair),
                 .spec = {},
                 .description = "Each run of distances, and what each pair tells of its keys."};
  out.spec = by_pair ? line_spec({.x = {.column = "pair", .title = "pair", .is_whole = true},
                                  .y = {.column = "share", .title = "share", .from_zero = true},
                                  .series = "distances",
                                  .series_title = "distance of the keys (tokens)",
                                  .is_own = true},
                                 distances_of(out.table))
                     : heat_spec({.x = {"distances", "distances (tokens)"},
                                  .y = {"pairs", "pairs of (tokens)"},
                                  .value = {"share", "share"},
                                  .highest = highest_share(out.table),
                                  .n_rows = n_different(out.table, "pairs")});
  return out;
}

StudyTable relations(const UsageReport& report) {
  ResultTable table{
      .name = kRelationTable,
      .title = "Pair usage by where the key stands",
      .about =
          "How much pairs tell keys apart that stand in the query's own sentence, outside of "
          "it in its paragraph, outside of that in its chapter, and beyond. Pairs are put "
          "together by the distances at which they turn by one radian.",
      .columns = {{.name = "key", .title = "key stands in"},
                  {.name = "pairs", .title = "pairs of", .unit = "tokens"},
                  kShare,
                  kAttention}};
  for (size_t related = 0; related < kRelations; ++related) {
    const ModelGroup& group = report.relations[related];
    if (group.n_scores == 0) continue;
    for (size_t kind = 0; kind < kPairKinds; ++kind) {
      if (!is_used(report.relations, kind)) continue;
      table.rows.push_back(
          {relation_name(related), pair_kind_name(kind), group.shares[kind], group.attention});
    }
  }
  const double highest = highest_share(table);
  const size_t n_rows = n_different(table, "pairs");
  return {.table = std::move(table),
          .spec = heat_spec({.x = {"key", "key stands in"},
                             .y = {"pairs", "pairs of (tokens)"},
                             .value = {"share", "share"},
                             .highest = highest,
                             .n_rows = n_rows}),
          .description = "A grid of shares, by pairs and by where the key stands."};
}

}  // namespace

std::vector<StudyTable> usage_tables(const UsageReport& report) {
  std::vector<StudyTable> tables = {pair_usage(report)};
  if (report.has_places) tables.push_back(relations(report));
  std::erase_if(tables, [](const StudyTable& one) { return one.table.rows.empty(); });
  return tables;
}

}  // namespace ropewalk
