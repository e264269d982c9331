#include "ropewalk/study/search_space.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "ropewalk/base/error.h"
#include "ropewalk/math/reach.h"
#include "ropewalk/schemes/param_value.h"
#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk {
namespace {

// ---- the table

enum class Unit { kNone, kTrained, kTarget };  // of bounds: shares of L or of N

struct Turned {
  const char* parameter;
  Step step;
  double size;
  double least;
  double most;
  Unit unit = Unit::kNone;
};

struct Row {
  const char* scheme;
  std::vector<Turned> turned;
};

// Bounds are where a setting would no longer be of its kind; the registry's own hold besides. What
// forgets far text is not here: it is never taken.
const std::vector<Row>& table() {
  using enum Step;
  using enum Unit;
  static const std::vector<Row> rows = {
      {"base", {{"factor", kTimes, 1.5, 1, 1e4}}},
      {"cope_clip", {{"count", kPlus, 4, 1, 256}}},
      {"dynamic_ntk", {{"factor", kTimes, 1.5, 1, 64}}},
      {"hope", {{"turns", kTimes, 1.5, 0.05, 32}}},
      {"linear", {{"factor", kTimes, 1.25, 1, 1e3}}},
      {"llama3",
       {{"factor", kTimes, 1.25, 1, 1e3},
        {"low", kTimes, 1.5, 0.05, 32},
        {"high", kTimes, 1.5, 0.1, 64}}},
      {"ntk", {{"factor", kTimes, 1.25, 1, 1e3}}},
      {"ntk_by_parts",
       {{"factor", kTimes, 1.25, 1, 1e3},
        {"alpha", kTimes, 1.5, 0.05, 32},
        {"beta", kTimes, 1.5, 0.1, 256}}},
      {"ntk_fixed", {{"factor", kTimes, 1.25, 1, 1e3}}},
      {"ntk_mixed", {{"factor", kTimes, 1.25, 1, 1e3}, {"power", kTimes, 1.25, 0.1, 8}}},
      {"p_rope", {{"keep", kPlus, 0.125, 0.125, 1}}},
      {"part_ntk", {{"factor", kTimes, 1.25, 1, 1e3}}},
      {"yarn",
       {{"factor", kTimes, 1.25, 1, 1e3},
        {"beta_fast", kTimes, 1.5, 0.1, 256},
        {"beta_slow", kTimes, 1.5, 0.05, 32},
        {"coefficient", kPlus, 0.04, 0, 0.4}}},
      {"dynamic_yarn",
       {{"beta_fast", kTimes, 1.5, 0.1, 256}, {"beta_slow", kTimes, 1.5, 0.05, 32}}},
      {"longrope", {{"amplitude", kTimes, 1.05, 0.5, 2}}},

      {"cap", {{"window", kTimes, 1.25, 1.0 / 64, 1, kTrained}}},
      {"dca",
       {{"chunk", kTimes, 1.25, 1.0 / 64, 1, kTrained},
        {"local", kTimes, 1.5, 1.0 / 256, 1, kTrained}}},
      {"dca_code",
       {{"chunk", kTimes, 1.25, 1.0 / 64, 1, kTrained},
        {"local", kTimes, 1.5, 1.0 / 256, 1, kTrained},
        {"coefficient", kTimes, 1.5, 0.005, 1}}},
      {"dpe", {{"window", kTimes, 1.25, 1.0 / 64, 1, kTrained}}},
      {"jet_long", {{"window", kTimes, 1.25, 1.0 / 64, 1, kTrained}}},
      {"leaky",
       {{"window", kTimes, 1.25, 1.0 / 64, 1, kTrained}, {"divisor", kTimes, 1.5, 1, 1e6}}},
      {"log_tail",
       {{"window", kTimes, 1.25, 1.0 / 64, 1, kTrained},
        {"bound", kTimes, 1.25, 1.0 / 64, 1, kTarget}}},
      {"self_extend",
       {{"window", kTimes, 1.25, 1.0 / 64, 1, kTrained}, {"group", kTimes, 1.25, 2, 1e4}}},
      {"self_logistic",
       {{"window", kTimes, 1.25, 1.0 / 64, 1, kTrained},
        {"capacity", kTimes, 1.25, 2, 4096},
        {"rate", kTimes, 1.5, 1e-6, 100}}},
      {"string",
       {{"shift", kTimes, 1.25, 1.0 / 64, 1, kTrained},
        {"window", kTimes, 1.5, 1.0 / 256, 0.5, kTrained}}},

      {"full_turn", {{"turns", kTimes, 2, 0.125, 64}}},
      {"step_temperature", {{"scale", kTimes, 1.5, 1e-3, 10}}},
      {"temperature", {{"factor", kTimes, 1.06, 0.25, 4}}},
  };
  return rows;
}

std::span<const Turned> turned_of(const std::string& scheme) {
  const auto row = std::ranges::find_if(table(), [&](const Row& r) { return r.scheme == scheme; });
  return row == table().end() ? std::span<const Turned>() : row->turned;
}

// ---- around a setting

constexpr const char* kNoTemperature = "temperature,factor=1";

// A number of a part of the scheme string, or the first of the pairs that it moves.
struct Handle {
  size_t part = 0;
  std::string parameter;
  bool is_pairs = false;
  int64_t last_pair = 0;
};

std::optional<double> number_of(const ParsedPart& part, const std::string& parameter) {
  const auto info = std::ranges::find(part.scheme->params, parameter, &ParamInfo::name);
  if (info == part.scheme->params.end() || !part.params.has(parameter)) return std::nullopt;
  if (info->type == ParamType::kInteger) return static_cast<double>(part.params.integer(parameter));
  if (info->type == ParamType::kNumber) return static_cast<double>(part.params.number(parameter));
  return std::nullopt;
}

bool is_whole(const ParsedPart& part, const std::string& parameter) {
  return std::ranges::find(part.scheme->params, parameter, &ParamInfo::name)->type ==
         ParamType::kInteger;
}

class Around {
 public:
  Around(const std::string& scheme, int64_t trained_length, int64_t target_length)
      : trained_(static_cast<double>(trained_length)),
        target_(static_cast<double>(target_length)),
        parsed_(parse_scheme(scheme)) {
    bool has_map = false;
    bool has_multiplier = false;
    for (const ParsedPart& part : parsed_.parts) {
      has_map = has_map || part.scheme->kind == PartKind::kDistanceMap;
      has_multiplier = has_multiplier || part.scheme->kind == PartKind::kMultiplier;
    }
    if (has_map && !has_multiplier)
      parsed_.parts.push_back(parse_scheme(kNoTemperature).parts.front());
    for (size_t k = 0; k < parsed_.parts.size(); ++k) add_knobs(k);
  }

  SearchSpace space(const std::string& origin) const {
    const auto text = [parts = parsed_.parts, handles = handles_](const std::vector<double>& x) {
      return text_of(parts, handles, x);
    };
    return {.knobs = knobs_,
            .start = start_,
            .scheme = text,
            .describe = [origin](const std::vector<double>&) { return "around " + origin; }};
  }

 private:
  void add_knobs(size_t k) {
    const ParsedPart& part = parsed_.parts[k];
    for (const Turned& turned : turned_of(part.scheme->name)) {
      const std::optional<double> value = number_of(part, turned.parameter);
      if (!value) continue;
      const double unit = turned.unit == Unit::kTrained  ? trained_
                          : turned.unit == Unit::kTarget ? target_
                                                         : 1;
      handles_.push_back({.part = k, .parameter = turned.parameter});
      start_.push_back(*value);
      knobs_.push_back({.name = turned.parameter,
                        .step = turned.step,
                        .size = turned.size,
                        .least = turned.least * unit,
                        .most = turned.most * unit,
                        .whole = is_whole(part, turned.parameter)});
    }
    if (part.scheme->kind == PartKind::kDistanceMap && part.params.has("pairs")) add_pairs(k);
  }

  void add_pairs(size_t k) {
    const PairRange pairs = parsed_.parts[k].params.pairs();
    if (pairs.last == kUnbounded) return;
    handles_.push_back(
        {.part = k, .parameter = "pairs", .is_pairs = true, .last_pair = pairs.last});
    start_.push_back(static_cast<double>(pairs.first));
    knobs_.push_back({.name = "pairs",
                      .step = Step::kPlus,
                      .size = std::max(1.0, static_cast<double>(pairs.last + 1) / 8),
                      .least = 0,
                      .most = static_cast<double>(pairs.last),
                      .whole = true});
  }

  static std::string text_of(const std::vector<ParsedPart>& parts,
                             const std::vector<Handle>& handles, const std::vector<double>& x) {
    std::vector<std::string> texts;
    for (const ParsedPart& part : parts) texts.push_back(part.text);
    for (size_t k = 0; k < handles.size(); ++k) {
      const Handle& handle = handles[k];
      const std::string value =
          handle.is_pairs
              ? to_text(ParamValue(PairRange{static_cast<int64_t>(x[k]), handle.last_pair}))
              : to_text(x[k]);
      texts[handle.part] = with_parameter(texts[handle.part], handle.parameter, value);
    }
    std::erase(texts, kNoTemperature);
    return parse_scheme(fmt::format("{}", fmt::join(texts, "+"))).text();
  }

  double trained_;
  double target_;
  ParsedScheme parsed_;
  std::vector<Handle> handles_;
  std::vector<Knob> knobs_;
  std::vector<double> start_;
};

// ---- tails

constexpr double kReach = 1.25;  // of the window, where a tail's farthest distance starts

std::string tail_text(const std::string& name, int64_t window, int64_t target_length) {
  const auto w = static_cast<double>(window);
  const auto n = static_cast<double>(target_length);
  if (name == "cap") return fmt::format("cap,window={}", window);
  if (name == "leaky") {
    const double divisor = four_digits((n - w) / ((kReach - 1) * w));
    return fmt::format("leaky,window={},divisor={}", window, to_text(std::max(1.0, divisor)));
  }
  // In chords, which attention does by tiles, where the tail is long enough for them.
  return fmt::format("log_tail,window={},bound={},at={}{}", window, to_text(std::round(kReach * w)),
                     target_length, window >= 16 && target_length >= 2 * window ? ",pieces=4" : "");
}

// The scheme with other tails past its window; empty where it has none of them.
std::vector<std::string> other_tails(const std::string& scheme, int64_t target_length) {
  const std::vector<std::string> tails = {"cap", "leaky", "log_tail"};
  const ParsedScheme parsed = parse_scheme(scheme);
  std::vector<std::string> others;
  for (const std::string& tail : tails) {
    std::vector<std::string> texts;
    bool has_another = false;
    for (const ParsedPart& part : parsed.parts) {
      texts.push_back(part.text);
      if (std::ranges::find(tails, part.scheme->name) == tails.end()) continue;
      has_another = part.scheme->name != tail;
      texts.back() = tail_text(tail, part.params.integer("window"), target_length);
      if (part.params.has("pairs"))
        texts.back() += ",pairs=" + to_text(ParamValue(part.params.pairs()));
    }
    if (has_another) others.push_back(fmt::format("{}", fmt::join(texts, "+")));
  }
  return others;
}

// ---- pair factors

PairRamp ramp_of(const std::vector<double>& x) {
  return {.critical = static_cast<int64_t>(x[0]), .at = x[1], .growth = x[2], .bend = x[3]};
}

std::string ramp_scheme(const std::vector<double>& x, int64_t n_pairs) {
  const std::string list = to_text(ParamValue(pair_divisors(ramp_of(x), n_pairs)));
  return parse_scheme(
             fmt::format("longrope,long={},short={},amplitude={}", list, list, to_text(x[4])))
      .text();
}

constexpr double kLateBend = 4;
constexpr double kLeastBend = 0.25;
constexpr double kMostBend = 32;

std::vector<Knob> ramp_knobs(const FrequencySource& source, int64_t n_pairs, double stretch) {
  const auto last = static_cast<double>(n_pairs - 1);
  const PairRange range =
      critical_pair_search(source.base, source.frequency_dim, source.trained_length);
  const double most = 16 * stretch;
  using enum Step;
  return {{.name = "critical pair",
           .step = kPlus,
           .size = std::max(1.0, last / 8),
           .least = std::clamp(static_cast<double>(range.first), 1.0, last),
           .most = std::clamp(static_cast<double>(range.last + 1), 1.0, last),
           .whole = true},
          {.name = "at", .step = kTimes, .size = 1.25, .least = 1, .most = most},
          {.name = "growth", .step = kTimes, .size = 1.5, .least = 1, .most = most},
          {.name = "bend", .step = kTimes, .size = 2, .least = kLeastBend, .most = kMostBend},
          {.name = "amplitude", .step = kTimes, .size = 1.05, .least = 0.5, .most = 2}};
}

// The ramp that equals the divisors of `wanted` at the critical pair, at the last, and, where it
// can, half way to the critical one.
PairRamp nearest_ramp(int64_t critical, const std::vector<double>& plain,
                      const std::vector<double>& wanted) {
  const auto divisor = [&](size_t pair) {
    return wanted[pair] > 0 ? std::max(1.0, plain[pair] / wanted[pair]) : 1.0;
  };
  const auto c = static_cast<size_t>(critical);
  PairRamp ramp{.critical = critical, .at = divisor(c)};
  ramp.growth = std::max(1.0, divisor(plain.size() - 1) / ramp.at);
  const double half = std::log(divisor(c / 2)) / std::log(ramp.at);
  const double bend =
      std::log(half) / std::log(static_cast<double>(c / 2) / static_cast<double>(c));
  ramp.bend = std::isnan(bend) ? 1 : std::clamp(bend, kLeastBend, kMostBend);
  return ramp;
}

std::string describe_ramp(const std::vector<double>& x, int64_t n_pairs) {
  const PairRamp ramp = ramp_of(x);
  return fmt::format(
      "pair factors, critical pair {}, {} there, {} at the last, bend {}, amplitude {}",
      ramp.critical, to_text(ramp.at), to_text(pair_divisors(ramp, n_pairs).back()),
      to_text(ramp.bend), to_text(x[4]));
}

}  // namespace

std::vector<double> pair_divisors(const PairRamp& ramp, int64_t n_pairs) {
  const auto critical = static_cast<double>(ramp.critical);
  const double past = std::max(1.0, static_cast<double>(n_pairs - 1) - critical);
  std::vector<double> divisors;
  for (int64_t pair = 0; pair < n_pairs; ++pair) {
    const auto p = static_cast<double>(pair);
    divisors.push_back(four_digits(p <= critical
                                       ? std::pow(ramp.at, std::pow(p / critical, ramp.bend))
                                       : ramp.at * std::pow(ramp.growth, (p - critical) / past)));
  }
  return divisors;
}

std::vector<SearchSpace> pair_factor_spaces(const Rotary& declared, const Rotary* best,
                                            int64_t target_length) {
  const FrequencySource& source = declared.source;
  const int64_t n_pairs = declared.spectrum.at(target_length).n_pairs();
  if (n_pairs < 2) return {};
  const double stretch =
      static_cast<double>(target_length) / static_cast<double>(source.trained_length);
  SearchSpace space = {
      .knobs = ramp_knobs(source, n_pairs, stretch),
      .scheme = [n_pairs](const std::vector<double>& x) { return ramp_scheme(x, n_pairs); },
      .describe = [n_pairs](const std::vector<double>& x) { return describe_ramp(x, n_pairs); }};
  const PairRange range =
      critical_pair_search(source.base, source.frequency_dim, source.trained_length);
  const auto critical = std::clamp<int64_t>(range.last, 1, n_pairs - 1);
  std::vector<SearchSpace> spaces;
  const auto add = [&](const PairRamp& ramp, double amplitude) {
    space.start = {static_cast<double>(ramp.critical), four_digits(ramp.at),
                   four_digits(ramp.growth), four_digits(ramp.bend), four_digits(amplitude)};
    spaces.push_back(space);
  };
  if (best != nullptr) {
    const Spectrum wanted = best->spectrum.at(target_length);
    const Spectrum plain = apply_scheme("rope", declared).spectrum.at(target_length);
    if (wanted.n_pairs() == n_pairs)
      add(nearest_ramp(critical, plain.inv_freq(), wanted.inv_freq()), wanted.amplitude);
  }
  const double amplitude = std::sqrt(yarn_logit_scale(stretch));
  add({.critical = critical, .at = stretch, .growth = 1, .bend = 1}, 1);
  add({.critical = critical, .at = stretch, .growth = 1, .bend = kLateBend}, 1);
  add({.critical = critical, .at = stretch, .growth = 1, .bend = kLateBend}, amplitude);
  return spaces;
}

std::vector<SearchSpace> spaces_around(const std::string& scheme, int64_t trained_length,
                                       int64_t target_length) {
  std::vector<SearchSpace> spaces;
  const auto add = [&](const std::string& text) {
    SearchSpace space = Around(text, trained_length, target_length).space(scheme);
    if (!space.knobs.empty()) spaces.push_back(std::move(space));
  };
  add(scheme);
  for (const std::string& other : other_tails(scheme, target_length)) add(other);
  return spaces;
}

std::vector<KnobRow> knob_rows() {
  std::vector<KnobRow> rows;
  for (const Row& row : table()) {
    for (const Turned& turned : row.turned) rows.push_back({row.scheme, turned.parameter});
  }
  return rows;
}

}  // namespace ropewalk
