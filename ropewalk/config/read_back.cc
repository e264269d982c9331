#include "ropewalk/config/read_back.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "ropewalk/base/error.h"
#include "ropewalk/config/spectrum_form.h"
#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk {
namespace {

constexpr double kUnlike = std::numeric_limits<double>::infinity();

// A frequency of the file is made from up to three numbers in float32, each off by 6e-8 at most.
constexpr double kAllowed = 5e-7;

// A pair that does not turn is written with the divisor 1e30.
constexpr double kStill = 1e-24;

double difference(double wanted, double got) {
  if (std::abs(wanted) < kStill) return std::abs(got) < kStill ? 0 : kUnlike;
  const double off = std::abs(got - wanted) / std::abs(wanted);
  return std::isnan(off) ? kUnlike : off;  // std::max would lose a NaN
}

double difference(const Spectrum& wanted, const Spectrum& got) {
  if (wanted.n_pairs() != got.n_pairs()) return kUnlike;
  double largest = std::max(difference(wanted.amplitude, got.amplitude),
                            difference(wanted.logit_multiplier, got.logit_multiplier));
  for (size_t pair = 0; pair < wanted.turns_per_token.size(); ++pair) {
    largest = std::max(largest, difference(static_cast<double>(wanted.turns_per_token[pair]),
                                           static_cast<double>(got.turns_per_token[pair])));
    const auto p = static_cast<int64_t>(pair);
    largest = std::max(largest, difference(wanted.decay_of(p), got.decay_of(p)));
  }
  return largest;
}

double difference(const QueryTemperature& wanted, const QueryTemperature& got) {
  if (wanted.step_length != got.step_length || wanted.step_offset != got.step_offset ||
      wanted.log_length != got.log_length) {
    return kUnlike;
  }
  return std::max(difference(wanted.factor, got.factor),
                  difference(wanted.step_scale, got.step_scale));
}

bool is_identity(const DistanceMap& map) { return !map.depends_on_length() && map.is_identity(); }

// By the angles of a few hundred pairs of tokens, both turned by the same spectrum.
bool same_maps(const Rotary& wanted, const Rotary& got, int64_t n) {
  if (is_identity(wanted.distance) && is_identity(got.distance)) return true;
  const Spectrum spectrum = wanted.spectrum.at(n);
  const Rotary ours = at_length(wanted, n);
  const Rotary theirs = at_length(got, n);
  const int64_t step = std::max<int64_t>(1, n / 29);
  for (int64_t i = n - 1; i >= 0; i -= step) {
    for (int64_t j = i; j >= 0; j -= step) {
      for (const int64_t pair : {int64_t{0}, spectrum.n_pairs() - 1}) {
        const PairAngle a = pair_angle(ours, spectrum, spectrum, pair, i, j);
        const PairAngle b = pair_angle(theirs, spectrum, spectrum, pair, i, j);
        if (a.silent != b.silent || a.turns != b.turns || a.log_gain != b.log_gain) return false;
      }
    }
  }
  return true;
}

double difference(const Rotary& wanted, const Rotary& got, int64_t target_length) {
  const auto same_layout = [](const PairLayout& a, const PairLayout& b) {
    return a.order == b.order && a.head_dim == b.head_dim && a.rotary_dim == b.rotary_dim;
  };
  if (!same_layout(wanted.layout, got.layout)) return kUnlike;
  if (wanted.visibility.window != got.visibility.window) return kUnlike;
  const int64_t trained = std::max<int64_t>(1, wanted.source.trained_length);
  const int64_t longest = std::max(2 * trained, target_length);
  if (!same_maps(wanted, got, longest)) return kUnlike;
  double largest = difference(wanted.temperature, got.temperature);
  for (const int64_t n : {int64_t{1}, trained, trained + 1, longest}) {
    largest = std::max(largest, difference(wanted.spectrum.at(n), got.spectrum.at(n)));
  }
  return largest;
}

std::optional<Rotary> under(const std::string& scheme, const Rotary& declared) {
  try {
    return apply_scheme(scheme, declared);
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string layers_text(const LayerGroup& group) {
  constexpr size_t kShown = 6;
  std::string text = group.name;
  if (group.layers.empty()) return text;
  text += " (layers ";
  for (size_t i = 0; i < std::min(group.layers.size(), kShown); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(group.layers[i]);
  }
  return text + (group.layers.size() > kShown ? ", ...)" : ")");
}

// ---- refusals

struct Reason {
  std::string why;
  std::string mend;
};

std::string shortened(const std::string& scheme) {
  constexpr size_t kShown = 80;
  return scheme.size() <= kShown ? scheme : scheme.substr(0, kShown) + "...";
}

std::string tokens_text(int64_t count) {
  return count == 0 ? "no steps" : "steps of " + std::to_string(count) + " tokens";
}

bool same_rates(const Rotary& a, const Rotary& b, int64_t n) {
  Spectrum ours = a.spectrum.at(n);
  Spectrum theirs = b.spectrum.at(n);
  ours.amplitude = theirs.amplitude;
  ours.logit_multiplier = theirs.logit_multiplier;
  return difference(ours, theirs) <= kAllowed;
}

// What of the file that would be written is not the scheme's, and what can be had instead.
Reason reason_of(const Rotary& wanted, const LayerGroup& after, bool is_lead) {
  const Rotary& got = *after.rotary;
  const QueryTemperature& steps = wanted.temperature;
  if (steps.step_length != got.temperature.step_length) {
    return {"the model scales its queries by position in " + tokens_text(steps.step_length) +
                ", and the file would say " + tokens_text(got.temperature.step_length) +
                ": that length is told by the block of yarn, which the scheme replaces",
            "yarn with a factor above 1 keeps it"};
  }
  if (steps.log_length != got.temperature.log_length) {
    return {
        "the model scales its queries by the logarithm of the position to the base of its own "
        "length, " +
            std::to_string(steps.log_length) + ", and the file would say " +
            std::to_string(got.temperature.log_length),
        "write it with the length as it is, and tell the engine the new one"};
  }
  const int64_t trained = std::max<int64_t>(1, wanted.source.trained_length);
  bool same = true;
  for (const int64_t n : {int64_t{1}, trained, 2 * trained})
    same = same && same_rates(wanted, got, n);
  if (same) {
    return {
        "a key beside the scaling multiplies logits or changes distances, and stays: the file "
        "would be read as " +
            shortened(after.scheme),
        (after.scheme.find("+dca") == std::string::npos ? "set that key"
                                                        : "set dual_chunk_attention_config") +
            std::string(" to null in a copy of the file first")};
  }
  if (!is_lead) {
    return {"one list or key would serve all layers, and these have the base " +
                to_text(static_cast<double>(got.source.base)) + " of their own",
            "what has keys of its own can be written for the other layers alone: yarn,factor=F or "
            "linear,factor=F"};
  }
  return {"the file would still be read as " + shortened(after.scheme) +
              ": keys that are not of the scaling say so, and stay",
          "set them to false or null in a copy of the file first"};
}

[[noreturn]] void refuse(const WrittenScheme& asked, const LayerGroup& group, double off,
                         const Reason& reason) {
  const std::string layers = group.name.empty() ? "" : " in layers " + group.name;
  throw Error(asked.place,
              "must say the scheme " + asked.scheme.substr(0, 200) + layers +
                  " when it is read back; " + reason.why,
              std::isinf(off) ? "other positions" : "frequencies or logits off by " + to_text(off),
              reason.mend + "; where Ropewalk's own engine runs the model, --scheme needs no file");
}

const Reason kOtherLayers = {"the file would have other groups of layers",
                             "write a scheme that the model type has keys for"};

}  // namespace

ReadBack check_read_back(const WrittenScheme& asked, const ModelConfig& declared,
                         const ModelConfig& written) {
  const LayerGroup& lead = leading_group(declared);
  const bool all = !sees_everything(lead);
  const auto n_rotary = std::ranges::count_if(
      declared.groups, [](const LayerGroup& group) { return group.rotary.has_value(); });
  if (declared.groups.size() != written.groups.size()) refuse(asked, lead, kUnlike, kOtherLayers);
  ReadBack result;
  for (size_t g = 0; g < declared.groups.size(); ++g) {
    const LayerGroup& before = declared.groups[g];
    const LayerGroup& after = written.groups[g];
    if (before.name != after.name || before.rotary.has_value() != after.rotary.has_value()) {
      refuse(asked, before, kUnlike, kOtherLayers);
    }
    if (!before.rotary) continue;
    const std::optional<Rotary> wanted = under(asked.scheme, *before.rotary);
    double off = wanted ? difference(*wanted, *after.rotary, asked.target_length) : kUnlike;
    const double moved = difference(*before.rotary, *after.rotary, asked.target_length);
    const bool may_stay = !all && &before != &lead && !sees_everything(before);
    const bool stays = may_stay && moved <= kAllowed && moved <= off;
    if (stays) off = moved;
    if (!(off <= kAllowed)) {
      refuse(asked, before, off,
             wanted ? reason_of(*wanted, after, &before == &lead)
                    : Reason{"it does not fit these layers", "choose another scheme"});
    }
    result.largest_difference = std::max(result.largest_difference, off);
    if (n_rotary > 1) {
      result.layers.push_back(layers_text(before) +
                              (stays || moved == 0 ? ": as before" : ": the scheme"));
    }
  }
  return result;
}

std::vector<std::string> check_engine(const WrittenScheme& asked, const ModelConfig& declared,
                                      const ModelConfig& written, ModelFormat format,
                                      TargetEngine engine) {
  const std::vector<EngineView> known = engine_views(declared, format, engine, asked.target_length);
  std::vector<std::string> notes;
  for (const EngineView& view : engine_views(written, format, engine, asked.target_length)) {
    const bool was_there = std::ranges::any_of(known, [&](const EngineView& other) {
      return other.rule.name == view.rule.name && other.group == view.group;
    });
    if (was_there) continue;
    const std::string text = to_string(engine) + ": " + view.says + " is taken as " + view.takes;
    const bool by_length = view.rule.name == "longrope_list";
    if (!view.rule.is_note && view.rule.versions.empty() && !by_length) {
      throw Error(asked.place,
                  "must be taken by " + to_string(engine) + " as the scheme has it: " + view.says,
                  view.takes, "Ropewalk's own engine runs it");
    }
    notes.push_back(
        view.rule.versions.empty() ? text : text + " (" + std::string(view.rule.versions) + ")");
  }
  return notes;
}

}  // namespace ropewalk
