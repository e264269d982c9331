// `ropewalk show` for people.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "cli/show_report.h"
#include "cli/terminal_text.h"
#include "cli/text_layout.h"
#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk {
namespace {

// Four digits, never with an exponent above 1000.
std::string number_text(double number) {
  return number < 1000 ? fmt::format("{:.4g}", number) : fmt::format("{:.0f}", number);
}

// "6.283 to 54.41", or one number where both are the same.
std::string range_text(double first, double last) {
  return first == last ? number_text(first) : number_text(first) + " to " + number_text(last);
}

// Shows nothing of positions.
bool is_aside(const DeclaredField& field) {
  return field.name == "ffn" || field.name == "vocabulary" || field.name == "norm_epsilon";
}

// A linear factor in both directions that people know it in.
std::string value_text(const DeclaredField& field, const LayerGroup* group) {
  const bool linear =
      field.name == "factor" && group != nullptr && group->scheme.starts_with("linear");
  if (!linear) return shortened(field.value, Table::kWidestCell);
  const double factor = std::strtod(field.value.c_str(), nullptr);
  return fmt::format("{} (= frequency scale {})", to_text(factor), to_text(1 / factor));
}

void add_fields(const std::vector<DeclaredField>& fields, const LayerGroup* group, Table& table) {
  for (const DeclaredField& field : fields) {
    if (is_aside(field)) continue;
    const std::string kind =
        field.provenance == Provenance::kFile ? "" : to_string(field.provenance) + ": ";
    table.add({field.name, value_text(field, group), kind + field.from});
  }
}

void print_head(const ShowReport& report) {
  const ModelConfig& config = report.file.config;
  const ModelShape& shape = config.shape;
  std::string text = report.file.format + ", architecture " + config.architecture;
  if (shape.n_layers != 0) text += fmt::format(", {} layers", shape.n_layers);
  if (shape.n_heads != 0) text += fmt::format(", {} query heads", shape.n_heads);
  if (shape.n_kv_heads != 0) text += fmt::format(", {} key heads", shape.n_kv_heads);
  if (shape.head_dim != 0) text += fmt::format(" of {} coordinates", shape.head_dim);
  fmt::print("{}\n{}", terminal_text(report.file.path), paragraph(text, "  ", 2));
  Table table;
  if (config.usable_length != 0) {
    table.add({"usable length",
               fmt::format("{} tokens: {}", config.usable_length, config.usable_reason)});
  } else if (!config.usable_reason.empty()) {
    table.add({"usable length", config.usable_reason});
  }
  table.add({"Ropewalk's engine", report.file.obstacle.empty()
                                      ? "runs it"
                                      : "does not run it: " + report.file.obstacle});
  fmt::print("{}", table.text());
}

// ---- one group of layers

void print_layout(const PairLayout& layout, int64_t passed_before) {
  fmt::print(
      "\n  Pair layout: which coordinates of a head turn together (last digit of the pair)\n");
  Table table(4);
  table.add({"head", shortened(layout.strip(), 80)});
  table.add({"rows", rows_text(layout, passed_before)});
  table.add({"stored", layout.order == PairOrder::kInterleaved
                           ? "pairs (2i, 2i + 1) in the stored weights; " + reorder_text(layout)
                           : fmt::format("pairs (i, i + {}) in the stored weights; {}",
                                         layout.n_pairs(), reorder_text(layout))});
  fmt::print("{}", table.text());
}

void print_pairs(const ShownSpectrum& shown) {
  static constexpr char kHead[] = "    {:>4}  {:>15}  {:>14}  {:>12}  {:<12}  {}\n";
  const bool axes = !shown.pairs.empty() && !shown.pairs.front().axis.empty();
  const bool decays = !shown.spectrum.decay.empty();
  const std::string axis = axes ? "axis" : "";
  // A last column, where it says something.
  const auto with_decay = [&](const std::string& text, const std::string& decay) {
    return decays ? fmt::format("{:<{}}{}", text, axes ? 8 : 0, decay) : text;
  };
  fmt::print(kHead, "pair", "inv_freq", "wavelength", "turns", "distances",
             with_decay(axis, "decay"));
  fmt::print(kHead, "", "radians/token", "tokens/turn", "within L", "",
             with_decay("", "log/token"));
  for (size_t p = 0; p < shown.pairs.size(); ++p) {
    const ShownPair& pair = shown.pairs[p];
    fmt::print(kHead, p, fmt::format("{:.9g}", pair.inv_freq),
               fmt::format("{:.7g}", pair.wavelength), fmt::format("{:.6g}", pair.turns), pair.band,
               with_decay(pair.axis, fmt::format("{:.9g}", pair.decay)));
  }
}

std::string pair_range(size_t first, size_t last) {
  return first == last ? std::to_string(first) : fmt::format("{}-{}", first, last);
}

// One line for each run of pairs of the same band.
void print_bands(const ShownSpectrum& shown) {
  Table table(4);
  table.add({"distances", "pairs", "wavelength, tokens/turn", "turns within L"});
  const std::vector<ShownPair>& pairs = shown.pairs;
  for (size_t first = 0; first < pairs.size();) {
    size_t last = first;
    while (last + 1 < pairs.size() && pairs[last + 1].band == pairs[first].band) ++last;
    table.add({pairs[first].band, pair_range(first, last),
               range_text(pairs[first].wavelength, pairs[last].wavelength),
               range_text(pairs[first].turns, pairs[last].turns)});
    first = last + 1;
  }
  fmt::print("{}", table.text());
}

// "time 24, height 20, width 20; pair by pair: thwthw..."
void print_axes(const ShownSpectrum& shown) {
  if (shown.pairs.empty() || shown.pairs.front().axis.empty()) return;
  std::vector<std::pair<std::string, int>> counts;
  std::string letters;
  for (const ShownPair& pair : shown.pairs) {
    letters += pair.axis[0];
    auto found = std::ranges::find(counts, pair.axis, &std::pair<std::string, int>::first);
    if (found == counts.end()) found = counts.insert(counts.end(), {pair.axis, 0});
    ++found->second;
  }
  std::string text;
  for (const auto& [axis, count] : counts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", axis, count);
  }
  fmt::print("\n  Axes: pairs that turn with each coordinate of a token: {}\n    {}\n", text,
             shortened(letters, 100));
}

void print_angles(const ShownGroup& group, const ShownSpectrum& shown, const ShowReport& report) {
  const QueryTemperature& temperature = group.group->rotary->temperature;
  for (size_t row = 0; row < report.positions.size(); ++row) {
    const int64_t position = report.positions[row];
    fmt::print("\n  At position {}: the exact angle, amplitude left out{}\n", position,
               temperature == QueryTemperature{}
                   ? ""
                   : fmt::format("; queries times {:.10g}", temperature.at(position)));
    fmt::print("    {:>4}  {:>22}  {:>22}  {:>20}\n", "pair", "cos", "sin", "turns");
    for (size_t p = 0; p < shown.angles[row].size(); ++p) {
      const ShownAngle& angle = shown.angles[row][p];
      fmt::print("    {:>4}  {:>22.15g}  {:>22.15g}  {:>20.15g}\n", p, angle.cos, angle.sin,
                 angle.turns);
    }
  }
}

std::string digit_text(const Digit& digit) {
  if (std::isinf(digit.radix) || std::isinf(digit.place)) return fmt::format("{:.0f}", digit.value);
  return fmt::format("{:.0f} of {:.4g}", digit.value, digit.radix);
}

void print_digits(const ShownGroup& group, const ShownSpectrum& shown, int64_t position) {
  const bool scaled = group.group->scheme != "rope";
  fmt::print("\n  Position {} as a number, one digit to a pair, lowest first{}\n", position,
             scaled ? ": unscaled, and as the scheme writes it" : "");
  static constexpr char kRow[] = "  {:>14}  {:>14}  {:>9}";
  const std::string head = fmt::format(kRow, "place, tokens", "digit", "angle");
  fmt::print("    pair{}{}\n", head, scaled ? head : "");
  const auto columns = [](const Digit& digit) {
    return fmt::format(kRow, fmt::format("{:.6g}", digit.place), digit_text(digit),
                       fmt::format("{:.4f}", digit.reading));
  };
  for (size_t p = 0; p < shown.digits.size(); ++p) {
    fmt::print("    {:>4}{}{}\n", p, columns(group.plain_digits[p]),
               scaled ? columns(shown.digits[p]) : "");
  }
}

void add_magnitudes(const ShownSpectrum& shown, Table& table) {
  if (shown.base != 0) table.add({"base here", fmt::format("{:.10g}", shown.base)});
  table.add({"amplitude", fmt::format("{:.10g} on cos and sin, so its square on the logits of what "
                                      "is rotated",
                                      shown.spectrum.amplitude)});
  table.add(
      {"logit multiplier", fmt::format("{:.10g} on every logit", shown.spectrum.logit_multiplier)});
  const std::vector<double>& decay = shown.spectrum.decay;
  if (decay.empty()) return;
  table.add({"decay", fmt::format("{:.6g} to {:.6g} per token of distance, natural log, on each "
                                  "pair's part of a score",
                                  decay.front(), decay.back())});
}

void print_spectrum(const ShownGroup& group, const ShownSpectrum& shown, const ShowReport& report,
                    bool every_pair) {
  if (!shown.when.empty()) {
    Table table;
    add_magnitudes(shown, table);
    fmt::print("\n{}{}", paragraph(shown.when, "  ", 2), table.text());
  }
  fmt::print(
      "\n  {} pairs, by the distances they tell apart best: about one radian, wavelength "
      "/ 2 pi\n",
      shown.pairs.size());
  every_pair ? print_pairs(shown) : print_bands(shown);
  print_angles(group, shown, report);
  if (report.digits) print_digits(group, shown, *report.digits);
}

void print_reach(const ShownGroup& group) {
  if (group.reach.empty()) return;
  const std::string length =
      group.spectra.size() > 1 ? fmt::format(" at {} tokens", group.spectra.back().length) : "";
  fmt::print("\n  Reach{}: rules of thumb, not measurements\n", length);
  Table table(4);
  for (const ShownReach& reach : group.reach) table.add({reach.name, reach.text});
  fmt::print("{}", table.text());
}

bool same_field(const DeclaredField& a, const DeclaredField& b) {
  return a.name == b.name && a.value == b.value && a.provenance == b.provenance && a.from == b.from;
}

// Whether all rotary groups, of which there are several, have the field: it is printed once.
bool is_common(const DeclaredField& field, const ShowReport& report) {
  size_t n_rotary = 0;
  for (const ShownGroup& shown : report.groups) {
    if (!shown.group->rotary) continue;
    ++n_rotary;
    const bool has = std::ranges::any_of(
        shown.group->fields, [&](const DeclaredField& other) { return same_field(field, other); });
    if (!has) return false;
  }
  return n_rotary > 1;
}

std::vector<DeclaredField> own_fields(const ShownGroup& shown, const ShowReport& report) {
  std::vector<DeclaredField> fields;
  for (const DeclaredField& field : shown.group->fields) {
    if (!shown.group->rotary || !is_common(field, report)) fields.push_back(field);
  }
  return fields;
}

std::vector<DeclaredField> common_fields(const ShowReport& report) {
  std::vector<DeclaredField> fields = report.file.config.fields;
  for (const ShownGroup& shown : report.groups) {
    if (!shown.group->rotary) continue;
    for (const DeclaredField& field : shown.group->fields) {
      if (is_common(field, report)) fields.push_back(field);
    }
    break;
  }
  return fields;
}

std::string group_title(const ShownGroup& shown) {
  std::string title = shown.layers;
  title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(title[0])));
  if (!shown.group->name.empty()) title += " (" + shown.group->name + ")";
  return title;
}

void print_unrotated(const ShownGroup& shown, const ShowReport& report) {
  fmt::print("\n{}", paragraph(group_title(shown) + ": not rotated", "", 2));
  Table table;
  add_fields(own_fields(shown, report), shown.group, table);
  const std::string temperature = temperature_text(shown.group->temperature);
  if (!temperature.empty()) table.add({"query scale", temperature});
  for (const int64_t position : temperature.empty() ? std::vector<int64_t>() : report.positions) {
    table.add({fmt::format("at position {}", position),
               fmt::format("queries times {:.10g}", shown.group->temperature.at(position))});
  }
  fmt::print("{}", table.text());
}

// Past the short list nothing is free.
void warn_of_context(const ShownGroup& shown, const ShowReport& report) {
  const Rotary& rotary = *shown.group->rotary;
  if (report.context <= rotary.source.trained_length) return;
  if (rotary.spectrum.length() == SpectrumRule::Length::kFixed) return;
  fmt::print("{}", paragraph(fmt::format("note: frequencies for {} tokens cost quality on texts "
                                         "below {}, which are better read with a shorter context",
                                         report.context, rotary.source.trained_length),
                             "  ", 4));
}

void print_group(const ShownGroup& shown, const ShowReport& report, bool every_pair,
                 bool with_layout) {
  if (!shown.group->rotary) return print_unrotated(shown, report);
  const Rotary& rotary = *shown.group->rotary;
  const std::string& scheme = shown.group->scheme;
  fmt::print("\n{}", paragraph(fmt::format("{}: rotary positions (RoPE), trained length L = {} "
                                           "tokens",
                                           group_title(shown), rotary.source.trained_length),
                               "", 2));
  Table table;
  table.add({"scheme", scheme.empty() ? "frequencies of the file's own, no scheme string"
                                      : shortened(scheme, 90)});
  if (!shown.about.empty()) table.add({"formula", shown.about});
  add_fields(own_fields(shown, report), shown.group, table);
  if (rotary.visibility.window != kUnbounded) {
    table.add({"a query sees",
               fmt::format("{} keys: itself and those before it", rotary.visibility.window)});
  }
  const std::string temperature = temperature_text(rotary.temperature);
  if (!temperature.empty()) table.add({"query scale", temperature});
  if (shown.spectra.size() == 1 && shown.spectra.front().when.empty()) {
    add_magnitudes(shown.spectra.front(), table);
  }
  fmt::print("{}", table.text());
  for (const ShownSpectrum& spectrum : shown.spectra) {
    print_spectrum(shown, spectrum, report, every_pair);
  }
  warn_of_context(shown, report);
  if (!shown.spectra.empty()) print_axes(shown.spectra.front());
  if (with_layout) print_layout(rotary.layout, shown.passed_before);
  print_reach(shown);
}

bool same_layout(const PairLayout& a, const PairLayout& b) {
  return a.order == b.order && a.head_dim == b.head_dim && a.rotary_dim == b.rotary_dim;
}

void print_groups(const ShowReport& report, bool every_pair) {
  const PairLayout* shown_layout = nullptr;
  for (const ShownGroup& group : report.groups) {
    const bool again = group.group->rotary && shown_layout != nullptr &&
                       same_layout(*shown_layout, group.group->rotary->layout);
    print_group(group, report, every_pair, !again);
    if (group.group->rotary) shown_layout = &group.group->rotary->layout;
  }
}

// ---- the rest

void print_mechanisms(const ModelConfig& config) {
  if (config.mechanisms.empty()) return;
  fmt::print("\nPositions that are no rotation, in all layers\n");
  for (const PositionMechanism& mechanism : config.mechanisms) {
    fmt::print("{}", paragraph(mechanism_text(mechanism), "  - ", 4));
  }
}

std::string view_text(const EngineView& view) {
  std::string text = "file: " + view.says + "; it takes: " + view.takes;
  if (view.gap) text += "; " + to_text(*view.gap);
  if (!view.rule.versions.empty()) text += fmt::format(" [{}]", view.rule.versions);
  return text;
}

// "layers 0-4: ", where not all of them are meant. Views of several groups may say the same.
std::string layers_text(const ShowReport& report, const std::vector<size_t>& groups) {
  size_t n_rotary = 0;
  std::vector<int64_t> layers;
  for (const ShownGroup& group : report.groups) n_rotary += group.group->rotary ? 1 : 0;
  for (const size_t group : groups) {
    const std::vector<int64_t>& more = report.groups[group].group->layers;
    layers.insert(layers.end(), more.begin(), more.end());
  }
  if (groups.size() >= n_rotary || layers.empty()) return {};
  std::ranges::sort(layers);
  return (layers.size() == 1 ? "layer " : "layers ") + short_layer_list(layers) + ": ";
}

void print_engines(const ShowReport& report) {
  fmt::print("\nWhat engines make of this file\n");
  Table table;
  for (const TargetEngine engine : kTargetEngines) {
    std::vector<std::pair<std::string, std::vector<size_t>>> texts;  // and the groups they are of
    for (const EngineView& view : report.engines) {
      if (view.rule.engine != engine) continue;
      const std::string text = view_text(view);
      auto found = std::ranges::find(texts, text, [](const auto& entry) { return entry.first; });
      if (found == texts.end()) found = texts.insert(texts.end(), {text, {}});
      found->second.push_back(view.group);
    }
    if (texts.empty()) table.add({to_string(engine), "what the file says"});
    for (size_t k = 0; k < texts.size(); ++k) {
      table.add(
          {k == 0 ? to_string(engine) : "", layers_text(report, texts[k].second) + texts[k].first});
    }
  }
  fmt::print("{}", table.text());
}

// What the engines' part has said with numbers is not said again.
bool is_said(const Finding& finding, const ShowReport& report) {
  return finding.severity == Finding::Severity::kInfo &&
         std::ranges::any_of(report.engines,
                             [&](const EngineView& view) { return says_more(view, finding); });
}

void print_findings(const ShowReport& report) {
  std::string text;
  for (const Finding& finding : report.file.config.findings) {
    if (is_said(finding, report)) continue;
    const bool warning = finding.severity == Finding::Severity::kWarning;
    text += paragraph(finding.text, warning ? "  - warning: " : "  - ", 4);
  }
  if (!text.empty()) fmt::print("\nNotes\n{}", text);
}

}  // namespace

void print_show_text(const ShowReport& report, bool every_pair) {
  const ModelConfig& config = report.file.config;
  print_head(report);
  fmt::print("\nWhat the file declares, and where\n");
  Table table;
  add_fields(common_fields(report), config.groups.size() == 1 ? &config.groups.front() : nullptr,
             table);
  fmt::print("{}", table.text());
  print_groups(report, every_pair);
  print_mechanisms(config);
  print_engines(report);
  print_findings(report);
}

}  // namespace ropewalk
