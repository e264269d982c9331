// How engines read a group of layers where that is not what its file says: the rules of engine_views(),
// one function each.
#ifndef ROPEWALK_CONFIG_ENGINE_READINGS_H_
#define ROPEWALK_CONFIG_ENGINE_READINGS_H_

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "ropewalk/config/engine_table.h"
#include "ropewalk/config/hf_families.h"
#include "ropewalk/config/model_config.h"
#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk::engine_readings {

// What a rule finds in a group of layers.
struct Reading {
  std::string says;
  std::string takes;
  std::optional<Rotary> rotary;  // what the engine computes; nothing: not worked out
};

using MaybeReading = std::optional<Reading>;

// A group of layers, with what rules ask of it.
class Layers {
 public:
  Layers(const ModelConfig& config, ModelFormat format, size_t group, int64_t context)
      : config_(config), format_(format), group_(config.groups[group]), context_(context) {
    if (group_.rotary && !group_.scheme.empty()) parsed_ = parse_scheme(group_.scheme);
  }

  const ModelConfig& config() const { return config_; }
  const LayerGroup& group() const { return group_; }
  const Rotary& rotary() const { return *group_.rotary; }
  bool is_rotary() const { return group_.rotary.has_value(); }
  bool is_gguf() const { return format_ == ModelFormat::kGguf; }
  int64_t trained() const { return rotary().source.trained_length; }
  int64_t context() const { return context_ > 0 ? context_ : config_.usable_length; }

  bool is_model(std::initializer_list<std::string_view> names) const {
    return std::ranges::any_of(names,
                               [&](std::string_view name) { return config_.architecture == name; });
  }
  bool is_family(std::string_view prefix) const {
    return std::string_view(config_.architecture).starts_with(prefix);
  }

  // What a config.json's model type is known for; nothing of it under a GGUF file.
  const HfFamily& family() const;

  // The part of the group's scheme that is one of `names`; null where there is none.
  const ParsedPart* part(std::initializer_list<std::string_view> names) const {
    for (const ParsedPart& part : parsed_.parts) {
      if (std::ranges::find(names, part.scheme->name) != names.end()) return &part;
    }
    return nullptr;
  }
  const ParsedPart* part(PartKind kind) const {
    const auto found = std::ranges::find_if(
        parsed_.parts, [&](const ParsedPart& part) { return part.scheme->kind == kind; });
    return found == parsed_.parts.end() ? nullptr : &*found;
  }

  // The field that a reader gave this name, of the group or of the whole model; null where none.
  const DeclaredField* field(std::string_view name) const;
  bool comes_from(std::string_view name, std::string_view key) const {
    const DeclaredField* const found = field(name);
    return found != nullptr && found->from.find(key) != std::string::npos;
  }

  // The group's rotary positions under another spectrum, everything else as it is; nothing where
  // the two do not fit.
  std::optional<Rotary> under(const std::string& spectrum) const;

 private:
  const ModelConfig& config_;
  ModelFormat format_;
  const LayerGroup& group_;
  int64_t context_;
  ParsedScheme parsed_;
};

// ---- what the rules share

// Four digits: for ratios.
std::string short_number(double number);
double number(const ParsedPart& part, const std::string& name);
// But for the digits that a file leaves out of a number that others compute.
bool same_size(double a, double b);
std::string amplitude_text(const std::optional<Rotary>& rotary);
const ParsedPart* index_yarn(const Layers& layers);
MaybeReading dropped(const Layers& layers, const ParsedPart* part, const std::string& why);

// ---- the rules: nothing where the engine reads what the file says

MaybeReading yarn_truncate(const Layers& layers);
MaybeReading yarn_betas(const Layers& layers);
MaybeReading attention_factor_llama_cpp(const Layers& layers);
MaybeReading attention_factor_vllm(const Layers& layers);
MaybeReading attention_factor_transformers(const Layers& layers);
MaybeReading yarn_ratio(const Layers& layers);
MaybeReading deepseek_v2_logits(const Layers& layers);
MaybeReading vllm_mscale(const Layers& layers);

MaybeReading dynamic_llama_cpp(const Layers& layers);
MaybeReading dynamic_vllm(const Layers& layers);
MaybeReading lists_llama_cpp(const Layers& layers);
MaybeReading lists_vllm(const Layers& layers);
MaybeReading vllm_list_amplitude(const Layers& layers);
MaybeReading state_sticks(const Layers& layers);
MaybeReading alpha_lost(const Layers& layers);
MaybeReading alpha_length(const Layers& layers);

MaybeReading olmo3_sliding(const Layers& layers);
MaybeReading left_over_axes(const Layers& layers);
MaybeReading nemotron_width(const Layers& layers);
MaybeReading alibi_slopes_rounded(const Layers& layers);
MaybeReading t5_distance(const Layers& layers);
MaybeReading decay_ignored(const Layers& layers);

MaybeReading llama3_original(const Layers& layers);
MaybeReading llama3_dropped(const Layers& layers);
MaybeReading other_ntk(const Layers& layers);
MaybeReading unknown_type_dropped(const Layers& layers);
MaybeReading proportional_factor(const Layers& layers);
MaybeReading maps_ignored(const Layers& layers);
MaybeReading logn_ignored(const Layers& layers);
MaybeReading nested_ignored(const Layers& layers);
MaybeReading nested_half_read(const Layers& layers);
MaybeReading gguf_scaling_unread(const Layers& layers);

}  // namespace ropewalk::engine_readings

#endif  // ROPEWALK_CONFIG_ENGINE_READINGS_H_
