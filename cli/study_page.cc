#include "cli/study_page.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "cli/bands_report.h"
#include "cli/calibration_report.h"
#include "cli/measured_tables.h"
#include "cli/search_outcome.h"
#include "cli/study_tables.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/json_reason.h"
#include "ropewalk/formats/json_file.h"
#include "ropewalk/report/pictures.h"
#include "ropewalk/study/results.h"

namespace ropewalk {
namespace {

// Declared and the winners first, whatever the race made of them, then the other finalists.
std::vector<Series> series_of(const StudySummary& study) {
  std::vector<Series> series;
  for (const StudySummary::Shown& shown : study.shown)
    series.push_back({.name = shown.scheme, .role = shown.role, .shown = true});
  for (const Candidate& candidate : study.candidates) {
    if (candidate.finalist && study.role_of(candidate.scheme).empty())
      series.push_back({.name = candidate.scheme});
  }
  return series;
}

// The column's name where some row has a value there.
std::string if_filled(const ResultTable& table, const std::string& column) {
  const size_t c = table.column(column);
  const bool filled = std::any_of(table.rows.begin(), table.rows.end(), [&](const auto& row) {
    return !std::holds_alternative<std::monostate>(row[c]);
  });
  return filled ? column : "";
}

PictureRule trained_rule(const StudySummary& study) {
  return {.at = static_cast<double>(study.facts.trained_length), .text = "trained length"};
}

// What one would see, in words, for a picture by series.
std::string names_shown(const StudySummary& study) {
  std::string text;
  for (const StudySummary::Shown& shown : study.shown)
    text += (text.empty() ? "" : ", ") + shown.scheme + " (" + shown.role + ")";
  return text;
}

void add_commands(const StudySummary& study, Section& section) {
  const auto scheme_of = [&](Role role) {
    const std::optional<size_t> index = study.recommendation.index_of(role);
    return index ? study.candidates[*index].scheme : std::string();
  };
  const std::string portable = scheme_of(Role::kBestPortable);
  if (!portable.empty() && portable != "declared") {
    section.commands.emplace_back(
        "A file that " + study.facts.engine + " runs with the best portable setting",
        fmt::format("ropewalk write {} --scheme '{}' --to {} --for {} -o LONGER", study.facts.model,
                    portable, study.facts.target_length, study.facts.engine));
  }
  std::vector<size_t> told;
  for (const Winner& winner : study.recommendation.winners) {
    if (std::ranges::find(told, winner.index) != told.end()) continue;
    told.push_back(winner.index);
    const std::string& scheme = study.candidates[winner.index].scheme;
    for (const auto& [engine, line] : running_lines(study.candidates[winner.index]))
      section.commands.emplace_back(
          fmt::format("{} ({}): {}", scheme, to_string(winner.role), engine), line);
  }
}

Section recommendation_section(const StudySummary& study) {
  Section section{.id = "recommendation", .title = "Recommendation"};
  if (!study.is_finished()) {
    section.cautions.push_back(
        "This study is not finished: what follows is what its passes say so far. Run the same "
        "command again, and it goes on.");
  }
  for (const std::string& sentence : study.recommendation.why) {
    (sentence.starts_with("Doubt: ") ? section.cautions : section.paragraphs).push_back(sentence);
  }
  if (study.recommendation.winners.empty())
    section.cautions.push_back("No setting has run every window yet, so there is no winner.");
  section.tables.push_back(winners_table(study));
  section.tables.push_back(evidence_table(study));
  add_commands(study, section);
  return section;
}

Section loss_section(const StudySummary& study, const std::vector<Series>& series) {
  Section section{
      .id = "loss",
      .title = "Loss by position",
      .paragraphs = {fmt::format(
          "What it costs to predict the next token, by how much text stands before it. Lower is "
          "better; past the trained length of {} tokens the file's own positions are on new "
          "ground. "
          "Bands are 95 % intervals over windows.",
          study.facts.trained_length)}};
  if (scope_of(study.facts).windows < 2)
    section.cautions.push_back("There is one window to choose by, so there are no intervals.");
  const ResultTable table = loss_table(study);
  section.picture =
      Picture{.table = table.name,
              .spec = line_spec({.x = {.column = "middle", .title = "position (tokens)"},
                                 .y = {.column = "loss", .title = "loss (nats per token)"},
                                 .low = if_filled(table, "low"),
                                 .high = "high",
                                 .series = "scheme",
                                 .x_rules = {trained_rule(study)}},
                                series),
              .description = "Lines of loss against position, for " + names_shown(study) +
                             ". The table behind it has the numbers.",
              .series = "scheme"};
  section.tables.push_back(table);
  return section;
}

Section copy_section(const StudySummary& study, const std::vector<Series>& series) {
  Section section{
      .id = "recall",
      .title = "Recall by distance",
      .paragraphs = {"How much a passage is easier to predict where the model has read it before, "
                     "by how far back that was. Above zero, far text is made use of; a setting "
                     "that forgets it falls to zero, however low its loss."}};
  ResultTable table = copy_table(study);
  if (table.rows.empty()) {
    section.paragraphs.clear();
    section.cautions.push_back(
        "No copy test was run, so nothing tells whether far text is made use of.");
    return section;
  }
  section.picture =
      Picture{.table = table.name,
              .spec = line_spec(
                  {.x = {.column = "distance", .title = "distance (tokens)", .is_log = true},
                   .y = {.column = "gain", .title = "gain (nats per token)", .from_zero = true},
                   .low = if_filled(table, "low"),
                   .high = "high",
                   .bars = true,
                   .series = "scheme",
                   .x_rules = {trained_rule(study)},
                   .y_rules = {{.at = 0, .text = ""}}},
                  series),
              .description = "Points of copy gain against distance with intervals, for " +
                             names_shown(study) + ". The table behind it has the numbers.",
              .series = "scheme"};
  section.tables.push_back(std::move(table));
  return section;
}

Section cost_section(const StudySummary& study) {
  Section section{.id = "cost",
                  .title = "Speed against loss",
                  .paragraphs = {fmt::format(
                      "Down is better, right is faster. Numbers are those of the table of all "
                      "settings. Loss is "
                      "beyond {} tokens; what forgets far text is fast because it reads less.",
                      study.facts.trained_length)}};
  const ResultTable table = cost_table(study);
  section.picture =
      Picture{.table = table.name,
              .spec = point_spec({.x = {.column = "speed", .title = "speed (times declared)"},
                                  .y = {.column = "loss", .title = "loss (nats per token)"},
                                  .kind = "kind",
                                  .label = "number",
                                  .tooltip = {"number", "scheme", "kind", "speed", "loss"},
                                  .x_rules = {{.at = 1, .text = "declared's speed"}}},
                                 running_kinds(study)),
              .description =
                  "Points of loss against speed, one for each finalist. The table behind it has "
                  "the numbers."};
  section.tables.push_back(table);
  return section;
}

Section search_section(const StudySummary& study) {
  Section section{.id = "search",
                  .title = "Search past the grid",
                  .paragraphs = search_sentences(study.candidates, study.facts.engine)};
  const ResultTable table = search_table(study);
  section.paragraphs.push_back(
      "Left is cheaper on short text, down is better on long text. Squares under all circles are "
      "what the search is for; settings that fell out after one window are in the table alone.");
  section.picture =
      Picture{.table = table.name,
              .spec = point_spec(
                  {.x = {.column = "inside_cost", .title = "cost inside (nats per token)"},
                   .y = {.column = "beyond", .title = "loss beyond (nats per token)"},
                   .kind = "from",
                   .label = "number",
                   .tooltip = {"number", "scheme", "from", "inside_cost", "beyond", "copy_beyond"},
                   .x_rules = {{.at = 0, .text = "as declared"}}},
                  {"grid", "search"}),
              .description =
                  "Points of loss beyond the trained length against the cost inside, one for "
                  "each finalist, of the grid and of the search. The table behind it has the "
                  "numbers."};
  section.picture->spec["transform"].push_back({{"filter", "isValid(datum.number)"}});
  section.tables.push_back(table);
  return section;
}

Section distance_section(const StudySummary& study, const std::vector<Series>& series) {
  Section section{
      .id = "distances",
      .title = "Effective distance",
      .paragraphs = {
          "Under the diagonal, far text looks nearer than it is; where a line ends, text "
          "farther back is not seen at all. What stays below the trained length is a "
          "distance that training showed."}};
  const ResultTable table = distance_table(study);
  section.picture = Picture{
      .table = table.name,
      .spec = line_spec(
          {.x = {.column = "distance", .title = "true distance (tokens)", .is_log = true},
           .y = {.column = "effective", .title = "effective distance (tokens)", .is_log = true},
           .series = "scheme",
           .y_rules = {trained_rule(study)}},
          series),
      .description = "Lines of effective against true distance, for those of " +
                     names_shown(study) +
                     " that change distances. The table behind it has the "
                     "numbers.",
      .series = "scheme"};
  section.tables.push_back(table);
  return section;
}

Section spectrum_section(const StudySummary& study, const std::vector<Series>& series) {
  Section section{
      .id = "spectrum",
      .title = "Spectrum in bands",
      .paragraphs = {"Each pair of coordinates turns at a speed of its own and tells apart the "
                     "distances of its band, about as many tokens as it takes for one radian. "
                     "Settings that stretch the spectrum move pairs up, to farther bands."}};
  const ResultTable table = pair_table(study);
  std::vector<PictureRule> rules;
  double first = 1;
  for (size_t band = 0; band < kDistanceBands; ++band, first *= 10)
    rules.push_back({.at = first, .text = pair_kind_name(band)});
  section.picture = Picture{
      .table = table.name,
      .spec = line_spec(
          {.x = {.column = "pair", .title = "pair", .is_whole = true},
           .y = {.column = "tokens_per_radian", .title = "tokens per radian", .is_log = true},
           .is_line = false,
           .series = "scheme",
           .y_rules = rules},
          series),
      .description = "Points of tokens per radian against pair, for those of " +
                     names_shown(study) + " that change the spectrum. The tables have the numbers.",
      .series = "scheme"};
  section.tables.push_back(table);
  section.tables.push_back(band_table(study));
  return section;
}

Section calibration_section(const StudySummary& study) {
  return {.id = "calibration",
          .title = "Published orderings",
          .paragraphs = {calibration_sentence(study.calibrations)},
          .tables = {calibration_table(study.calibrations),
                     calibration_pair_table(study.calibrations)}};
}

// Runs body; what nlohmann-json says of a wrong type gets the record's name.
template <typename Body>
void read_at(const std::string& place, const Body& body) {
  try {
    body();
  } catch (const nlohmann::ordered_json::exception& error) {
    throw Error(place, "must be as Ropewalk writes it", json_reason(error));
  }
}

// Names of tables are the page's addresses of them.
void refuse_known_table(const std::string& name, const std::vector<Section>& sections,
                        const std::string& place) {
  bool known = name == kPassTable;  // which stands beside the page
  for (const Section& section : sections)
    known = known ||
            std::ranges::find(section.tables, name, &ResultTable::name) != section.tables.end();
  if (known) throw Error(place, "must not have the name of another table of the report", name);
}

// Other measurements that the study has: tables, each with a picture if it brings one.
void add_other_tables(const StudySummary& study, const std::vector<Series>& series,
                      std::vector<Section>& sections) {
  for (auto& [place, json, table] : measured_tables(study)) {
    refuse_known_table(table.name, sections, place);
    Section section{.id = "table-" + table.name, .title = table.title};
    const auto picture = json.find("picture");
    if (picture != json.end() && picture->is_object() && picture->contains("spec")) {
      read_at(place, [&] {
        section.picture = Picture{.table = table.name,
                                  .spec = with_looks(picture->at("spec"), series),
                                  .description = picture->value("description", table.title)};
        section.picture->spec.erase("data");
      });
    }
    if (!table.about.empty()) section.paragraphs.push_back(std::exchange(table.about, ""));
    section.tables.push_back(std::move(table));
    sections.push_back(std::move(section));
  }
}

// What the last run wrote after the text, where its model could.
void add_passages(const StudySummary& study, std::vector<Section>& sections) {
  const auto record = study.contents.records.find(kOutcomeRecord);
  if (record == study.contents.records.end()) return;
  const std::string place = study.contents.path + ": " + kOutcomeRecord;
  const auto json = parse_json(record->second, place);
  const auto passages = json.find("passages");
  if (passages == json.end() || !passages->is_array() || passages->empty()) return;
  Section section{.id = "passages", .title = "What it goes on with"};
  read_at(place, [&] {
    section.paragraphs.push_back(  // a double: no number of a record is out of its range
        fmt::format("After {:.0f} tokens of the text, always the likeliest token.",
                    json.value("prompt_tokens", 0.0)));
    for (const auto& passage : *passages) {
      section.quotes.emplace_back(passage.value("scheme", std::string()),
                                  passage.value("text", std::string()));
    }
  });
  sections.push_back(std::move(section));
}

}  // namespace

Page study_page(const StudySummary& study) {
  Page page{.title = study.title(),
            .subtitle = study.facts.description + ". " + study.facts.text + ".",
            .series = series_of(study)};
  page.sections.push_back(recommendation_section(study));
  page.sections.push_back(loss_section(study, page.series));
  page.sections.push_back(copy_section(study, page.series));
  page.sections.push_back(cost_section(study));
  page.sections.push_back(
      {.id = "settings", .title = "All settings", .tables = {ranking_table(study)}});
  if (search_outcome(study.candidates).tried > 0) page.sections.push_back(search_section(study));
  page.sections.push_back(distance_section(study, page.series));
  page.sections.push_back(spectrum_section(study, page.series));
  if (!study.calibrations.empty()) page.sections.push_back(calibration_section(study));
  // The last one, made now: its tables' names are taken.
  page.sections.push_back({.id = "made",
                           .title = "How it was measured",
                           .tables = {fact_table(study), window_table(study)}});
  const auto before = std::ssize(page.sections) - 1;
  add_other_tables(study, page.series, page.sections);
  add_passages(study, page.sections);
  const auto made = page.sections.begin() + before;
  std::rotate(made, made + 1, page.sections.end());
  return page;
}

}  // namespace ropewalk
