#include "cli/report_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "cli/measured_tables.h"
#include "cli/search_outcome.h"
#include "cli/study_tables.h"
#include "cli/text_layout.h"

namespace ropewalk {
namespace {

constexpr size_t kMostRanked = 24;

// A setting's name in its column.
std::string name_of(const std::string& scheme, const PageWidth& width) {
  return fmt::format("  {:<{}}", shortened(without_lists(scheme), width.name()), width.name());
}

std::string at(const std::string& text, size_t width) { return fmt::format("{:>{}}", text, width); }

// Loss by position of those shown and the next finalists; the same scale for all.
std::string curves(const StudySummary& study, const PageWidth& width) {
  const auto n_buckets = static_cast<int64_t>(width.curve());
  std::vector<std::pair<std::string, std::vector<Bucket>>> lines;
  for (const StudySummary::Shown& shown : study.shown)
    lines.emplace_back(shown.scheme, study.curve(shown.scheme, n_buckets));
  for (const Candidate& candidate : study.candidates) {
    if (lines.size() >= 8 || !candidate.finalist) break;
    if (study.role_of(candidate.scheme).empty())
      lines.emplace_back(candidate.scheme, study.curve(candidate.scheme, n_buckets));
  }
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  size_t beyond_at = 0;
  for (const auto& [scheme, buckets] : lines) {
    for (size_t b = 0; b < buckets.size(); ++b) {
      low = std::min(low, buckets[b].loss.mean);
      high = std::max(high, buckets[b].loss.mean);
      if (buckets[b].first < study.facts.trained_length) beyond_at = std::max(beyond_at, b + 1);
    }
  }
  std::string text =
      paragraph(fmt::format("Loss by position, {:.2f} (\u2581) to {:.2f} (\u2588) nats per token; "
                            "\u2502 is the trained length of {}",
                            low, high, study.facts.trained_length),
                "", 0, width.line) +
      "\n";
  for (const auto& [scheme, buckets] : lines) {
    std::vector<double> values;
    for (const Bucket& bucket : buckets) values.push_back(bucket.loss.mean);
    const size_t cut = std::min(beyond_at, values.size());
    const std::vector<double> inside(values.begin(), values.begin() + static_cast<ptrdiff_t>(cut));
    const std::vector<double> beyond(values.begin() + static_cast<ptrdiff_t>(cut), values.end());
    text += fmt::format("{}  {}\u2502{}\n", name_of(scheme, width), spark_line(inside, low, high),
                        spark_line(beyond, low, high));
  }
  return text;
}

// Copy gain by distance of those shown.
std::string recall(const StudySummary& study, const PageWidth& width) {
  std::vector<std::vector<CopyAtDistance>> rows;
  for (const StudySummary::Shown& shown : study.shown)
    rows.push_back(copy_by_distance(study.contents, study.facts, shown.scheme));
  const auto longest = std::max_element(
      rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  if (longest == rows.end() || longest->empty()) return "No copy test was run.\n";
  const size_t most = std::min((width.line - width.name() - 2) / 7, longest->size());
  std::vector<int64_t> distances;
  for (size_t k = 0; k < most; ++k)
    distances.push_back((*longest)[k * longest->size() / most].distance);
  std::string text =
      "Nats gained per token of a passage that repeats at a distance of\n\n" + name_of("", width);
  for (const int64_t distance : distances) text += at(std::to_string(distance), 7);
  text += "\n";
  for (size_t k = 0; k < rows.size(); ++k) {
    text += name_of(study.shown[k].scheme, width);
    for (const int64_t distance : distances) {
      const auto found =
          std::find_if(rows[k].begin(), rows[k].end(),
                       [&](const CopyAtDistance& one) { return one.distance == distance; });
      text += at(found == rows[k].end() ? "-" : fmt::format("{:+.2f}", found->gain.mean), 7);
    }
    text += "\n";
  }
  return text;
}

std::string ranking(const StudySummary& study, const PageWidth& width) {
  const ResultTable table = ranking_table(study);
  constexpr std::array<const char*, 7> kColumns = {"number",      "beyond", "inside", "inside_cost",
                                                   "copy_beyond", "speed",  "windows"};
  const std::array<const char*, 7> titles = {"#",    "beyond", "inside", "cost",
                                             "copy", "speed",  "windows"};
  constexpr std::array<size_t, 7> kWidths = {4, 7, 7, 7, 7, 6, 8};
  std::string text = name_of("setting", width);
  for (size_t c = 0; c < titles.size(); ++c) text += at(titles[c], kWidths[c]);
  text += "\n";
  size_t shown_rows = 0;
  for (const auto& row : table.rows) {
    if (shown_rows == kMostRanked) break;
    ++shown_rows;
    text += name_of(std::get<std::string>(row[table.column("scheme")]), width);
    for (size_t c = 0; c < kColumns.size(); ++c) {
      const size_t column = table.column(kColumns[c]);
      text += at(shown(row[column], table.columns[column]), kWidths[c]);
    }
    text += "\n";
  }
  if (table.rows.size() > shown_rows)
    text += fmt::format("  and {} more that fell out of the race or came after\n",
                        table.rows.size() - shown_rows);
  return text;
}

std::string bands(const StudySummary& study, const PageWidth& width) {
  const ResultTable table = band_table(study);
  std::string text = "Pairs in each band, by tokens per radian\n\n" + name_of("setting", width);
  for (const char* title : {"1-9", "10-99", "100-999", "-9999", "more", "never"})
    text += at(title, 8);
  text += "\n";
  for (const auto& row : table.rows) {
    const std::string& scheme = std::get<std::string>(row[0]);
    if (study.role_of(scheme).empty()) continue;
    text += name_of(scheme, width);
    for (size_t c = 1; c < row.size(); ++c) text += at(shown(row[c], table.columns[c]), 8);
    text += "\n";
  }
  return text;
}

}  // namespace

std::string running_text(const std::vector<Candidate>& candidates,
                         const Recommendation& recommendation) {
  std::string text;
  std::vector<size_t> told;
  for (const Winner& winner : recommendation.winners) {
    if (std::ranges::find(told, winner.index) != told.end()) continue;
    told.push_back(winner.index);
    text += fmt::format("To run {}:\n", candidates[winner.index].scheme);
    for (const auto& [engine, line] : running_lines(candidates[winner.index]))
      text += fmt::format("  {:<13} {}\n", engine, line);
  }
  return text;
}

std::string spark_line(const std::vector<double>& values, double low, double high) {
  constexpr std::array<const char*, 8> kBlocks = {"\u2581", "\u2582", "\u2583", "\u2584",
                                                  "\u2585", "\u2586", "\u2587", "\u2588"};
  std::string line;
  for (const double value : values) {
    if (!std::isfinite(value)) {
      line += ' ';
      continue;
    }
    const double share = high > low ? std::clamp((value - low) / (high - low), 0.0, 1.0) : 0;
    line += kBlocks[static_cast<size_t>(std::lround(share * (kBlocks.size() - 1)))];
  }
  return line;
}

std::string report_text(const StudySummary& study, const PageWidth& width) {
  const auto words = [&](const std::string& text, size_t hang) {
    return paragraph(text, "", hang, width.line);
  };
  std::string text =
      words(study.title(), 2) + words(study.facts.description + ". " + study.facts.text, 0) + "\n";
  if (!study.is_finished()) text += "Not finished: this is what its passes say so far.\n\n";
  for (const std::string& sentence : study.recommendation.why) text += words(sentence, 2);
  if (study.recommendation.winners.empty()) text += "No setting has run every window yet.\n";
  for (const std::string& sentence : search_sentences(study.candidates, study.facts.engine))
    text += words(sentence, 2);
  text += "\n" + running_text(study.candidates, study.recommendation);
  text += "\n" + curves(study, width) + "\n" + recall(study, width);
  text += "\n" +
          words(
              "Loss beyond and inside the trained length, its cost against declared, copy gain "
              "beyond, speed over declared's",
              0) +
          "\n" + ranking(study, width) + "\n" + bands(study, width) + measured_text(study, width);
  if (const std::string published = calibration_sentence(study.calibrations); !published.empty())
    text += "\n" + words(published, 2);
  return text;
}

}  // namespace ropewalk
