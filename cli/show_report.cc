#include "cli/show_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/formats/npy.h"
#include "ropewalk/math/axes.h"
#include "ropewalk/math/reach.h"
#include "ropewalk/math/turns.h"
#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk {
namespace {

// A pair tells distances apart best around one radian, 1 / inv_freq tokens: "10-100" for 31.6.
std::string band_of(double inv_freq) {
  if (inv_freq == 0) return "none";
  constexpr double kRounding = 1e-12;  // so that 0.001 lies at 1000, not a hair below
  const double decade = std::floor(std::log10(1 / inv_freq) + kRounding);
  if (decade < 0) return "below 1";
  if (decade >= 4) return "beyond 10000";
  return fmt::format("{:.0f}-{:.0f}", std::pow(10, decade), std::pow(10, decade + 1));
}

std::string axis_name(uint8_t axis) {
  switch (axis) {
    case kTimeAxis:
      return "time";
    case kHeightAxis:
      return "height";
    case kWidthAxis:
      return "width";
    case kExtraAxis:
      return "extra";
    default:
      return std::to_string(axis);
  }
}

std::vector<ShownPair> pairs_of(const Spectrum& spectrum, int64_t trained_length) {
  std::vector<ShownPair> pairs;
  const std::vector<double> inv_freq = spectrum.inv_freq();
  for (size_t p = 0; p < inv_freq.size(); ++p) {
    const double turns_per_token = inv_freq[p] / (2 * std::numbers::pi);
    pairs.push_back({.inv_freq = inv_freq[p],
                     .wavelength = 1 / turns_per_token,
                     .turns = turns_per_token * static_cast<double>(trained_length),
                     .decay = spectrum.decay_of(static_cast<int64_t>(p)),
                     .band = band_of(inv_freq[p]),
                     .axis = spectrum.axis.empty() ? "" : axis_name(spectrum.axis[p])});
  }
  return pairs;
}

std::vector<std::vector<ShownAngle>> angles_of(const Spectrum& spectrum,
                                               const std::vector<int64_t>& positions) {
  std::vector<std::vector<ShownAngle>> rows;
  for (const int64_t position : positions) {
    std::vector<ShownAngle> row;
    for (const DoubleDouble& turns : spectrum.turns_per_token) {
      const CosSin exact = cos_sin_at(DoubleDouble(position), turns);
      row.push_back({exact.cos, exact.sin, static_cast<double>(DoubleDouble(position) * turns)});
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

bool has_part(const LayerGroup& group, const std::string& name) {
  return group.scheme == name || group.scheme.starts_with(name + ",");
}

// A length, and what the spectrum is there in words.
struct Moment {
  int64_t length = 0;
  std::string when;
};

// The lengths worth showing: any one where all are alike, else on both sides of the switch, or the
// one that was asked for.
std::vector<Moment> moments_of(const LayerGroup& group, const ShowReport& report) {
  const Rotary& rotary = *group.rotary;
  const int64_t trained = std::max<int64_t>(rotary.source.trained_length, 1);
  const bool fixed = rotary.spectrum.length() == SpectrumRule::Length::kFixed;
  if (fixed) return {{report.context > 0 ? report.context : trained, {}}};
  const bool lists = has_part(group, "longrope");
  const auto list_at = [&](int64_t n) {
    return n > trained ? ": the long list, for all of them" : ": the short list, for all of them";
  };
  if (report.context > 0) {
    const std::string when = fmt::format("in a sequence of {} tokens", report.context);
    return {{report.context, lists ? when + list_at(report.context) : when}};
  }
  int64_t longer = std::max(report.file.config.usable_length, trained + 1);
  if (longer <= trained + 1) longer = 2 * trained;
  if (lists) {
    return {{trained, fmt::format("in a sequence of up to {} tokens: the short list", trained)},
            {longer, fmt::format("in a longer one: the long list, for all its tokens")}};
  }
  return {{trained, fmt::format("in a sequence of up to {} tokens", trained)},
          {longer, fmt::format("in a sequence of {} tokens", longer)}};
}

// The spectrum part's formula and source.
std::string about_scheme(const LayerGroup& group) {
  if (group.scheme.empty()) return {};
  for (const ParsedPart& part : parse_scheme(group.scheme).parts) {
    if (part.scheme->kind == PartKind::kSpectrum) {
      return part.scheme->formula + " (" + part.scheme->source + ")";
    }
  }
  return {};
}

// ---- reach

std::string whole(double number) { return fmt::format("{:.0f}", number); }

// Past them a scan takes longer than anyone waits for.
constexpr int64_t kLongestScan = int64_t{1} << 20;
constexpr int64_t kLongestBaseScan = int64_t{1} << 18;

class Reach {
 public:
  //   unrotated_pairs  pairs' worth of coordinates that carry no position
  Reach(const Rotary& rotary, const Spectrum& spectrum, bool is_plain, int64_t unrotated_pairs)
      : rotary_(rotary),
        spectrum_(spectrum),
        is_plain_(is_plain),
        unrotated_pairs_(unrotated_pairs) {}

  std::vector<ShownReach> lines() {
    if (rotary_.source.trained_length < 8) return {};
    full_turns();
    slowest();
    if (is_windowed()) return std::move(lines_);
    effective();
    feasible_base();
    alias();
    precision();
    return std::move(lines_);
  }

 private:
  void add(std::string name, std::string key, double value, std::string text) {
    lines_.push_back({std::move(name), std::move(key), value, std::move(text)});
  }
  int64_t trained() const { return rotary_.source.trained_length; }
  // No key is farther away than a window lets a query see.
  bool is_windowed() const { return rotary_.visibility.window < trained(); }
  int64_t farthest() const { return std::min(rotary_.visibility.window, trained()); }
  double base() const { return static_cast<double>(rotary_.source.base); }

  void full_turns();
  void slowest();
  void effective();
  void feasible_base();
  void alias();
  void precision();

  const Rotary& rotary_;
  const Spectrum& spectrum_;
  const bool is_plain_;
  const int64_t unrotated_pairs_;
  std::vector<ShownReach> lines_;
};

void Reach::full_turns() {
  const std::string length = is_windowed() ? "the window" : "L";
  const int64_t n_full = full_turn_pairs(spectrum_, farthest());
  add("full turns", "full_turn_pairs", static_cast<double>(n_full),
      fmt::format("{} of {} pairs turn at least once within {}", n_full, spectrum_.n_pairs(),
                  length));
  const double critical =
      critical_pair(rotary_.source.base, rotary_.source.frequency_dim, farthest());
  add("critical pair", "critical_pair", critical,
      fmt::format("{:.1f}: of the unscaled pairs, where one turn takes just {}", critical, length));
}

void Reach::slowest() {
  const double period = longest_period(spectrum_);
  if (period == 0) return;
  add("slowest pair", "longest_period", period, whole(period) + " tokens for its turn");
}

void Reach::effective() {
  if (like_keys_always_attend(spectrum_, unrotated_pairs_)) {
    add("effective reach", "effective_reach", std::numeric_limits<double>::infinity(),
        "no end: enough of the head is not rotated");
    return;
  }
  const std::optional<int64_t> reach = effective_reach(spectrum_, unrotated_pairs_, kLongestScan);
  const double value =
      reach ? static_cast<double>(*reach) : std::numeric_limits<double>::infinity();
  add("effective reach", "effective_reach", value,
      reach ? fmt::format("{} tokens: from there a key like the query scores below others, on "
                          "average",
                          *reach)
            : fmt::format("over {} tokens", kLongestScan));
}

// Of a base alone: where frequencies are scaled beside it, it is not what is asked.
void Reach::feasible_base() {
  if (!is_plain_ || unrotated_pairs_ != 0 || trained() > kLongestBaseScan) return;
  const std::optional<double> least =
      smallest_feasible_base(rotary_.source.frequency_dim, trained());
  if (!least) return;
  add("base for L", "smallest_feasible_base", *least,
      fmt::format("{:.0f} is the smallest whose effective reach is L; the file has {}", *least,
                  to_text(base())));
}

void Reach::alias() {
  const double bound = alias_bound(base());
  add("alias bound", "alias_bound", bound,
      whole(bound) + " tokens: 2 pi base, where even the slowest pair would repeat");
}

void Reach::precision() {
  const double bound = precision_bound(std::numeric_limits<float>::epsilon());
  if (base() < bound) return;
  add("precision", "float32_base_bound", bound,
      fmt::format("the base exceeds {}: in float32 the slowest pair's step is lost beside 1",
                  whole(bound)));
}

// ---- groups

ShownSpectrum shown_spectrum(const Moment& moment, const Rotary& rotary, const ShowReport& report) {
  ShownSpectrum shown{.length = moment.length, .when = moment.when};
  shown.spectrum = rotary.spectrum.at(moment.length);
  shown.pairs = pairs_of(shown.spectrum, rotary.source.trained_length);
  shown.angles = angles_of(shown.spectrum, report.positions);
  if (shown.spectrum.base != static_cast<double>(rotary.source.base)) {
    shown.base = shown.spectrum.base;
  }
  if (report.digits) shown.digits = digits_of(shown.spectrum, *report.digits);
  return shown;
}

std::string layers_text(const ModelConfig& config, const LayerGroup& group) {
  if (group.layers.empty()) return "all layers";
  const size_t n_layers = config.group_of_layer.size();
  if (config.groups.size() == 1) {
    return n_layers == 1 ? "its one layer" : fmt::format("all {} layers", n_layers);
  }
  return (group.layers.size() == 1 ? "layer " : "layers ") + short_layer_list(group.layers);
}

// Both readers keep the rotated part alone as the layout's head.
int64_t passed_before(const LayerGroup& group, const ModelConfig& config) {
  const auto is_part = [](const DeclaredField& field) {
    return field.name == "rotated part" || field.name == "rotated_part";
  };
  const bool latent =
      std::ranges::any_of(config.fields, is_part) || std::ranges::any_of(group.fields, is_part);
  const int64_t before = config.shape.head_dim - group.rotary->layout.head_dim;
  return latent ? std::max<int64_t>(before, 0) : 0;
}

ShownGroup shown_group(const LayerGroup& group, const ShowReport& report) {
  ShownGroup shown{.group = &group, .layers = layers_text(report.file.config, group)};
  if (!group.rotary) return shown;
  shown.passed_before = passed_before(group, report.file.config);
  shown.about = about_scheme(group);
  for (const Moment& moment : moments_of(group, report)) {
    shown.spectra.push_back(shown_spectrum(moment, *group.rotary, report));
  }
  if (report.digits) {
    const Spectrum plain = apply_scheme("rope", *group.rotary).spectrum.at(1);
    shown.plain_digits = digits_of(plain, *report.digits);
  }
  const bool is_plain = has_part(group, "rope") || group.scheme.starts_with("rope+");
  const int64_t passed =
      shown.passed_before + group.rotary->layout.head_dim - group.rotary->layout.rotary_dim;
  shown.reach = Reach(*group.rotary, shown.spectra.back().spectrum, is_plain, passed / 2).lines();
  return shown;
}

void check_positions(const ShowOptions& options) {
  constexpr int64_t kMost = int64_t{1} << 40;  // as far as cosines are promised to be exact
  std::vector<int64_t> positions = options.positions;
  if (options.digits) positions.push_back(*options.digits);
  for (const int64_t position : positions) {
    if (position >= 0 && position <= kMost) continue;
    throw Error(options.digits ? "--digits or --positions" : "--positions",
                "must be from 0 to 2^40", std::to_string(position));
  }
}

}  // namespace

ShowReport make_show_report(const ShowOptions& options) {
  check_positions(options);
  ShowReport report{.file = open_declared(options.path, options.overrides),
                    .context = options.context,
                    .positions = options.positions,
                    .digits = options.digits};
  for (const LayerGroup& group : report.file.config.groups) {
    report.groups.push_back(shown_group(group, report));
  }
  report.engines = engine_views(report.file.config, report.file.kind, options.context);
  return report;
}

// ---- words

std::string layer_list(const std::vector<int64_t>& layers) {
  std::string text;
  for (size_t first = 0; first < layers.size();) {
    size_t last = first;
    while (last + 1 < layers.size() && layers[last + 1] == layers[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text += std::to_string(layers[first]);
    if (last > first) text += (last == first + 1 ? ", " : "-") + std::to_string(layers[last]);
    first = last + 1;
  }
  return text;
}

std::string short_layer_list(const std::vector<int64_t>& layers) {
  if (layers.size() <= 8) return layer_list(layers);
  const int64_t step = layers[1] - layers[0];
  for (size_t k = 1; k < layers.size(); ++k) {
    if (layers[k] - layers[k - 1] != step) return layer_list(layers);
  }
  if (step == 1) return layer_list(layers);
  return fmt::format("{}, {}, ..., {}", layers[0], layers[1], layers.back());
}

std::string rows_text(const PairLayout& layout, int64_t passed_before) {
  const bool half = layout.order == PairOrder::kHalf;
  const std::string first = half ? "p" : "2 p";
  const std::string second = half ? "p + " + std::to_string(layout.n_pairs()) : "2 p + 1";
  if (passed_before == 0) {
    return fmt::format(
        "pair p of head h is rows {0} h + {1} and {0} h + {2} of the q and k "
        "projections",
        layout.head_dim, first, second);
  }
  return fmt::format(
      "pair p of head h is rows {0} h + {1} + {2} and {0} h + {1} + {3} of the q projection; of "
      "keys, rows {2} and {3} of the {4} that all heads share",
      passed_before + layout.head_dim, passed_before, first, second, layout.head_dim);
}

std::string reorder_text(const PairLayout& layout) {
  const int64_t d = layout.rotary_dim;
  if (d <= 2) return "with one pair both kinds of kernel are the same";
  if (layout.order == PairOrder::kInterleaved) {
    return fmt::format(
        "a kernel that pairs halves must first de-interleave the {} rows of each head of q and k: "
        "0, 2, ..., {}, then 1, 3, ..., {}",
        d, d - 2, d - 1);
  }
  return fmt::format(
      "a kernel that pairs neighbours must first interleave the {} rows of each head of q and k: "
      "0, {}, 1, {}, ..., {}, {}",
      d, d / 2, d / 2 + 1, d / 2 - 1, d - 1);
}

namespace {

struct MechanismName {
  std::string operator()(const LearnedTable&) const { return "learned"; }
  std::string operator()(const SinusoidalTable&) const { return "sinusoidal"; }
  std::string operator()(const SegmentTable&) const { return "segment"; }
  std::string operator()(const AlibiBias&) const { return "alibi"; }
  std::string operator()(const T5Buckets&) const { return "t5_buckets"; }
  std::string operator()(const DebertaBuckets&) const { return "deberta_buckets"; }
  std::string operator()(const ClippedDistance&) const { return "clipped_distance"; }
  std::string operator()(const TransformerXlScores&) const { return "transformer_xl"; }
  std::string operator()(const ConvolutionalEmbedding&) const { return "convolution"; }
};

std::string row_of_position(int64_t offset) {
  return offset == 0 ? "position p is row p" : fmt::format("position p is row p + {}", offset);
}

struct MechanismText {
  std::string operator()(const LearnedTable& table) const {
    return fmt::format("a learned table{} is added to the embeddings; {}",
                       table.n_rows == 0 ? "" : fmt::format(" of {} rows", table.n_rows),
                       row_of_position(table.offset));
  }
  std::string operator()(const SinusoidalTable& table) const {
    const char* const order = table.order == SinusoidOrder::kInterleaved ? "sine and cosine in turn"
                              : table.order == SinusoidOrder::kConcatenated
                                  ? "all sines, then all cosines"
                                  : "all sines, then all cosines, the slowest at 1 / base";
    return fmt::format("a sinusoidal table ({}; width {}, base {}) is added to the embeddings; {}",
                       order, table.dim, to_text(table.base), row_of_position(table.offset));
  }
  std::string operator()(const SegmentTable& table) const {
    return fmt::format("a learned row for each of {} segments is added to the embeddings",
                       table.n_types);
  }
  std::string operator()(const AlibiBias& alibi) const {
    std::string slopes;
    for (size_t head = 0; head < std::min<size_t>(alibi.slopes.size(), 4); ++head) {
      slopes += fmt::format("{}{:.6g}", head == 0 ? "" : ", ", alibi.slopes[head]);
    }
    if (alibi.slopes.size() > 4) slopes += fmt::format(", ... {:.6g}", alibi.slopes.back());
    return fmt::format("ALiBi: every score falls by slope times distance; slopes of {} heads {}",
                       alibi.slopes.size(), slopes);
  }
  std::string operator()(const T5Buckets& buckets) const {
    return fmt::format(
        "T5's bias: a learned number for each of {} buckets of distances, up to {}{}",
        buckets.n_buckets, buckets.max_distance,
        buckets.bidirectional ? ", half of them for keys after the query" : "");
  }
  std::string operator()(const DebertaBuckets& buckets) const {
    return fmt::format("DeBERTa's relative positions: {} buckets of distances, up to {}",
                       buckets.n_buckets, buckets.max_distance);
  }
  std::string operator()(const ClippedDistance& clipped) const {
    return fmt::format("a learned row for each distance, those beyond {} share one", clipped.limit);
  }
  std::string operator()(const TransformerXlScores& scores) const {
    return fmt::format("Transformer-XL's scores against a sinusoid of the distance, width {}",
                       scores.dim);
  }
  std::string operator()(const ConvolutionalEmbedding& convolution) const {
    return fmt::format("a convolution over the input, width {}: no formula of positions",
                       convolution.width);
  }
};

}  // namespace

std::string mechanism_name(const PositionMechanism& mechanism) {
  return std::visit(MechanismName{}, mechanism);
}

std::string mechanism_text(const PositionMechanism& mechanism) {
  return std::visit(MechanismText{}, mechanism);
}

std::string temperature_text(const QueryTemperature& temperature) {
  std::string text;
  const auto times = [&](const std::string& factor) {
    text += (text.empty() ? "times " : ", times ") + factor;
  };
  if (temperature.factor != 1) times(to_text(temperature.factor));
  if (temperature.log_length > 1) {
    times(fmt::format("max(1, ln(p + 1) / ln({}))", temperature.log_length));
  }
  if (temperature.step_length > 0) {
    const std::string position =
        temperature.step_offset == 0 ? "p" : fmt::format("(p + {})", temperature.step_offset);
    times(fmt::format("1 + {} ln(1 + floor({} / {}))", to_text(temperature.step_scale), position,
                      temperature.step_length));
  }
  return text.empty() ? text : text + " at query position p";
}

// ---- NPY

void write_show_npy(const ShowReport& report, const std::string& path) {
  std::vector<double> values;
  uint64_t n_groups = 0;
  uint64_t n_pairs = 0;
  for (const ShownGroup& group : report.groups) {
    if (group.spectra.empty()) continue;
    if (group.spectra.size() > 1) {
      throw Error("--npy", "needs --context: frequencies depend on how many tokens are read",
                  group.group->scheme.substr(0, 60));
    }
    const ShownSpectrum& shown = group.spectra.front();
    if (n_groups++ == 0) n_pairs = shown.pairs.size();
    if (shown.pairs.size() != n_pairs) {
      throw Error("--npy", "needs layers of equally many pairs",
                  fmt::format("{} and {}", n_pairs, shown.pairs.size()));
    }
    if (report.positions.empty()) {
      for (const ShownPair& pair : shown.pairs) values.push_back(pair.inv_freq);
      continue;
    }
    for (const std::vector<ShownAngle>& row : shown.angles) {
      for (const ShownAngle& angle : row) values.insert(values.end(), {angle.cos, angle.sin});
    }
  }
  if (n_groups == 0) throw Error("--npy", "needs layers that are rotated", report.file.path);
  std::vector<uint64_t> shape;
  if (n_groups > 1) shape.push_back(n_groups);
  if (!report.positions.empty()) shape.push_back(report.positions.size());
  shape.push_back(n_pairs);
  if (!report.positions.empty()) shape.push_back(2);
  write_npy(path, values, shape);
}

}  // namespace ropewalk
