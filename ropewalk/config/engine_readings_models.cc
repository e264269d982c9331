// Rows 8, 9, 12, 17, 25 and 26: single models.
// docs/engines.md has the numbers and the sources.
#include <algorithm>
#include <cmath>
#include <utility>

#include "ropewalk/config/engine_readings.h"
#include "ropewalk/math/alibi.h"
#include "ropewalk/math/axes.h"

namespace ropewalk::engine_readings {
namespace {

// Pairs that ggml's interleaved sections leave over turn by a fourth coordinate, which is 0.
std::vector<size_t> left_over_pairs(const std::vector<uint8_t>& axis) {
  const int64_t sections[] = {std::ranges::count(axis, kTimeAxis),
                              std::ranges::count(axis, kHeightAxis),
                              std::ranges::count(axis, kWidthAxis)};
  const std::vector<uint8_t> engine = ggml_interleaved_axes(sections);
  std::vector<size_t> pairs;
  for (size_t pair = 0; pair < std::min(axis.size(), engine.size()); ++pair) {
    if (engine[pair] == kExtraAxis && axis[pair] != kExtraAxis) pairs.push_back(pair);
  }
  return pairs;
}

}  // namespace

MaybeReading olmo3_sliding(const Layers& layers) {
  if (!layers.is_model({"olmo3"}) || layers.group().scheme.find("yarn") != std::string::npos) {
    return {};
  }
  for (const LayerGroup& other : layers.config().groups) {
    if (other.scheme.find("yarn") == std::string::npos) continue;
    const ParsedScheme scaled = parse_scheme(other.scheme);
    return Reading{"plain RoPE in sliding layers", "yarn in all layers",
                   layers.under(scaled.parts.front().text)};
  }
  return {};
}

MaybeReading left_over_axes(const Layers& layers) {
  const bool interleaves = layers.is_family("qwen3_vl") || layers.is_family("qwen3vl") ||
                           layers.is_family("qwen3_5") || layers.is_family("qwen35");
  if (!interleaves) return {};
  Spectrum spectrum = layers.rotary().spectrum.at(1);
  const std::vector<size_t> pairs = left_over_pairs(spectrum.axis);
  if (pairs.empty()) return {};
  std::string names;
  for (const size_t pair : pairs) {
    names += (names.empty() ? "" : ", ") + std::to_string(pair);
    spectrum.turns_per_token[pair] = 0;
  }
  Rotary rotary = layers.rotary();
  rotary.spectrum = SpectrumRule(std::move(spectrum));
  return Reading{"pairs " + names + " turn with time",
                 "they turn with a fourth coordinate, which it fills with 0: they stand still",
                 std::move(rotary)};
}

MaybeReading nemotron_width(const Layers& layers) {
  const ModelShape& shape = layers.config().shape;
  if (!layers.family().cut_from_hidden || shape.n_heads == 0) return {};
  const PairLayout& layout = layers.rotary().layout;
  const double fraction =
      static_cast<double>(layout.rotary_dim) / static_cast<double>(layout.head_dim);
  const auto wide = static_cast<int64_t>(fraction * static_cast<double>(shape.hidden));
  const int64_t width = wide / shape.n_heads;
  if (width == layout.rotary_dim || width < 2 || width % 2 != 0) return {};
  Rotary rotary = layers.rotary();
  rotary.layout.rotary_dim = width;
  rotary.source.frequency_dim = width;
  rotary.spectrum = SpectrumRule(rope_spectrum(rotary.source.base, width, width / 2));
  return Reading{
      std::to_string(layout.rotary_dim) + " rotated coordinates",
      std::to_string(width) + ": its converter takes hidden_size over heads for the head's width",
      std::move(rotary)};
}

MaybeReading alibi_slopes_rounded(const Layers& layers) {
  if (!layers.family().rounds_slopes) return {};
  for (const PositionMechanism& mechanism : layers.config().mechanisms) {
    const auto* const alibi = std::get_if<AlibiBias>(&mechanism);
    if (alibi == nullptr) continue;
    const std::vector<double> rounded = bfloat16_slopes(alibi->slopes);
    double worst = 0;
    for (size_t head = 0; head < rounded.size(); ++head) {
      worst = std::max(worst, std::abs(rounded[head] / alibi->slopes[head] - 1));
    }
    if (worst == 0) return {};
    return Reading{"ALiBi slopes 2^(-8 k / n)",
                   "slopes rounded to bfloat16, off by up to " + short_number(worst) +
                       " of their size; the weights were trained so",
                   {}};
  }
  return {};
}

MaybeReading t5_distance(const Layers& layers) {
  for (const PositionMechanism& mechanism : layers.config().mechanisms) {
    const auto* const buckets = std::get_if<T5Buckets>(&mechanism);
    if (buckets == nullptr || buckets->max_distance == 128) continue;
    return Reading{"buckets up to distance " + std::to_string(buckets->max_distance),
                   "up to 128, whatever the file says",
                   {}};
  }
  return {};
}

// No engine has a decay, or a key for it.
MaybeReading decay_ignored(const Layers& layers) {
  const ParsedPart* const xpos = layers.part({"xpos"});
  if (xpos == nullptr) return {};
  return Reading{xpos->text.substr(0, 100), "the turns alone: no score decays",
                 layers.under("rope")};
}

}  // namespace ropewalk::engine_readings
