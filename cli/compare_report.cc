#include "cli/compare_report.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cli/show_report.h"
#include "ropewalk/config/gguf_architectures.h"
#include "ropewalk/math/turns.h"
#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk {
namespace {

constexpr int64_t kLongestCurve = int64_t{1} << 24;

// Numbers that are the same once as a double and once as a float32.
bool same_number(double a, double b) {
  return std::abs(a - b) <= kFloat32Rounding * std::max(std::abs(a), std::abs(b));
}

std::string order_text(const PairLayout& layout) {
  return std::string(layout.order == PairOrder::kHalf ? "halves" : "interleaved") + ", " +
         std::to_string(layout.rotary_dim) + " of " + std::to_string(layout.head_dim) +
         " coordinates";
}

std::string window_text(const Visibility& visibility) {
  if (visibility.window == kUnbounded) return "all keys";
  std::string text = std::to_string(visibility.window) + " keys";
  if (visibility.sinks > 0) text += " and the first " + std::to_string(visibility.sinks);
  return text;
}

bool is_permuted(const DeclaredFile& file) {
  if (file.kind != ModelFormat::kGguf) return false;
  const GgufArchitecture* const architecture = find_gguf_architecture(file.config.architecture);
  return architecture != nullptr && architecture->permuted;
}

// What has been told of two spectra: each once, of the first length at which it differs.
struct SpectrumParts {
  bool amplitude = false;
  bool multiplier = false;
  bool decay = false;
  bool axes = false;
};

class Comparer {
 public:
  explicit Comparer(CompareReport report) : report_(std::move(report)) {}

  CompareReport compare() {
    compare_models();
    for (int64_t layer = 0; layer < layers_to_compare(); ++layer) compare_layer(layer);
    if (!curve_is_set_) set_curve(0);
    return std::move(report_);
  }

 private:
  const ModelConfig& a() const { return report_.a.config; }
  const ModelConfig& b() const { return report_.b.config; }

  // One entry of group_of_layer stands for all where a file does not tell.
  static size_t group_at(const ModelConfig& config, int64_t layer) {
    const size_t index = config.group_of_layer.size() == 1 ? 0 : static_cast<size_t>(layer);
    return static_cast<size_t>(config.group_of_layer[index]);
  }
  int64_t layers_to_compare() const {
    const auto n_a = static_cast<int64_t>(a().group_of_layer.size());
    const auto n_b = static_cast<int64_t>(b().group_of_layer.size());
    return n_a == 1 || n_b == 1 ? std::max(n_a, n_b) : std::min(n_a, n_b);
  }

  void differ(std::string what, int64_t layer, std::string first, std::string second) {
    report_.differences.push_back({std::move(what), layer, std::move(first), std::move(second)});
  }

  void compare_models();
  void compare_layer(int64_t layer);
  void compare_rotary(int64_t layer, const Rotary& first, const Rotary& second);
  void compare_layouts(int64_t layer, const PairLayout& first, const PairLayout& second);
  void compare_spectra(int64_t layer, const Rotary& first, const Rotary& second);
  void set_parting(int64_t layer, int64_t length, const SpectrumGap& gap, const Spectrum& ours,
                   const Spectrum& theirs);
  void compare_parts(int64_t layer, const SpectrumGap& gap, const Spectrum& ours,
                     const Spectrum& theirs, SpectrumParts& found);
  void compare_maps(int64_t layer, const LayerGroup& first, const LayerGroup& second);
  void set_curve(int64_t layer);

  CompareReport report_;
  std::vector<std::pair<size_t, size_t>> seen_;  // pairs of groups that were compared
  bool curve_is_set_ = false;
};

void Comparer::compare_models() {
  const int64_t n_a = a().shape.n_layers;
  const int64_t n_b = b().shape.n_layers;
  report_.n_layers = std::max(n_a, n_b);
  if (n_a != 0 && n_b != 0 && n_a != n_b) {
    differ("layers", -1, std::to_string(n_a), std::to_string(n_b));
  }
  std::string mechanisms[2];
  for (const PositionMechanism& mechanism : a().mechanisms) {
    mechanisms[0] += (mechanisms[0].empty() ? "" : "; ") + mechanism_text(mechanism);
  }
  for (const PositionMechanism& mechanism : b().mechanisms) {
    mechanisms[1] += (mechanisms[1].empty() ? "" : "; ") + mechanism_text(mechanism);
  }
  if (mechanisms[0] != mechanisms[1]) {
    for (std::string& text : mechanisms) {
      if (text.empty()) text = "none";
    }
    differ("beside rotation", -1, mechanisms[0], mechanisms[1]);
  }
  if (a().usable_length != b().usable_length) {
    report_.notes.push_back("usable lengths differ: " + std::to_string(a().usable_length) +
                            " and " + std::to_string(b().usable_length) + " tokens");
  }
}

void Comparer::compare_layer(int64_t layer) {
  const std::pair<size_t, size_t> groups = {group_at(a(), layer), group_at(b(), layer)};
  if (std::ranges::find(seen_, groups) != seen_.end()) return;
  seen_.push_back(groups);
  const LayerGroup& first = a().groups[groups.first];
  const LayerGroup& second = b().groups[groups.second];
  const size_t before = report_.differences.size();
  const bool parted = report_.parting.has_value();
  if (first.rotary.has_value() != second.rotary.has_value()) {
    differ("rotation", layer, first.rotary ? "rotated" : "not rotated",
           second.rotary ? "rotated" : "not rotated");
  } else if (first.rotary) {
    compare_rotary(layer, *first.rotary, *second.rotary);
    compare_maps(layer, first, second);
  } else if (!(first.temperature == second.temperature)) {
    differ("query scale", layer, temperature_text(first.temperature),
           temperature_text(second.temperature));
  }
  const bool differs = report_.differences.size() > before || report_.parting.has_value() != parted;
  if (differs && !curve_is_set_ && first.rotary && second.rotary) set_curve(layer);
}

void Comparer::compare_rotary(int64_t layer, const Rotary& first, const Rotary& second) {
  compare_layouts(layer, first.layout, second.layout);
  compare_spectra(layer, first, second);
  if (first.visibility.window != second.visibility.window ||
      first.visibility.sinks != second.visibility.sinks) {
    differ("a query sees", layer, window_text(first.visibility), window_text(second.visibility));
  }
  if (!(first.temperature == second.temperature)) {
    const auto text = [](const Rotary& rotary) {
      const std::string found = temperature_text(rotary.temperature);
      return found.empty() ? std::string("none") : found;
    };
    differ("query scale", layer, text(first), text(second));
  }
  const int64_t trained_a = first.source.trained_length;
  const int64_t trained_b = second.source.trained_length;
  if (trained_a != trained_b && layer == 0) {
    report_.notes.push_back("trained lengths differ: " + std::to_string(trained_a) + " and " +
                            std::to_string(trained_b) + " tokens");
  }
}

// The converter of GGUF files reorders rows from halves to neighbours: then the two mean the same.
void Comparer::compare_layouts(int64_t layer, const PairLayout& first, const PairLayout& second) {
  const bool reordered = is_permuted(report_.a) != is_permuted(report_.b);
  const bool same_size = first.rotary_dim == second.rotary_dim && first.head_dim == second.head_dim;
  if (same_size && first.order == second.order) return;
  if (same_size && reordered) {
    if (layer == 0) {
      report_.notes.push_back(
          "pairs lie in halves in one file and interleaved in the other: the "
          "GGUF converter reorders q and k rows so, and the rotation is the "
          "same");
    }
    return;
  }
  differ("pair layout", layer, order_text(first), order_text(second));
}

// The lengths at which two rules could part: on both sides of every switch.
std::vector<int64_t> lengths_to_compare(const Rotary& first, const Rotary& second, int64_t usable) {
  const auto fixed = [](const Rotary& rotary) {
    return rotary.spectrum.length() == SpectrumRule::Length::kFixed;
  };
  if (fixed(first) && fixed(second)) return {1};
  std::vector<int64_t> lengths = {1, usable};
  for (const Rotary* rotary : {&first, &second}) {
    const int64_t trained = std::max<int64_t>(rotary->source.trained_length, 1);
    lengths.insert(lengths.end(), {trained, trained + 1, 2 * trained, 4 * trained});
  }
  std::ranges::sort(lengths);
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  std::erase_if(lengths, [](int64_t length) { return length < 1; });
  return lengths;
}

std::string decay_text(const Spectrum& spectrum) {
  if (spectrum.decay.empty()) return "none";
  return to_text(spectrum.decay.front()) + " to " + to_text(spectrum.decay.back()) + " per token";
}

void Comparer::compare_spectra(int64_t layer, const Rotary& first, const Rotary& second) {
  const int64_t usable = std::max(a().usable_length, b().usable_length);
  const std::vector<int64_t> lengths = lengths_to_compare(first, second, usable);
  SpectrumParts found;
  for (const int64_t length : lengths) {
    const Spectrum ours = first.spectrum.at(length);
    const Spectrum theirs = second.spectrum.at(length);
    const SpectrumGap gap = spectrum_gap(ours, theirs);
    report_.largest_ratio = std::max(report_.largest_ratio, gap.largest_ratio);
    if (gap.first_pair >= 0 && !report_.parting)
      set_parting(layer, lengths.size() == 1 ? 0 : length, gap, ours, theirs);
    compare_parts(layer, gap, ours, theirs, found);
  }
}

void Comparer::set_parting(int64_t layer, int64_t length, const SpectrumGap& gap,
                           const Spectrum& ours, const Spectrum& theirs) {
  const auto pair = static_cast<size_t>(gap.first_pair);
  const auto rate = [&](const Spectrum& spectrum) {
    return pair < spectrum.turns_per_token.size() ? spectrum.turns_per_token[pair]
                                                  : DoubleDouble(0.0);
  };
  report_.parting = {.layer = layer,
                     .length = length,
                     .pair = gap.first_pair,
                     .position = first_parting(rate(ours), rate(theirs), kPartedRotation),
                     .inv_freq_a = static_cast<double>(kTwoPi * rate(ours)),
                     .inv_freq_b = static_cast<double>(kTwoPi * rate(theirs)),
                     .gap = gap};
}

void Comparer::compare_parts(int64_t layer, const SpectrumGap& gap, const Spectrum& ours,
                             const Spectrum& theirs, SpectrumParts& found) {
  if (!found.amplitude && !same_number(ours.amplitude, theirs.amplitude)) {
    found.amplitude = true;
    differ("amplitude", layer, to_text(ours.amplitude), to_text(theirs.amplitude));
  }
  if (!found.multiplier && !same_number(ours.logit_multiplier, theirs.logit_multiplier)) {
    found.multiplier = true;
    differ("logit multiplier", layer, to_text(ours.logit_multiplier),
           to_text(theirs.logit_multiplier));
  }
  if (!found.decay && gap.first_decay >= 0) {
    found.decay = true;
    differ("decay", layer, decay_text(ours), decay_text(theirs));
  }
  if (!found.axes && ours.axis != theirs.axis) {
    found.axes = true;
    const auto text = [](const Spectrum& spectrum) {
      return spectrum.axis.empty() ? std::string("one") : std::string("several");
    };
    differ("axes", layer, text(ours), text(theirs));
  }
}

// By their strings: a map is what its part of the scheme says.
void Comparer::compare_maps(int64_t layer, const LayerGroup& first, const LayerGroup& second) {
  const auto map_of = [](const LayerGroup& group) {
    if (group.scheme.empty()) return std::string("none");
    ParsedScheme scheme = parse_scheme(group.scheme);
    std::erase_if(scheme.parts, [](const ParsedPart& part) {
      return part.scheme->kind != PartKind::kDistanceMap &&
             part.scheme->kind != PartKind::kPairMask;
    });
    return scheme.is_declared() ? std::string("none") : scheme.text();
  };
  const std::string ours = map_of(first);
  const std::string theirs = map_of(second);
  if (ours != theirs) differ("distance map", layer, ours, theirs);
}

void Comparer::set_curve(int64_t layer) {
  const std::optional<Rotary>& first = a().groups[group_at(a(), layer)].rotary;
  const std::optional<Rotary>& second = b().groups[group_at(b(), layer)].rotary;
  if (!first || !second) return;
  curve_is_set_ = true;
  report_.curve_layer = layer;
  const int64_t usable = std::max({a().usable_length, b().usable_length,
                                   first->source.trained_length, second->source.trained_length});
  const int64_t last = std::clamp<int64_t>(usable - 1, 1, kLongestCurve);
  const Rotary ours = at_length(*first, last + 1);
  const Rotary theirs = at_length(*second, last + 1);
  const Spectrum ours_there = ours.spectrum.at(last + 1);
  const Spectrum theirs_there = theirs.spectrum.at(last + 1);
  const int64_t n_pairs = std::min(ours_there.n_pairs(), theirs_there.n_pairs());
  for (int64_t distance = 1;; distance = std::min(2 * distance, last)) {
    double sum = 0;
    for (int64_t pair = 0; pair < n_pairs; ++pair) {
      const PairAngle x = pair_angle(ours, ours_there, ours_there, pair, last, last - distance);
      const PairAngle y =
          pair_angle(theirs, theirs_there, theirs_there, pair, last, last - distance);
      if (x.silent || y.silent) {
        sum += x.silent == y.silent ? 1 : 0;
      } else {
        sum += cos_sin_of_turns(x.turns - y.turns).cos;
      }
    }
    report_.curve.push_back({distance, sum / static_cast<double>(n_pairs)});
    if (distance >= last) break;
  }
}

}  // namespace

CompareReport compare_files(const std::string& a, const std::string& b) {
  return Comparer({.a = open_declared(a), .b = open_declared(b)}).compare();
}

}  // namespace ropewalk
