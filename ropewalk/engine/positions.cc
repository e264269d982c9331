#include "ropewalk/engine/positions.h"

#include <algorithm>

#include "ropewalk/base/error.h"
#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk {
namespace {

bool same(const Spectrum& a, const Spectrum& b) {
  return a.turns_per_token == b.turns_per_token && a.amplitude == b.amplitude &&
         a.logit_multiplier == b.logit_multiplier;
}

// The first row of one scheme that sees another spectrum at the new length.
int64_t first_stale_row(const SpectrumRule& rule, int64_t before, int64_t after) {
  int64_t candidate = before;
  if (rule.length() == SpectrumRule::Length::kSequence) candidate = 0;
  if (rule.length() == SpectrumRule::Length::kBlock)
    candidate = before / rule.block() * rule.block();
  if (candidate >= before) return before;
  const Spectrum old_one = rule.at(rule.length_for_row(candidate, before));
  const Spectrum new_one = rule.at(rule.length_for_row(candidate, after));
  return same(old_one, new_one) ? before : candidate;
}

const char* const kNoPositions = "";  // no scheme string is empty

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
  std::vector<std::vector<std::string>> applied(
      config.layers.size());                    // the schemes laid on each layer, in order
  std::vector<std::vector<std::string>> known;  // of positions.schemes
  const size_t n_layers = config.layers.size();
  for (const LayerScheme& change : changes) {
    const bool to_the_end = change.last == SIZE_MAX;
    if (change.first > change.last || (to_the_end ? change.first : change.last) >= n_layers) {
      throw Error("layers", "must lie within 0:" + std::to_string(config.layers.size() - 1),
                  std::to_string(change.first) + ":" + std::to_string(change.last));
    }
    for (size_t layer = change.first; layer <= std::min(change.last, config.layers.size() - 1);
         ++layer) {
      applied[layer].push_back(change.scheme);
    }
  }
  for (size_t layer = 0; layer < config.layers.size(); ++layer) {
    const bool rotary = config.layers[layer].has_value();
    if (!rotary) applied[layer] = {kNoPositions};
    size_t index = 0;
    while (index < known.size() && known[index] != applied[layer]) ++index;
    if (index == known.size()) {
      Rotary scheme = rotary ? *config.layers[layer] : without_positions(config.shape.head_dim);
      if (rotary) {
        for (const std::string& text : applied[layer]) scheme = apply_scheme(text, scheme);
      }
      refuse_impossible(scheme, angles);
      positions.schemes.push_back(std::move(scheme));
      known.push_back(applied[layer]);
    }
    positions.layers.push_back(index);
  }
  return positions;
}

int64_t first_stale_row(const Positions& positions, int64_t before, int64_t after) {
  int64_t first = before;
  for (const Rotary& rotary : positions.schemes)
    first = std::min(first, first_stale_row(rotary.spectrum, before, after));
  return first;
}

}  // namespace ropewalk
