#include "cli/study_tables.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "cli/bands_report.h"
#include "cli/estimate_values.h"
#include "ropewalk/study/band_usage.h"
#include "ropewalk/study/recommend.h"

namespace ropewalk {
namespace {

using Row = std::vector<ResultValue>;

constexpr const char* kNats = "nats per token";

ResultValue mean(const std::optional<Estimate>& estimate) {
  return estimate ? ResultValue(estimate->mean) : ResultValue();
}
ResultValue value(const std::optional<double>& number) {
  return number ? ResultValue(*number) : ResultValue();
}
ResultValue whole(size_t number) { return static_cast<int64_t>(number); }

const ResultColumn kSetting = {.name = "scheme", .title = "setting"};
const ResultColumn kBeyond = {.name = "beyond", .title = "loss beyond", .unit = kNats, .digits = 3};
const ResultColumn kBeyondLow = {.name = "beyond_low", .title = "95 % from", .digits = 3};
const ResultColumn kBeyondHigh = {.name = "beyond_high", .title = "to", .digits = 3};
const ResultColumn kHeldOut = {
    .name = "held_out", .title = "loss beyond, held out", .unit = kNats, .digits = 3};
const ResultColumn kInsideCost = {
    .name = "inside_cost", .title = "cost inside", .unit = kNats, .digits = 3, .is_signed = true};
const ResultColumn kCopyBeyond = {.name = "copy_beyond",
                                  .title = "copy gain beyond",
                                  .unit = kNats,
                                  .digits = 3,
                                  .is_signed = true};
const ResultColumn kSpeed = {
    .name = "speed", .title = "speed", .unit = "times declared", .digits = 2};
const ResultColumn kRunsIn = {.name = "runs_in", .title = "runs in"};

std::string runs_in(const StudySummary& study, const std::string& scheme) {
  std::string text = "Ropewalk";
  if (const SchemeFacts* facts = study.facts_of(scheme)) {
    for (const EngineVerdict& verdict : facts->engines) {
      if (verdict.portable) text += ", " + verdict.engine;
    }
  }
  return text;
}

std::vector<const Candidate*> finalists(const StudySummary& study) {
  std::vector<const Candidate*> found;
  for (const Candidate& candidate : study.candidates) {
    if (candidate.finalist) found.push_back(&candidate);
  }
  return found;
}

double tokens_per_radian(double inv_freq) {
  return inv_freq > 0 ? 1 / inv_freq : std::numeric_limits<double>::infinity();
}

bool keeps_spectrum(const StudySummary& study, const SchemeFacts& scheme) {
  const SchemeFacts* declared = study.facts_of("declared");
  return declared != nullptr && declared->inv_freq == scheme.inv_freq;
}

// Declared first, then those whose pairs turn otherwise.
std::vector<const SchemeFacts*> spectra(const StudySummary& study) {
  std::vector<const SchemeFacts*> found;
  if (const SchemeFacts* declared = study.facts_of("declared")) found.push_back(declared);
  for (const Candidate& candidate : study.candidates) {
    const SchemeFacts* scheme = study.facts_of(candidate.scheme);
    if (scheme != nullptr && scheme->scheme != "declared" && !keeps_spectrum(study, *scheme))
      found.push_back(scheme);
  }
  return found;
}

}  // namespace

std::string running_kind(const StudySummary& study, const Candidate& candidate) {
  if (candidate.truncates) return "forgets far text";
  return candidate.portability.portable ? "runs in " + study.facts.engine : "needs Ropewalk";
}

std::vector<std::string> running_kinds(const StudySummary& study) {
  return {"needs Ropewalk", "runs in " + study.facts.engine, "forgets far text"};
}

ResultTable winners_table(const StudySummary& study) {
  ResultTable table{.name = "winners",
                    .title = "The settings to compare",
                    .columns = {kSetting,
                                {.name = "role", .title = "as"},
                                kBeyond,
                                kBeyondLow,
                                kBeyondHigh,
                                kHeldOut,
                                kInsideCost,
                                kCopyBeyond,
                                kSpeed,
                                kRunsIn}};
  for (const StudySummary::Shown& shown : study.shown) {
    const Candidate* one = study.find(shown.scheme);
    table.rows.push_back({one->scheme, shown.role, mean(one->beyond), low_of(one->beyond),
                          high_of(one->beyond), mean(one->held_out.beyond), mean(one->inside_cost),
                          mean(one->copy_beyond), value(study.relative_speed(*one)),
                          runs_in(study, one->scheme)});
  }
  return table;
}

ResultTable evidence_table(const StudySummary& study) {
  ResultTable table{
      .name = "evidence",
      .title = "What each winner rests on",
      .about =
          "How far the next best that could have the same role is behind, by the ranking "
          "value, with the 95 % interval of resampling windows of both together; and on windows "
          "that took no part in choosing.",
      .columns = {
          {.name = "role", .title = "as"},
          kSetting,
          {.name = "next", .title = "next best"},
          {.name = "lead", .title = "behind", .unit = kNats, .digits = 3, .is_signed = true},
          {.name = "lead_low", .title = "95 % from", .digits = 3, .is_signed = true},
          {.name = "lead_high", .title = "to", .digits = 3, .is_signed = true},
          {.name = "held_out_lead",
           .title = "behind, held out",
           .unit = kNats,
           .digits = 3,
           .is_signed = true},
          {.name = "smaller_than", .title = "smaller change than"},
          {.name = "doubts", .title = "doubts"}}};
  const auto scheme_of = [&](const std::optional<size_t>& index) {
    return index ? ResultValue(study.candidates[*index].scheme) : ResultValue();
  };
  for (const Winner& winner : study.recommendation.winners) {
    std::string doubts;
    for (const std::string& doubt : winner.doubts) doubts += (doubts.empty() ? "" : " ") + doubt;
    table.rows.push_back({to_string(winner.role), scheme_of(winner.index), scheme_of(winner.next),
                          mean(winner.lead), low_of(winner.lead), high_of(winner.lead),
                          mean(winner.held_out_lead), scheme_of(winner.lowest), doubts});
  }
  return table;
}

ResultTable ranking_table(const StudySummary& study) {
  ResultTable table{
      .name = "ranking",
      .title = "Every setting that was measured",
      .about =
          "Finalists ran every window that chooses and are numbered by their loss beyond the "
          "trained length; the others fell out of the race after the windows that the table says, "
          "so that their means are not over the same text. What is held out took no part in "
          "choosing, and is run by what is recommended alone.",
      .columns = {{.name = "number", .title = "#"},
                  kSetting,
                  {.name = "role", .title = "as"},
                  kBeyond,
                  kBeyondLow,
                  kBeyondHigh,
                  kHeldOut,
                  {.name = "inside", .title = "loss inside", .unit = kNats, .digits = 3},
                  kInsideCost,
                  {.name = "copy_inside",
                   .title = "copy gain inside",
                   .unit = kNats,
                   .digits = 3,
                   .is_signed = true},
                  kCopyBeyond,
                  {.name = "windows", .title = "windows"},
                  kSpeed,
                  {.name = "seconds", .title = "passes took", .unit = "s", .digits = 1},
                  {.name = "forgets", .title = "forgets far text"},
                  kRunsIn,
                  {.name = "remark", .title = "past the trained length"}}};
  int64_t number = 0;
  for (const Candidate& one : study.candidates) {
    if (one.finalist) ++number;
    table.rows.push_back(
        {one.finalist ? ResultValue(number) : ResultValue(), one.scheme, study.role_of(one.scheme),
         mean(one.beyond), low_of(one.beyond), high_of(one.beyond), mean(one.held_out.beyond),
         mean(one.inside), mean(one.inside_cost), mean(one.copy_inside), mean(one.copy_beyond),
         whole(one.windows), value(study.relative_speed(one)), one.seconds, one.truncates,
         runs_in(study, one.scheme), one.shape ? remark(*one.shape) : ""});
  }
  return table;
}

ResultTable loss_table(const StudySummary& study) {
  ResultTable table{
      .name = "loss_by_position",
      .title = "Loss by position",
      .about = "Means over runs of positions, with 95 % intervals by resampling windows.",
      .columns = {kSetting,
                  {.name = "first", .title = "from position"},
                  {.name = "last", .title = "to"},
                  {.name = "middle", .title = "middle", .digits = 1},
                  {.name = "loss", .title = "loss", .unit = kNats, .digits = 4},
                  {.name = "low", .title = "95 % from", .digits = 4},
                  {.name = "high", .title = "to", .digits = 4},
                  {.name = "tokens", .title = "tokens"},
                  {.name = "windows", .title = "windows"}}};
  for (const Candidate& one : study.candidates) {
    for (const Bucket& bucket : study.curve(one.scheme)) {
      table.rows.push_back({one.scheme, bucket.first, bucket.last,
                            static_cast<double>(bucket.first + bucket.last) / 2, bucket.loss.mean,
                            low_of(bucket.loss), high_of(bucket.loss), bucket.loss.count,
                            whole(one.windows)});
    }
  }
  return table;
}

ResultTable copy_table(const StudySummary& study) {
  ResultTable table{
      .name = "copy_gain",
      .title = "Copy gain by distance",
      .about =
          "Nats gained on each token of a passage where it stood that many tokens before as "
          "well, against the same passage where it did not; 95 % intervals by resampling "
          "windows.",
      .columns = {kSetting,
                  {.name = "distance", .title = "distance", .unit = "tokens"},
                  {.name = "gain", .title = "gain", .unit = kNats, .digits = 4, .is_signed = true},
                  {.name = "low", .title = "95 % from", .digits = 4, .is_signed = true},
                  {.name = "high", .title = "to", .digits = 4, .is_signed = true},
                  {.name = "tokens", .title = "tokens"}}};
  for (const Candidate& one : study.candidates) {
    for (const CopyAtDistance& at : copy_by_distance(study.contents, study.facts, one.scheme)) {
      table.rows.push_back({one.scheme, at.distance, at.gain.mean, low_of(at.gain),
                            high_of(at.gain), at.gain.count});
    }
  }
  return table;
}

ResultTable cost_table(const StudySummary& study) {
  ResultTable table{.name = "cost",
                    .title = "Speed and loss",
                    .about =
                        "Of the finalists. Speed is of whole passes as they were timed in the "
                        "study, over declared's; on a busy machine it is a rough figure.",
                    .columns = {{.name = "number", .title = "#"},
                                kSetting,
                                {.name = "kind", .title = "kind"},
                                kSpeed,
                                {.name = "loss", .title = "loss", .unit = kNats, .digits = 3},
                                kInsideCost}};
  int64_t number = 0;
  for (const Candidate* one : finalists(study)) {
    table.rows.push_back({++number, one->scheme, running_kind(study, *one),
                          value(study.relative_speed(*one)),
                          mean(one->beyond ? one->beyond : one->inside), mean(one->inside_cost)});
  }
  return table;
}

ResultTable search_table(const StudySummary& study) {
  ResultTable table{
      .name = "search",
      .title = "What was searched for, beside the grid",
      .about =
          "Ranked by the ranking value, which the search looks for low ones of. The windows "
          "that chose a find are the ones that it is told by here.",
      .columns = {{.name = "number", .title = "#"},
                  kSetting,
                  {.name = "from", .title = "from"},
                  {.name = "found_by", .title = "found"},
                  {.name = "rank_value", .title = "ranking value", .digits = 3},
                  kBeyond,
                  kInsideCost,
                  kCopyBeyond,
                  {.name = "windows", .title = "windows"}}};
  int64_t number = 0;
  for (const Candidate& one : study.candidates) {
    const bool searched = !one.found_by.empty();
    if (one.finalist) ++number;
    if (!one.finalist && !searched) continue;
    table.rows.push_back({one.finalist ? ResultValue(number) : ResultValue(), one.scheme,
                          searched ? "search" : "grid",
                          searched ? ResultValue(one.found_by) : ResultValue(), rank_value(one),
                          mean(one.beyond), mean(one.inside_cost), mean(one.copy_beyond),
                          whole(one.windows)});
  }
  return table;
}

ResultTable distance_table(const StudySummary& study) {
  ResultTable table{
      .name = "effective_distance",
      .title = "Effective distance",
      .about = fmt::format("What the last of {} tokens sees, of the pairs that the scheme moves; "
                           "nothing where the key is not seen. Settings that are not listed leave "
                           "every distance as it is.",
                           study.facts.target_length),
      .columns = {
          kSetting,
          {.name = "distance", .title = "true distance", .unit = "tokens"},
          {.name = "effective", .title = "effective distance", .unit = "tokens", .digits = 1}}};
  for (const Candidate& one : study.candidates) {
    const SchemeFacts* scheme = study.facts_of(one.scheme);
    if (scheme == nullptr || (scheme->keeps_distances && one.scheme != "declared")) continue;
    for (size_t k = 0; k < scheme->distances.size(); ++k) {
      table.rows.push_back({one.scheme, scheme->distances[k], value(scheme->effective[k])});
    }
  }
  return table;
}

ResultTable pair_table(const StudySummary& study) {
  ResultTable table{
      .name = "spectrum",
      .title = "How fast each pair turns",
      .about = fmt::format("At {} tokens, of the first rotary layers. Settings that are not listed "
                           "leave the pairs as declared.",
                           study.facts.target_length),
      .columns = {kSetting,
                  {.name = "pair", .title = "pair"},
                  {.name = "tokens_per_radian", .title = "tokens per radian"},
                  {.name = "tokens_per_turn", .title = "tokens per turn"},
                  {.name = "band", .title = "band"}}};
  for (const SchemeFacts* scheme : spectra(study)) {
    for (size_t p = 0; p < scheme->inv_freq.size(); ++p) {
      const double tokens = tokens_per_radian(scheme->inv_freq[p]);
      constexpr double kTurn = 2 * std::numbers::pi;
      table.rows.push_back({scheme->scheme, whole(p), tokens, tokens * kTurn,
                            pair_kind_name(own_band(scheme->inv_freq[p]))});
    }
  }
  return table;
}

ResultTable band_table(const StudySummary& study) {
  ResultTable table{.name = "bands",
                    .title = "Pairs in each band",
                    .about = "By tokens per radian: the distances that a pair tells apart.",
                    .columns = {kSetting}};
  // Those that do not turn come last.
  for (size_t kind = 0; kind <= kDistanceBands; ++kind) {
    table.columns.push_back(
        {.name = "band_" + std::to_string(kind + 1), .title = pair_kind_name(kind)});
  }
  for (const SchemeFacts* scheme : spectra(study)) {
    Row& row = table.rows.emplace_back();
    row.emplace_back(scheme->scheme);
    for (size_t kind = 0; kind <= kDistanceBands; ++kind) {
      row.emplace_back(static_cast<int64_t>(
          std::count_if(scheme->inv_freq.begin(), scheme->inv_freq.end(),
                        [&](double inv_freq) { return own_band(inv_freq) == kind; })));
    }
  }
  return table;
}

namespace {

std::string use_of(const WindowFacts& window) {
  if (window.left_out) return "nothing, left out";
  return window.held_out ? "confirm, held out" : "choose";
}

}  // namespace

ResultTable window_table(const StudySummary& study) {
  ResultTable table{.name = "windows",
                    .title = "Windows",
                    .about = "The runs of text that were scored, each in one pass.",
                    .columns = {{.name = "window", .title = "window"},
                                {.name = "document", .title = "document"},
                                {.name = "first", .title = "first token"},
                                {.name = "tokens", .title = "tokens"},
                                {.name = "use", .title = "used to"},
                                {.name = "copies", .title = "repeated passages"}}};
  for (size_t k = 0; k < study.shown.size(); ++k) {
    table.columns.push_back({.name = "loss_" + std::to_string(k + 1),
                             .title = study.shown[k].scheme,
                             .unit = kNats,
                             .digits = 3});
  }
  for (size_t w = 0; w < study.facts.windows.size(); ++w) {
    const WindowFacts& window = study.facts.windows[w];
    Row& row = table.rows.emplace_back();
    row.reserve(table.columns.size());
    row.emplace_back(whole(w + 1));
    row.emplace_back(window.document);
    row.emplace_back(window.first);
    row.emplace_back(window.tokens);
    row.emplace_back(use_of(window));
    row.emplace_back(whole(window.repeats.size()));
    for (const StudySummary::Shown& shown : study.shown) {
      const auto cell = study.contents.cells.find({shown.scheme, "plain", static_cast<int64_t>(w)});
      const bool known = cell != study.contents.cells.end() && !cell->second.losses.empty();
      std::optional<double> loss;
      if (known) loss = mean_loss({&cell->second.losses, 1}).mean;
      row.emplace_back(value(loss));
    }
  }
  return table;
}

ResultTable fact_table(const StudySummary& study) {
  ResultTable table{
      .name = "facts",
      .title = "What was measured, and how",
      .columns = {{.name = "fact", .title = "fact"}, {.name = "value", .title = "is"}}};
  const StudyFacts& facts = study.facts;
  const auto add = [&](const char* name, const std::string& text) {
    table.rows.push_back({std::string(name), text});
  };
  add("model", facts.model);
  add("described as", facts.description);
  add("trained length", std::to_string(facts.trained_length) + " tokens");
  add("to be read at", std::to_string(facts.target_length) + " tokens");
  add("engine asked for", facts.engine);
  add("text", facts.text);
  add("computed in", facts.precision);
  add("threads", std::to_string(facts.threads));
  add("started", facts.started);
  add("finished", study.is_finished() ? facts.finished : "not yet");
  add("passes kept", std::to_string(study.contents.cells.size()));
  for (const auto& [name, text] : study.contents.identity) {
    if (name == "version") add("Ropewalk's version of measures", text);
    if (name == "model") add("SHA-256 of the model's files", text);
    if (name == "text") add("SHA-256 of the tokens", text);
  }
  return table;
}

ResultTable pass_table(const StudySummary& study) {
  ResultTable table{.name = kPassTable,
                    .title = "Every pass",
                    .columns = {kSetting,
                                {.name = "text", .title = "text"},
                                {.name = "window", .title = "window"},
                                {.name = "losses", .title = "losses"},
                                {.name = "mean", .title = "mean", .unit = kNats},
                                {.name = "seconds", .title = "took", .unit = "s"}}};
  for (const auto& [key, cell] : study.contents.cells) {
    if (cell.losses.empty()) continue;
    table.rows.push_back({key.scheme, key.text, key.window + 1, whole(cell.losses.size()),
                          mean_loss({&cell.losses, 1}).mean, cell.seconds});
  }
  return table;
}

}  // namespace ropewalk
