#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "cli/bands_report.h"
#include "cli/terminal_text.h"
#include "cli/text_layout.h"

namespace ropewalk {
namespace {

constexpr size_t kColumns = 88;
constexpr size_t kLines = 10;
constexpr size_t kFewPairs = 8;  // up to so many each gets a row

// ---- the curve: log distance to the right, B upwards

class Chart {
 public:
  explicit Chart(const BiasReport& bias) : bias_(bias) {
    const double first = std::log10(1.0),
                 last = std::log10(static_cast<double>(bias.target_length));
    for (size_t column = 0; column < kColumns; ++column) {
      const double share = static_cast<double>(column) / (kColumns - 1);
      const auto d =
          static_cast<int64_t>(std::llround(std::pow(10, first + share * (last - first))));
      const auto at = std::ranges::lower_bound(bias.distances, d) - bias.distances.begin();
      distances_.push_back(d);
      const size_t k = std::min(static_cast<size_t>(at), bias.median.size() - 1);
      values_.push_back(bias.median[k]);
    }
    low_ = std::ranges::min(values_);
    high_ = std::max(std::ranges::max(values_), low_ + 1e-9);
  }

  std::string text() const {
    std::string out;
    for (size_t line = kLines; line-- > 0;) {
      const double top = low_ + (high_ - low_) * static_cast<double>(line + 1) / kLines;
      const bool named = line + 1 == kLines || line == 0 || line == kLines / 2;
      out += named ? fmt::format("  {:>8.1f} ", line == 0 ? low_ : top) : std::string(11, ' ');
      for (size_t column = 0; column < kColumns; ++column) out += cell(column, line);
      out += '\n';
    }
    return out + axis();
  }

 private:
  bool beyond(size_t column) const { return distances_[column] > bias_.trained_length; }

  std::string cell(size_t column, size_t line) const {
    constexpr std::array<const char*, 9> kEighths = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const double height = (values_[column] - low_) / (high_ - low_) * kLines;
    const double eighths = std::round((height - static_cast<double>(line)) * 8);
    const auto filled = static_cast<size_t>(std::clamp(eighths, 0.0, 8.0));
    const bool border = beyond(column) && column > 0 && !beyond(column - 1);
    if (border) return "│";
    if (beyond(column)) return filled >= 4 ? "░" : " ";
    return line == 0 && filled == 0 ? kEighths[1] : kEighths[filled];
  }

  std::string axis() const {
    std::string marks(kColumns + 12, ' ');
    const auto put = [&](size_t column, const std::string& word) {
      if (marks.find_first_not_of(' ', column == 0 ? 0 : column - 1) < column + word.size() + 1)
        return;
      marks.replace(column, word.size(), word);
    };
    for (size_t column = 0; column < kColumns; ++column) {
      if (beyond(column) && column > 0 && !beyond(column - 1))
        put(column, fmt::format("L={}", bias_.trained_length));
    }
    int64_t decade = 1;
    for (size_t column = 0; column < kColumns; ++column) {
      if (distances_[column] < decade) continue;
      put(column, std::to_string(decade));
      decade *= 10;
    }
    while (marks.ends_with(' ')) marks.pop_back();
    return std::string(11, ' ') + marks + "  d\n";
  }

  const BiasReport& bias_;
  std::vector<int64_t> distances_;
  std::vector<double> values_;
  double low_ = 0, high_ = 0;
};

std::string runs_of(const std::vector<int64_t>& pairs) {
  std::string text;
  for (size_t k = 0; k < pairs.size(); ++k) {
    size_t last = k;
    while (last + 1 < pairs.size() && pairs[last + 1] == pairs[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text += last == k ? std::to_string(pairs[k]) : fmt::format("{}-{}", pairs[k], pairs[last]);
    k = last;
  }
  return text.empty() ? "none" : text;
}

std::string told(const std::optional<int64_t>& d) {
  return d ? fmt::format("{} tokens", *d) : "none in sight";
}

std::string curve_text(const BiasReport& bias) {
  if (bias.heads.empty()) return "";
  std::string text = fmt::format(
      "\nBias curve B(d), median over {} heads: the score of a key d tokens back, whatever it "
      "is\n{}\n",
      bias.heads.size(), Chart(bias).text());
  std::vector<int64_t> unfinished;
  for (const LayerBias& layer : bias.layers) {
    if (layer.kind == LayerBias::Kind::kOpen)
      unfinished.insert(unfinished.end(), layer.unfinished.begin(), layer.unfinished.end());
  }
  std::ranges::sort(unfinished);
  unfinished.erase(std::unique(unfinished.begin(), unfinished.end()), unfinished.end());
  Table table;
  table.add(
      {"predicted collapse", fmt::format("first head {}, median {}, {} of {} heads up to {}",
                                         told(bias.earliest_collapse), told(bias.median_collapse),
                                         bias.collapsing, bias.heads.size(), bias.target_length)});
  table.add({"pairs to cap", runs_of(unfinished) + ": they did not finish a turn in training"});
  table.add(
      {"where to cap", fmt::format("{}: the lowest point inside the trained length, median over "
                                   "heads",
                                   told(bias.cap))});
  return text + table.text();
}

// ---- the table of pairs

struct PairRow {
  std::string name;
  std::vector<std::pair<size_t, size_t>> pairs;  // layer, pair
  std::array<double, kDistanceBands> shares{};
};

std::string range_text(double low, double high) {
  const auto one = [](double x) {
    return x >= 1000 ? fmt::format("{:.0f}", x) : fmt::format("{:.3g}", x);
  };
  return one(low) == one(high) ? one(low) : fmt::format("{}-{}", one(low), one(high));
}

std::vector<PairRow> rows_by_band(const BandsReport& report) {
  std::vector<PairRow> rows;
  for (size_t kind = 0; kind < kPairKinds; ++kind) {
    PairRow row{.name = pair_kind_name(kind), .pairs = {}};
    for (size_t layer = 0; layer < report.inv_freq.size(); ++layer) {
      if (report.bias.layers[layer].kind == LayerBias::Kind::kUnturned) continue;
      for (size_t pair = 0; pair < report.inv_freq[layer].size(); ++pair) {
        if (own_band(report.inv_freq[layer][pair]) == kind) row.pairs.emplace_back(layer, pair);
      }
    }
    double used = 0;
    for (size_t band = 0; band < kDistanceBands; ++band) {
      row.shares[band] = report.bands[band].shares[kind];
      used += std::abs(row.shares[band]);
    }
    if (!row.pairs.empty() || used > 0) rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<PairRow> rows_by_pair(const BandsReport& report) {
  std::vector<PairRow> rows;
  size_t n_pairs = 0;
  for (const auto& layer : report.inv_freq) n_pairs = std::max(n_pairs, layer.size());
  for (size_t pair = 0; pair < n_pairs; ++pair) {
    PairRow row{.name = "", .pairs = {}};
    for (size_t layer = 0; layer < report.inv_freq.size(); ++layer) {
      if (report.bias.layers[layer].kind == LayerBias::Kind::kUnturned) continue;
      if (pair < report.inv_freq[layer].size()) row.pairs.emplace_back(layer, pair);
    }
    if (row.pairs.empty()) continue;
    row.name = pair_kind_name(own_band(report.inv_freq[row.pairs[0].first][pair]));
    for (size_t band = 0; band < kDistanceBands; ++band) {
      const auto& shares = report.bands[band].pair_shares;
      if (pair < shares.size()) row.shares[band] = shares[pair];
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

// Own distance, pairs, period, turns over L, shares of means.
std::vector<std::string> describe_pairs(const BandsReport& report, const PairRow& row) {
  if (row.pairs.empty()) return {row.name, "", "", "", "", ""};
  constexpr double kMost = std::numeric_limits<double>::max();
  double fastest = 0, slowest = kMost;
  size_t first = SIZE_MAX, last = 0;
  for (const auto& [layer, pair] : row.pairs) {
    const double inv_freq = std::abs(report.inv_freq[layer][pair]);
    fastest = std::max(fastest, inv_freq);
    slowest = std::min(slowest, inv_freq);
    first = std::min(first, pair);
    last = std::max(last, pair);
  }
  double q_share = 0, k_share = 0, count = 0;
  for (const HeadBias& head : report.bias.heads) {
    for (const auto& [layer, pair] : row.pairs) {
      if (static_cast<int64_t>(layer) != head.layer) continue;
      q_share += head.pairs[pair].q_share;
      k_share += head.pairs[pair].k_share;
      ++count;
    }
  }
  const std::string pairs =
      first == last ? std::to_string(first) : fmt::format("{}-{}", first, last);
  const std::string means =
      count > 0 ? fmt::format("{:.2f} {:.2f}", q_share / count, k_share / count) : "";
  if (fastest == 0) return {row.name, pairs, "", "0", "", means};
  const double turn = 2 * std::numbers::pi;
  const auto trained = static_cast<double>(report.bias.trained_length);
  const std::string slow = slowest > 0 ? range_text(1 / fastest, 1 / slowest) : "";
  return {row.name,
          pairs,
          slow,
          range_text(turn / fastest, turn / slowest),
          range_text(slowest * trained / turn, fastest * trained / turn),
          means};
}

std::string pairs_text(const BandsReport& report, bool every_pair) {
  const size_t n_pairs = report.inv_freq.empty() ? 0 : report.inv_freq[0].size();
  const std::vector<PairRow> rows =
      every_pair || n_pairs <= kFewPairs ? rows_by_pair(report) : rows_by_band(report);
  std::vector<std::string> head = {"own", "pairs", "1 radian", "1 turn", "turns in L", "mean q k"};
  std::vector<size_t> bands;
  for (size_t band = 0; band < kDistanceBands; ++band) {
    if (report.bands[band].n_scores == 0) continue;
    bands.push_back(band);
    head.push_back(pair_kind_name(band));
  }
  Table table;
  table.add(std::move(head));
  for (const PairRow& row : rows) {
    std::vector<std::string> cells = describe_pairs(report, row);
    for (const size_t band : bands) {
      const bool own = row.name == pair_kind_name(band);
      cells.push_back(percent(row.shares[band]) + (own ? " *" : ""));
    }
    table.add(std::move(cells));
  }
  const auto add = [&](const std::string& name, const auto& text_of) {
    std::vector<std::string> cells = {name, "", "", "", "", ""};
    for (const size_t band : bands) cells.push_back(text_of(report.bands[band]));
    table.add(std::move(cells));
  };
  add("turned before", [](const ModelGroup& group) { return percent(group.finished_share); });
  add("attention", [](const ModelGroup& group) { return percent(group.attention); });
  add("B misses by", [](const ModelGroup& group) {
    return group.mean_miss ? fmt::format("{:.2f}", *group.mean_miss) : "-";
  });
  return "\nPairs, and their share of what tells keys apart at each distance (* where their own "
         "distance "
         "is)\n" +
         table.text();
}

std::string relations_text(const BandsReport& report) {
  if (!report.has_places) return "";
  Table table;
  std::vector<std::string> head = {"key stands in", "attention"};
  std::vector<size_t> kinds;
  for (size_t kind = 0; kind < kPairKinds; ++kind) {
    const bool used = std::ranges::any_of(
        report.relations, [&](const ModelGroup& group) { return group.shares[kind] != 0; });
    if (!used) continue;
    kinds.push_back(kind);
    head.push_back(pair_kind_name(kind));
  }
  table.add(std::move(head));
  for (size_t related = 0; related < kRelations; ++related) {
    const ModelGroup& group = report.relations[related];
    if (group.n_scores == 0) continue;
    std::vector<std::string> cells = {relation_name(related), percent(group.attention)};
    for (const size_t kind : kinds) cells.push_back(percent(group.shares[kind]));
    table.add(std::move(cells));
  }
  return "\nThe same by where the key stands; columns are the pairs' own distances\n" +
         table.text();
}

}  // namespace

std::string pair_kind_name(size_t kind) {
  constexpr std::array<const char*, kPairKinds> kNames = {
      "1-9", "10-99", "100-999", "1000-9999", "10000 and more", "does not turn", "passes through"};
  return kNames[kind];
}

std::string relation_name(size_t relation) {
  constexpr std::array<const char*, kRelations> kNames = {"same sentence", "same paragraph",
                                                          "same chapter", "beyond"};
  return kNames[relation];
}

std::string to_text(const ShownBands& shown, bool every_pair) {
  const BandsReport& report = shown.report;
  std::string text = fmt::format("{}: trained length L = {}, looked at up to {}\n{}",
                                 terminal_text(shown.model), report.bias.trained_length,
                                 report.bias.target_length, paragraph(shown.text, "", 0));
  text += fmt::format("Means of {} tokens; scores of {} of them taken apart (seed {})\n",
                      report.calibration_tokens, report.n_queries, shown.seed);
  text += curve_text(report.bias);
  text += pairs_text(report, every_pair);
  text += relations_text(report) + "\n";
  for (const std::string& sentence : bands_verdict(report)) text += paragraph(sentence, "", 0);
  return text;
}

}  // namespace ropewalk
