#include "cli/show_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <numbers>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/config/model_config.h"
#include "ropewalk/formats/gguf.h"
#include "ropewalk/formats/json_file.h"

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;

struct ShowOptions {
  std::string path;
  bool json = false;
  bool pairs = false;
};

struct Shown {
  std::string path;
  std::string format;
  ModelConfig config;
  std::string obstacle;  // why the engine does not run it; empty where it does
};

template <typename ReadPositions, typename ReadConfig>
Shown read_with(std::string path, std::string format, ReadPositions positions, ReadConfig config) {
  Shown shown{std::move(path), std::move(format), positions(), {}};
  try {
    config();
  } catch (const Error& error) {
    const std::string place = shown.path + ": ";
    shown.obstacle = error.what();
    if (shown.obstacle.starts_with(place)) shown.obstacle.erase(0, place.size());
  }
  return shown;
}

Shown read_model(const std::string& path) {
  std::filesystem::path file = path;
  if (std::filesystem::is_directory(file)) file /= "config.json";
  if (file.extension() == ".json") {
    const Json document = load_json(file.string());
    return read_with(
        file.string(), "config.json", [&] { return read_hf_positions(document, file.string()); },
        [&] { return read_hf_config(document, file.string()); });
  }
  const GgufFile gguf = GgufFile::open(path, GgufData::kOptional);
  return read_with(
      path, "GGUF version " + std::to_string(gguf.version()),
      [&] { return read_gguf_positions(gguf); }, [&] { return read_gguf_config(gguf); });
}

// ---- what is worked out from the spectrum

struct Pair {
  double inv_freq = 0;    // radians per token
  double wavelength = 0;  // tokens for one turn; infinite where it does not turn
  double turns = 0;       // within the trained length
  std::string band;       // the decade of distances around one radian
};

// A pair tells distances apart best around one radian, 1 / inv_freq tokens: "10-100" for 31.6.
std::string band_of(double inv_freq) {
  if (inv_freq == 0) return "none";
  constexpr double kRounding = 1e-12;  // so that 0.001 lies at 1000, not a hair below
  const double decade = std::floor(std::log10(1 / inv_freq) + kRounding);
  if (decade < 0) return "below 1";
  return fmt::format("{:.0f}-{:.0f}", std::pow(10, decade), std::pow(10, decade + 1));
}

std::vector<Pair> pairs_of(const Spectrum& spectrum, int64_t trained_length) {
  std::vector<Pair> pairs;
  for (const double inv_freq : spectrum.inv_freq()) {
    const double turns_per_token = inv_freq / (2 * std::numbers::pi);
    pairs.push_back({.inv_freq = inv_freq,
                     .wavelength = 1 / turns_per_token,
                     .turns = turns_per_token * static_cast<double>(trained_length),
                     .band = band_of(inv_freq)});
  }
  return pairs;
}

// The lengths to show: L, and 2 L where the spectrum depends on the length.
std::vector<int64_t> lengths_of(const Rotary& rotary) {
  const int64_t length = std::max<int64_t>(rotary.source.trained_length, 1);
  if (rotary.spectrum.length() == SpectrumRule::Length::kFixed) return {length};
  return {length, 2 * length};
}

// Which rows of the projections make up a pair.
std::string rows_text(const PairLayout& layout) {
  const std::string head = std::to_string(layout.head_dim) + " h";
  const bool half = layout.order == PairOrder::kHalf;
  return fmt::format("pair p of head h is rows {} + {} and {} + {} of the q and k projections",
                     head, half ? "p" : "2 p", head,
                     half ? "p + " + std::to_string(layout.n_pairs()) : "2 p + 1");
}

const Rotary* first_rotary(const ModelConfig& config) {
  const auto found = std::ranges::find_if(
      config.groups, [](const LayerGroup& group) { return group.rotary.has_value(); });
  return found == config.groups.end() ? nullptr : &*found->rotary;
}

// ---- text

// Long strips are cut in the middle.
std::string short_strip(const PairLayout& layout) {
  constexpr size_t kLongest = 72;
  constexpr size_t kEnd = 32;
  const std::string strip = layout.strip();
  if (strip.size() <= kLongest) return strip;
  return strip.substr(0, kEnd) + " ... " + strip.substr(strip.size() - kEnd);
}

void print_fields(const std::vector<DeclaredField>& fields) {
  size_t name_width = 0;
  size_t value_width = 0;
  for (const DeclaredField& field : fields) {
    name_width = std::max(name_width, field.name.size());
    value_width = std::max(value_width, field.value.size());
  }
  fmt::print("\nDeclared\n");
  for (const DeclaredField& field : fields) {
    const std::string kind =
        field.provenance == Provenance::kFile ? "" : to_string(field.provenance) + ": ";
    fmt::print("  {:<{}}  {:<{}}  {}{}\n", field.name, name_width, field.value, value_width, kind,
               field.from);
  }
}

void print_pairs(const std::vector<Pair>& pairs) {
  static constexpr char kHead[] = "  {:>4}  {:>15}  {:>14}  {:>12}  {}\n";
  fmt::print(kHead, "pair", "inv_freq", "wavelength", "turns", "distances");
  fmt::print(kHead, "", "radians/token", "tokens/turn", "within L", "");
  for (size_t i = 0; i < pairs.size(); ++i) {
    fmt::print("  {:>4}  {:>15.9g}  {:>14.7g}  {:>12.6g}  {}\n", i, pairs[i].inv_freq,
               pairs[i].wavelength, pairs[i].turns, pairs[i].band);
  }
}

// Four digits, never with an exponent above 1000.
std::string number_text(double number) {
  return number < 1000 ? fmt::format("{:.4g}", number) : fmt::format("{:.0f}", number);
}

// "6.283 to 54.41", or one number where both are the same.
std::string range_text(double first, double last) {
  return first == last ? number_text(first) : number_text(first) + " to " + number_text(last);
}

// One line for each run of pairs of the same band.
void print_bands(const std::vector<Pair>& pairs) {
  static constexpr char kRow[] = "  {:<18}  {:<9}  {:<24}  {}\n";
  fmt::print(kRow, "distances", "pairs", "wavelength, tokens/turn", "turns within L");
  for (size_t first = 0; first < pairs.size();) {
    size_t last = first;
    while (last + 1 < pairs.size() && pairs[last + 1].band == pairs[first].band) ++last;
    fmt::print(kRow, pairs[first].band,
               first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last),
               range_text(pairs[first].wavelength, pairs[last].wavelength),
               range_text(pairs[first].turns, pairs[last].turns));
    first = last + 1;
  }
}

void print_spectrum(const Spectrum& spectrum, int64_t trained_length, bool every_pair) {
  fmt::print("  amplitude {:.10g} (on cos and sin, so its square on logits)\n", spectrum.amplitude);
  fmt::print("  logit multiplier {:.10g}\n\n", spectrum.logit_multiplier);
  const std::vector<Pair> pairs = pairs_of(spectrum, trained_length);
  every_pair ? print_pairs(pairs) : print_bands(pairs);
}

void print_rotary(const Rotary& rotary, const std::string& scheme, bool every_pair) {
  const PairLayout& layout = rotary.layout;
  fmt::print("\nLayout: coordinates of a head that turn together (last digit of their pair)\n");
  fmt::print("  {}\n  {}\n", short_strip(layout), rows_text(layout));

  const int64_t trained = rotary.source.trained_length;
  fmt::print("\nPositions: {}, trained length L = {} tokens\n",
             scheme.empty() ? "frequencies of the file's own, no scheme string" : scheme, trained);
  if (rotary.visibility.window != kUnbounded) {
    fmt::print("  a query sees keys at distances below {}\n", rotary.visibility.window);
  }
  for (const int64_t length : lengths_of(rotary)) {
    if (rotary.spectrum.length() != SpectrumRule::Length::kFixed) {
      fmt::print("\n  In a sequence of {} tokens:\n", length);
    }
    print_spectrum(rotary.spectrum.at(length), trained, every_pair);
  }
  fmt::print(
      "\n  distances: where a pair tells tokens apart best, around one radian "
      "(wavelength / 2 pi)\n");
}

// Scheme strings with lists of divisors are long.
std::string short_scheme(const std::string& scheme) {
  constexpr size_t kLongest = 100;
  return scheme.size() <= kLongest ? scheme : scheme.substr(0, kLongest) + "...";
}

void print_text(const Shown& shown, bool every_pair) {
  const ModelConfig& config = shown.config;
  fmt::print("{}\n", shown.path);
  fmt::print("  {}, architecture {}", shown.format, config.architecture);
  if (config.shape.n_layers != 0) fmt::print(", {} layers, all alike", config.shape.n_layers);
  fmt::print("\n  {}\n", shown.obstacle.empty()
                             ? "runs in Ropewalk's engine"
                             : "does not run in Ropewalk's engine: " + shown.obstacle);
  print_fields(config.fields);
  if (const Rotary* const rotary = first_rotary(config)) {
    print_rotary(*rotary, short_scheme(config.groups.front().scheme), every_pair);
  }
  if (!config.findings.empty()) fmt::print("\nNotes\n");
  for (const Finding& finding : config.findings) fmt::print("  - {}\n", finding.text);
}

// ---- JSON

Json json_of(const std::vector<Pair>& pairs) {
  Json list = Json::array();
  for (size_t i = 0; i < pairs.size(); ++i) {
    const Pair& pair = pairs[i];
    list.push_back({{"pair", i},
                    {"inv_freq", pair.inv_freq},
                    {"wavelength", std::isfinite(pair.wavelength) ? Json(pair.wavelength) : Json()},
                    {"turns", pair.turns},
                    {"band", pair.band}});
  }
  return list;
}

Json json_of(const Rotary& rotary) {
  const PairLayout& layout = rotary.layout;
  Json json = {{"trained_length", rotary.source.trained_length},
               {"layout",
                {{"order", layout.order == PairOrder::kHalf ? "half" : "interleaved"},
                 {"head_dim", layout.head_dim},
                 {"rotary_dim", layout.rotary_dim},
                 {"strip", layout.strip()},
                 {"rows", rows_text(layout)}}}};
  const int64_t window = rotary.visibility.window;
  json["window"] = window == kUnbounded ? Json() : Json(window);
  json["depends_on_length"] = rotary.spectrum.length() != SpectrumRule::Length::kFixed;
  json["spectra"] = Json::array();
  for (const int64_t length : lengths_of(rotary)) {
    const Spectrum spectrum = rotary.spectrum.at(length);
    json["spectra"].push_back(
        {{"length", length},
         {"amplitude", spectrum.amplitude},
         {"logit_multiplier", spectrum.logit_multiplier},
         {"pairs", json_of(pairs_of(spectrum, rotary.source.trained_length))}});
  }
  return json;
}

void print_json(const Shown& shown) {
  const ModelConfig& config = shown.config;
  Json json = {{"file", shown.path},
               {"format", shown.format},
               {"architecture", config.architecture},
               {"layers", config.shape.n_layers},
               {"runs", shown.obstacle.empty()}};
  json["obstacle"] = shown.obstacle.empty() ? Json() : Json(shown.obstacle);
  const std::string& scheme = config.groups.front().scheme;
  json["scheme"] = scheme.empty() ? Json() : Json(scheme);
  json["fields"] = Json::array();
  for (const DeclaredField& field : config.fields) {
    json["fields"].push_back({{"name", field.name},
                              {"value", field.value},
                              {"provenance", to_string(field.provenance)},
                              {"from", field.from}});
  }
  const Rotary* const rotary = first_rotary(config);
  json["rotary"] = rotary == nullptr ? Json() : json_of(*rotary);
  json["groups"] = Json::array();
  for (const LayerGroup& group : config.groups) {
    json["groups"].push_back({{"name", group.name.empty() ? Json() : Json(group.name)},
                              {"layers", group.layers},
                              {"scheme", group.scheme.empty() ? Json() : Json(group.scheme)},
                              {"rotary", group.rotary ? json_of(*group.rotary) : Json()}});
  }
  json["notes"] = Json::array();
  for (const Finding& finding : config.findings) json["notes"].push_back(finding.text);
  fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

void show(const ShowOptions& options) {
  const Shown shown = read_model(options.path);
  if (options.json) {
    print_json(shown);
  } else {
    print_text(shown, options.pairs);
  }
}

}  // namespace

void add_show_command(CLI::App& app) {
  const auto options = std::make_shared<ShowOptions>();
  CLI::App* const command = app.add_subcommand(
      "show", "What positions a model file declares, and where each number is from");
  command->add_option("MODEL", options->path, "A GGUF file, a config.json, or a directory with one")
      ->required();
  command->add_flag("--json", options->json, "One JSON object, with every pair");
  command->add_flag("--pairs", options->pairs,
                    "Every pair, instead of a line for each band of distances");
  command->callback([options] { show(*options); });
}

}  // namespace ropewalk
