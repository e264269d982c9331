// The rules are those of docs/engines.md, in its order and numbers; sources stand there.
#include "ropewalk/config/engine_views.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "ropewalk/config/engine_readings.h"

namespace ropewalk {
namespace {

namespace rules = engine_readings;

constexpr TargetEngine kLlamaCpp = TargetEngine::kLlamaCpp;
constexpr TargetEngine kVllm = TargetEngine::kVllm;
constexpr TargetEngine kTransformers = TargetEngine::kTransformers;

struct Row {
  EngineRule rule;
  // Null: told by engine_views_of().
  rules::MaybeReading (*read)(const rules::Layers& layers) = nullptr;
  bool of_rotary = true;  // asked of rotary groups only
};

constexpr const char* kOldConverter = "converters up to May 2026";
constexpr const char* kOldTransformers5 = "transformers 5.0, mended by 5.24";

const Row kRows[] = {
    {{1, kLlamaCpp, "yarn_truncate", {}}, rules::yarn_truncate},
    {{2, kLlamaCpp, "yarn_betas", {}}, rules::yarn_betas},
    {{3, kLlamaCpp, "yarn_attention_factor", {}}, rules::attention_factor_llama_cpp},
    {{3, kVllm, "yarn_attention_factor", {}}, rules::attention_factor_vllm},
    {{3, kTransformers, "yarn_attn_factor", {}}, rules::attention_factor_transformers},
    {{4, kTransformers, "yarn_ratio", "transformers 4.46 to 4.5x"}, rules::yarn_ratio},
    {{5, kLlamaCpp, "dynamic", {}}, rules::dynamic_llama_cpp},
    {{5, kVllm, "dynamic", {}}, rules::dynamic_vllm},
    {{6, kLlamaCpp, "longrope_list", {}}, rules::lists_llama_cpp},
    {{6, kVllm, "longrope_list", {}}, rules::lists_vllm},
    {{7, kTransformers, "deepseek_v2_logits", kOldTransformers5}, rules::deepseek_v2_logits},
    {{8, kTransformers, "olmo3_sliding", kOldTransformers5}, rules::olmo3_sliding},
    {{9, kLlamaCpp, "interleaved_axes", {}}, rules::left_over_axes},
    {{10, kLlamaCpp, "hunyuan_length", {}, true}, rules::alpha_length},
    {{10, kTransformers, "hunyuan_alpha", kOldTransformers5}, rules::alpha_lost},
    {{11, kLlamaCpp, "llama3_original", kOldConverter}, rules::llama3_original},
    {{12, kLlamaCpp, "nemotron_width", {}}, rules::nemotron_width},
    {{13, kLlamaCpp, "ntk_type", {}}, rules::unknown_type_dropped},
    {{13, kTransformers, "ntk_type", {}}, rules::other_ntk},
    {{14, kLlamaCpp, "proportional_factor", {}}, rules::proportional_factor},
    {{14, kVllm, "proportional_factor", {}}, rules::proportional_factor},
    {{15, kLlamaCpp, "type_conflict", {}}, nullptr},
    {{15, kVllm, "type_conflict", {}}, nullptr},
    {{15, kTransformers, "type_conflict", {}}, nullptr},
    {{16, kLlamaCpp, "distance_map", {}}, rules::maps_ignored},
    {{16, kTransformers, "distance_map", {}}, rules::maps_ignored},
    {{17, kTransformers, "alibi_bfloat16", {}}, rules::alibi_slopes_rounded, false},
    {{18, kLlamaCpp, "nested_scaling", {}}, rules::nested_half_read},
    {{18, kTransformers, "nested_block", kOldTransformers5}, rules::nested_ignored},
    {{19, kTransformers, "dynamic_state", {}, true}, rules::state_sticks},
    {{20, kVllm, "gguf_scaling", "without a config.json beside the file"},
     rules::gguf_scaling_unread},
    {{20, kTransformers, "gguf_scaling", {}}, rules::gguf_scaling_unread},
    {{21, kVllm, "yarn_mscale", {}}, rules::vllm_mscale},
    {{22, kVllm, "longrope_amplitude", {}}, rules::vllm_list_amplitude},
    {{23, kLlamaCpp, "llama3_dropped", {}}, rules::llama3_dropped},
    {{24, kLlamaCpp, "logn", {}}, rules::logn_ignored},
    {{24, kVllm, "logn", {}}, rules::logn_ignored},
    {{25, kLlamaCpp, "t5_distance", {}}, rules::t5_distance, false},
    {{26, kLlamaCpp, "xpos", {}}, rules::decay_ignored},
    {{26, kVllm, "xpos", {}}, rules::decay_ignored},
    {{26, kTransformers, "xpos", {}}, rules::decay_ignored},
};

bool is_fixed(const Rotary& rotary) {
  return rotary.spectrum.length() == SpectrumRule::Length::kFixed;
}

// Of several lengths, the one at which the readings are farthest apart: where both end, where the
// file's trained length ends, and past it.
EngineGap widest_gap(const rules::Layers& layers, const Rotary& taken) {
  const Rotary& file = layers.rotary();
  const bool fixed = is_fixed(file) && is_fixed(taken);
  const int64_t trained = std::max<int64_t>(layers.trained(), 1);
  std::vector<int64_t> lengths = {trained};
  if (!fixed) lengths.insert(lengths.end(), {trained + 1, 2 * trained, layers.context(), 1});
  EngineGap widest;
  double most = -1;
  for (const int64_t length : lengths) {
    if (length < 1) continue;
    const Spectrum ours = file.spectrum.at(length);
    const Spectrum theirs = taken.spectrum.at(length);
    EngineGap gap{.length = fixed ? 0 : length,
                  .spectrum = spectrum_gap(ours, theirs),
                  .amplitude_ratio = theirs.amplitude / ours.amplitude,
                  .multiplier_ratio = theirs.logit_multiplier / ours.logit_multiplier};
    const double size = gap.spectrum.largest_ratio + std::abs(std::log(gap.amplitude_ratio)) +
                        std::abs(std::log(gap.multiplier_ratio));
    if (size <= most) continue;
    most = size;
    widest = gap;
  }
  return widest;
}

void add_view(const Row& row, const rules::Layers& layers, size_t group,
              std::vector<EngineView>& views) {
  if (row.read == nullptr || (row.of_rotary && !layers.is_rotary())) return;
  rules::MaybeReading reading = row.read(layers);
  if (!reading) return;
  EngineView view{row.rule, group, std::move(reading->says), std::move(reading->takes), {}};
  if (reading->rotary) view.gap = widest_gap(layers, *reading->rotary);
  // A reading that comes to the same, as a ramp whose ends happen to be whole, is none.
  if (view.gap && view.gap->spectrum.same() && rules::same_size(view.gap->amplitude_ratio, 1) &&
      rules::same_size(view.gap->multiplier_ratio, 1)) {
    return;
  }
  views.push_back(std::move(view));
}

}  // namespace

std::vector<EngineRule> engine_rules() {
  std::vector<EngineRule> rules;
  for (const Row& row : kRows) rules.push_back(row.rule);
  return rules;
}

std::vector<EngineView> engine_views(const ModelConfig& config, ModelFormat format,
                                     TargetEngine engine, int64_t context) {
  std::vector<EngineView> views;
  for (const Row& row : kRows) {
    if (row.rule.engine != engine) continue;
    // What is about the whole model is told once.
    const size_t n_groups = row.of_rotary ? config.groups.size() : 1;
    for (size_t group = 0; group < n_groups; ++group) {
      add_view(row, rules::Layers(config, format, group, context), group, views);
    }
  }
  return views;
}

std::vector<EngineView> engine_views(const ModelConfig& config, ModelFormat format,
                                     int64_t context) {
  std::vector<EngineView> views;
  for (const TargetEngine engine : kTargetEngines) {
    std::vector<EngineView> more = engine_views(config, format, engine, context);
    std::ranges::move(more, std::back_inserter(views));
  }
  return views;
}

std::vector<std::string> engine_views_of(const Error& fault) {
  const std::string& place = fault.place();
  const bool about_type = place.ends_with("rope_type") || place.ends_with(".type");
  if (fault.kind() != FaultKind::kConflict || !about_type) return {};
  return {"llama.cpp: rope_type of rope_parameters wins, else type",
          "vllm: refuses two types that differ, unless they are su and longrope, or mrope and "
          "default",
          "transformers: rope_type wins, without a word"};
}

bool says_more(const EngineView& view, const Finding& finding) {
  return view.rule.number == finding.engine_rule;
}

std::string to_text(const EngineGap& gap) {
  std::string text;
  if (gap.spectrum.first_pair >= 0) {
    const double ratio = gap.spectrum.largest_ratio;
    text = "pairs from " + std::to_string(gap.spectrum.first_pair) + " on turn otherwise, " +
           (std::isinf(ratio) ? "pair " + std::to_string(gap.spectrum.worst_pair) + " not at all"
                              : "by up to " + rules::short_number(ratio) + " times at pair " +
                                    std::to_string(gap.spectrum.worst_pair));
  }
  if (gap.spectrum.first_decay >= 0) {
    text += (text.empty() ? "" : "; ") + std::string("pairs from ") +
            std::to_string(gap.spectrum.first_decay) + " on decay otherwise";
  }
  const auto add = [&](const std::string& what, double ratio) {
    if (ratio == 1) return;
    text +=
        (text.empty() ? "" : "; ") + what + " " + rules::short_number(ratio) + " times the file's";
  };
  add("amplitude", gap.amplitude_ratio);
  add("logits", gap.multiplier_ratio);
  if (gap.length != 0) text += ", in a sequence of " + std::to_string(gap.length) + " tokens";
  return text;
}

}  // namespace ropewalk
