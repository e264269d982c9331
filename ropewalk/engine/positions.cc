#include "ropewalk/engine/positions.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk {
namespace {

bool same(const Spectrum& a, const Spectrum& b) {
  return a.turns_per_token == b.turns_per_token && a.decay == b.decay &&
         a.amplitude == b.amplitude && a.logit_multiplier == b.logit_multiplier;
}

// The first row of one scheme that sees another spectrum, or other distances, at the new length.
int64_t first_stale_row(const Rotary& rotary, int64_t before, int64_t after) {
  const SpectrumRule& rule = rotary.spectrum;
  int64_t candidate = before;
  if (rule.length() == SpectrumRule::Length::kSequence) candidate = 0;
  if (rule.length() == SpectrumRule::Length::kBlock)
    candidate = before / rule.block() * rule.block();
  if (candidate >= before) return before;
  const int64_t old_length = rule.length_for_row(candidate, before);
  const int64_t new_length = rule.length_for_row(candidate, after);
  const DistanceMap& map = rotary.distance;
  const bool same_distances =
      !map.depends_on_length() || map.for_length(old_length) == map.for_length(new_length);
  return same_distances && same(rule.at(old_length), rule.at(new_length)) ? before : candidate;
}

// One pair that stands still: every key looks the same from everywhere.
Rotary without_positions(int64_t head_dim) {
  Rotary still;
  still.layout = {.head_dim = head_dim, .rotary_dim = 2};
  still.spectrum = SpectrumRule(spectrum_of({DoubleDouble()}));
  return still;
}

// What the kernels have no form for.
void refuse_impossible(const Rotary& rotary, AngleMode angles) {
  const char* const place = "scheme";
  const bool every_token = rotary.spectrum.length() == SpectrumRule::Length::kToken;
  if (every_token && rotary.distance.is_curve()) {
    throw Error(place, "a spectrum of its own for every token goes with no exact curve", "both",
                "give the distance map pieces=, or take another spectrum");
  }
  if (every_token && rotary.mask.past != PairMask::Past::kHeard) {
    throw Error(place, "a spectrum of its own for every token goes with no pair mask", "both",
                "take another spectrum, or no mask");
  }
  if (angles == AngleMode::kFloat32 && rotary.distance.is_curve()) {
    throw Error("--angles", "float32 reproduces engines that have no exact curve", "an exact curve",
                "give the distance map pieces=, or take exact angles");
  }
}

}  // namespace

Positions make_positions(const ModelConfig& config, const std::vector<LayerScheme>& changes,
                         AngleMode angles) {
  Positions positions;
  positions.angles = angles;
  const size_t n_layers = config.group_of_layer.size();
  std::vector<std::vector<std::string>> applied(n_layers);  // the schemes laid on each, in order
  for (const LayerScheme& change : changes) {
    const bool to_the_end = change.last == SIZE_MAX;
    if (change.first > change.last || (to_the_end ? change.first : change.last) >= n_layers) {
      throw Error("layers", "must lie within 0:" + std::to_string(n_layers - 1),
                  std::to_string(change.first) + ":" + std::to_string(change.last));
    }
    for (size_t layer = change.first; layer <= std::min(change.last, n_layers - 1); ++layer) {
      applied[layer].push_back(change.scheme);
    }
  }
  // Layers of the same group with the same schemes share one entry of positions.schemes.
  std::map<std::pair<int32_t, std::vector<std::string>>, size_t> known;
  for (size_t layer = 0; layer < n_layers; ++layer) {
    const std::optional<Rotary>& declared = config.layer(layer);
    if (!declared) applied[layer].clear();
    const auto [entry, is_new] = known.try_emplace(
        std::pair(config.group_of_layer[layer], applied[layer]), positions.schemes.size());
    if (is_new) {
      Rotary scheme = declared ? *declared : without_positions(config.shape.head_dim);
      for (const std::string& text : applied[layer]) scheme = apply_scheme(text, scheme);
      if (!declared) {
        scheme.temperature = config.groups[config.group_of_layer[layer]].temperature;
      }
      // Of a head that rotates in part, the engine keeps that part first.
      scheme.layout.head_dim = std::max(scheme.layout.head_dim, config.shape.head_dim);
      refuse_impossible(scheme, angles);
      positions.schemes.push_back(std::move(scheme));
    }
    positions.layers.push_back(entry->second);
  }
  return positions;
}

int64_t first_stale_row(const Positions& positions, int64_t before, int64_t after) {
  int64_t first = before;
  for (const Rotary& rotary : positions.schemes)
    first = std::min(first, first_stale_row(rotary, before, after));
  return first;
}

}  // namespace ropewalk
