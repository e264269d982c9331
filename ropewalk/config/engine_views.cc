// The rules are those of docs/engines.md, in its order and numbers; sources stand there.
#include "ropewalk/config/engine_views.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
#include <utility>

#include "ropewalk/math/alibi.h"
#include "ropewalk/math/axes.h"
#include "ropewalk/schemes/param_value.h"

namespace ropewalk {
namespace {

constexpr TargetEngine kLlamaCpp = TargetEngine::kLlamaCpp;
constexpr TargetEngine kVllm = TargetEngine::kVllm;
constexpr TargetEngine kTransformers = TargetEngine::kTransformers;

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
  const DeclaredField* field(std::string_view name) const {
    for (const auto* fields : {&group_.fields, &config_.fields}) {
      const auto found = std::ranges::find(*fields, name, &DeclaredField::name);
      if (found != fields->end()) return &*found;
    }
    return nullptr;
  }
  bool comes_from(std::string_view name, std::string_view key) const {
    const DeclaredField* const found = field(name);
    return found != nullptr && found->from.find(key) != std::string::npos;
  }
  double number(std::string_view name) const {
    const DeclaredField* const found = field(name);
    return found == nullptr ? 0 : std::strtod(found->value.c_str(), nullptr);
  }

  // The group's rotary positions under another spectrum, everything else as it is; nothing where
  // the two do not fit.
  std::optional<Rotary> under(const std::string& spectrum) const {
    try {
      return apply_scheme(spectrum, rotary());
    } catch (const Error&) {
      return std::nullopt;
    }
  }

 private:
  const ModelConfig& config_;
  ModelFormat format_;
  const LayerGroup& group_;
  int64_t context_;
  ParsedScheme parsed_;
};

// Four digits: for ratios.
std::string short_number(double number) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g", number);
  return text;
}

double number(const ParsedPart& part, const std::string& name) {
  return static_cast<double>(part.params.number(name));
}

// A part's text with one parameter replaced, or left out where `value` is empty.
std::string changed(std::string text, const std::string& name, const std::string& value) {
  const size_t start = text.find("," + name + "=");
  if (start != std::string::npos) {
    text.erase(start, std::min(text.find(',', start + 1), text.size()) - start);
  }
  return value.empty() ? text : text + "," + name + "=" + value;
}

// But for the digits that a file leaves out of a number that others compute.
bool same_size(double a, double b) { return std::abs(a / b - 1) < 1e-9; }

std::string amplitude_text(const std::optional<Rotary>& rotary) {
  return rotary ? "amplitude " + to_text(rotary->spectrum.at(1).amplitude) : "another amplitude";
}

// ---- rows 1 to 4: YaRN

const ParsedPart* index_yarn(const Layers& layers) {
  const ParsedPart* const yarn = layers.part({"yarn"});
  return yarn != nullptr && yarn->params.choice("ramp") == "index" ? yarn : nullptr;
}

MaybeReading yarn_truncate(const Layers& layers) {
  const ParsedPart* const yarn = index_yarn(layers);
  if (yarn == nullptr || yarn->params.choice("truncate") == "true") return {};
  return Reading{"truncate false: the ramp runs between fractions of a pair",
                 "ends of the ramp rounded to whole pairs, as always",
                 layers.under(changed(yarn->text, "truncate", {}))};
}

MaybeReading yarn_betas(const Layers& layers) {
  const ParsedPart* const yarn = index_yarn(layers);
  if (yarn == nullptr || llama_cpp_loads(layers.config().architecture).yarn_betas) return {};
  const double fast = number(*yarn, "beta_fast");
  const double slow = number(*yarn, "beta_slow");
  if (fast == 32 && slow == 1) return {};
  const std::string usual = changed(changed(yarn->text, "beta_fast", {}), "beta_slow", {});
  return Reading{"beta_fast " + to_text(fast) + ", beta_slow " + to_text(slow),
                 "32 and 1: its loader does not read the betas of this architecture",
                 layers.under(usual)};
}

MaybeReading without_attention_factor(const Layers& layers, const std::string& why) {
  const ParsedPart* const yarn = index_yarn(layers);
  if (yarn == nullptr || layers.is_gguf() || !yarn->params.has("attention_factor")) return {};
  const std::optional<Rotary> rotary = layers.under(changed(yarn->text, "attention_factor", {}));
  if (rotary &&
      same_size(rotary->spectrum.at(1).amplitude, layers.rotary().spectrum.at(1).amplitude)) {
    return {};
  }
  return Reading{"attention_factor " + to_text(number(*yarn, "attention_factor")),
                 amplitude_text(rotary) + ": " + why, rotary};
}

MaybeReading attention_factor_llama_cpp(const Layers& layers) {
  return without_attention_factor(layers, "it computes its own from the factor");
}

// The key of vLLM's own that the amplitude is from; empty where it is from attention_factor.
std::string amplitude_key_of_vllm(const Layers& layers) {
  if (layers.comes_from("attention_factor", "attn_factor")) return "attn_factor";
  if (layers.field("attention_factor") != nullptr) return {};
  for (const char* key : {"attn_factor", "apply_yarn_scaling"}) {
    if (layers.field(key) != nullptr) return key;
  }
  return {};
}

MaybeReading attention_factor_vllm(const Layers& layers) {
  if (!amplitude_key_of_vllm(layers).empty()) return {};
  return without_attention_factor(layers,
                                  "it reads the key attn_factor only, and multiplies by it");
}

MaybeReading attention_factor_transformers(const Layers& layers) {
  const std::string key = amplitude_key_of_vllm(layers);
  if (key.empty()) return {};
  return without_attention_factor(layers, "it does not know the key " + key);
}

MaybeReading yarn_ratio(const Layers& layers) {
  const ParsedPart* const yarn = index_yarn(layers);
  if (yarn == nullptr || layers.is_gguf() || !yarn->params.has("original")) return {};
  const double longest = layers.number("context_length");
  const auto original = static_cast<double>(yarn->params.integer("original"));
  const double factor = number(*yarn, "factor");
  if (longest < original || longest / original == factor) return {};
  const std::string ratio = to_text(longest / original);
  return Reading{"factor " + to_text(factor),
                 "factor " + ratio + ": max_position_embeddings over the original length",
                 layers.under(changed(yarn->text, "factor", ratio))};
}

// ---- row 5, 6: frequencies that go by the length

MaybeReading dropped(const Layers& layers, const ParsedPart* part, const std::string& why) {
  if (part == nullptr) return {};
  return Reading{part->text.substr(0, 100), "plain RoPE: " + why, layers.under("rope")};
}

MaybeReading dynamic_llama_cpp(const Layers& layers) {
  return dropped(layers, layers.part({"dynamic_ntk", "qwen_dynamic_ntk", "dynamic_yarn"}),
                 "it makes its frequencies once and knows no scaling by length");
}

MaybeReading dynamic_vllm(const Layers& layers) {
  if (layers.comes_from("trained_length", "max_trained_positions") ||
      layers.field("max_trained_positions") != nullptr) {
    return {};
  }
  if (const ParsedPart* const part = layers.part({"qwen_dynamic_ntk", "dynamic_yarn"})) {
    return dropped(layers, part, "it knows no such rule");
  }
  return dropped(layers, layers.part({"dynamic_ntk"}),
                 "it scales by its longest length over max_trained_positions, which is the same "
                 "where the key is absent");
}

bool has_two_lists(const ParsedPart& longrope) {
  return longrope.params.numbers("long") != longrope.params.numbers("short");
}

MaybeReading list_by_context(const Layers& layers, const std::string& option) {
  const ParsedPart* const longrope = layers.part({"longrope"});
  if (longrope == nullptr || !has_two_lists(*longrope)) return {};
  const int64_t trained = layers.trained();
  if (layers.context() <= trained) return {};
  // The long list for everything: as if no sequence were short.
  Rotary always_long = layers.rotary();
  always_long.spectrum = SpectrumRule(layers.rotary().spectrum.at(trained + 1));
  return Reading{"the short list up to " + std::to_string(trained) + " tokens, by the sequence",
                 "the long list for all sequences, short ones too: " + option + " " +
                     std::to_string(layers.context()) + " is above " + std::to_string(trained),
                 std::move(always_long)};
}

MaybeReading lists_llama_cpp(const Layers& layers) {
  if (!llama_cpp_loads(layers.config().architecture).factor_lists) {
    return dropped(layers, layers.part({"longrope"}), "it loads no lists under this architecture");
  }
  return list_by_context(layers, "-c");
}

MaybeReading lists_vllm(const Layers& layers) { return list_by_context(layers, "max_model_len"); }

// ---- rows 7 to 12: single models

MaybeReading deepseek_v2_logits(const Layers& layers) {
  const ParsedPart* const yarn = index_yarn(layers);
  if (yarn == nullptr || !layers.is_model({"deepseek_v2"})) return {};
  if (yarn->params.choice("mscale_logits") == "false") return {};
  return Reading{"logits times " + to_text(layers.rotary().spectrum.at(1).logit_multiplier),
                 "logits times 1: the class lacks the square of mscale_all_dim's magnitude",
                 layers.under(changed(yarn->text, "mscale_logits", {}))};
}

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

MaybeReading alpha_lost(const Layers& layers) {
  const ParsedPart* const ntk = layers.part({"ntk"});
  if (ntk == nullptr || !layers.is_family("hunyuan")) return {};
  return Reading{
      "a base scaled by alpha " + to_text(number(*ntk, "factor")) + " at any length",
      "past " + std::to_string(layers.trained()) + " tokens the base is made anew without alpha",
      layers.under("dynamic_ntk,block=all,factor=1")};
}

MaybeReading alpha_length(const Layers& layers) {
  const ParsedPart* const ntk = layers.part({"ntk"});
  constexpr int64_t kClaimed = 262144;
  if (ntk == nullptr || layers.is_gguf() || !layers.is_family("hunyuan_v1")) return {};
  if (layers.config().usable_length == kClaimed) return {};
  return Reading{std::to_string(layers.config().usable_length) + " tokens",
                 "context_length 262144, and alpha folded into rope.freq_base as a float32",
                 {}};
}

MaybeReading llama3_original(const Layers& layers) {
  const ParsedPart* const llama3 = layers.part({"llama3"});
  if (llama3 == nullptr || layers.is_gguf()) return {};
  if (!llama_cpp_loads_rope_freqs(layers.config().architecture)) return {};
  const DeclaredField* const original = layers.field("original_length");
  // In a block of config.json, not at the top of the text model, which may be "text_config.".
  const bool inside = layers.comes_from("original_length", "rope_scaling.") ||
                      layers.comes_from("original_length", "rope_parameters.");
  if (!inside || original->value == "8192") return {};
  return Reading{"original length " + original->value,
                 "8192: its converter looked for the key at the top level only",
                 layers.under(changed(llama3->text, "original", "8192"))};
}

MaybeReading llama3_dropped(const Layers& layers) {
  if (llama_cpp_loads_rope_freqs(layers.config().architecture)) return {};
  return dropped(layers, layers.part({"llama3"}),
                 "it loads no rope_freqs.weight under this architecture");
}

MaybeReading nemotron_width(const Layers& layers) {
  const ModelShape& shape = layers.config().shape;
  if (!layers.is_model({"nemotron"}) || layers.is_gguf() || shape.n_heads == 0) return {};
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

// ---- rows 13 to 19

MaybeReading other_ntk(const Layers& layers) {
  const ParsedPart* const part = layers.part({"ntk_fixed", "ntk_mixed", "part_ntk"});
  if (part == nullptr || layers.is_gguf()) return {};
  return Reading{part->text, "refuses the file: it knows no such rope_type", {}};
}

MaybeReading unknown_type_dropped(const Layers& layers) {
  return dropped(layers, layers.part({"ntk_fixed", "ntk_mixed", "part_ntk"}),
                 "its converter logs an unknown type and goes on");
}

MaybeReading proportional_factor(const Layers& layers) {
  const ParsedPart* const part = layers.part({"proportional"});
  if (part == nullptr || number(*part, "factor") == 1) return {};
  return Reading{"factor " + to_text(number(*part, "factor")), "no factor: it ignores the key",
                 layers.under(changed(part->text, "factor", {}))};
}

// Chunked attention and multipliers by length: declared by Qwen2.5-1M and Qwen-1.
MaybeReading maps_ignored(const Layers& layers) {
  const ParsedPart* const map = layers.part(PartKind::kDistanceMap);
  const ParsedPart* const multiplier = layers.part({"length_temperature"});
  const ParsedPart* const part = map != nullptr ? map : multiplier;
  if (part == nullptr) return {};
  return Reading{part->text, "nothing of it: every token sees the true distance, unscaled", {}};
}

MaybeReading logn_ignored(const Layers& layers) {
  const ParsedPart* const logn = layers.part({"logn"});
  if (logn == nullptr) return {};
  return Reading{logn->text, "queries unscaled: it does not read use_logn_attn", {}};
}

MaybeReading alibi_slopes_rounded(const Layers& layers) {
  if (!layers.is_model({"falcon", "RefinedWeb", "RefinedWebModel"})) return {};
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

bool is_nested(const Layers& layers) {
  const LayerGroup& group = layers.group();
  if (layers.is_gguf() || group.name.empty()) return false;
  return std::ranges::any_of(group.fields, [&](const DeclaredField& field) {
    return field.from.find("rope_parameters." + group.name + ".") != std::string::npos;
  });
}

MaybeReading nested_ignored(const Layers& layers) {
  const bool converts = layers.is_family("gemma3") || layers.is_family("gemma4") ||
                        layers.is_family("modernbert") || layers.is_family("t5gemma");
  if (!is_nested(layers) || converts) return {};
  return Reading{"rope_parameters for each layer type",
                 "plain RoPE of the class's own base: it takes the block for a flat one and finds "
                 "nothing in it",
                 {}};
}

MaybeReading nested_half_read(const Layers& layers) {
  const std::string& name = layers.group().name;
  if (!is_nested(layers) || name == "full_attention") return {};
  const ParsedPart* const spectrum = layers.part(PartKind::kSpectrum);
  if (spectrum == nullptr || spectrum->scheme->name == "rope") return {};
  return Reading{name + ": " + spectrum->text.substr(0, 100),
                 "its base alone: the converter writes the scaling of full_attention only",
                 layers.under("rope")};
}

MaybeReading state_sticks(const Layers& layers) {
  if (layers.part({"dynamic_ntk", "dynamic_yarn"}) == nullptr) return {};
  return Reading{"frequencies by the length of the sequence",
                 "cached keys are not turned again when the length grows, and after one long call "
                 "the long frequencies stay",
                 {}};
}

// ---- rows from 20

MaybeReading gguf_scaling_unread(const Layers& layers) {
  if (!layers.is_gguf()) return {};
  const std::string& architecture = layers.config().architecture;
  if (!transformers_reads_gguf(architecture)) {
    return Reading{"architecture " + architecture,
                   "refuses the file: its GGUF reader does not know the architecture",
                   {}};
  }
  const std::optional<Rotary> plain = layers.under("rope");
  if (!plain || architecture == "gpt-oss") return {};
  const int64_t length = layers.trained() + 1;
  const Spectrum wanted = layers.rotary().spectrum.at(length);
  const Spectrum taken = plain->spectrum.at(length);
  if (spectrum_gap(wanted, taken).same() && same_size(wanted.amplitude, taken.amplitude)) return {};
  const std::string& scheme = layers.group().scheme;
  return Reading{scheme.empty() ? "frequencies of the file's own" : scheme.substr(0, 100),
                 "plain RoPE: of a GGUF file's positions it reads rope.freq_base and "
                 "context_length only",
                 plain};
}

MaybeReading vllm_mscale(const Layers& layers) {
  const ParsedPart* const yarn = index_yarn(layers);
  if (yarn == nullptr || layers.is_gguf() || yarn->params.has("attention_factor")) return {};
  const bool deepseek =
      layers.is_family("deepseek") || layers.is_family("kimi") || layers.is_family("glm_moe_dsa");
  const double mscale = number(*yarn, "mscale");
  const double all_dim = number(*yarn, "mscale_all_dim");
  if (deepseek || mscale == 0 || all_dim == 0) return {};
  const std::optional<Rotary> rotary =
      layers.under(changed(changed(yarn->text, "mscale", {}), "mscale_all_dim", {}));
  return Reading{"mscale " + to_text(mscale) + ", mscale_all_dim " + to_text(all_dim),
                 amplitude_text(rotary) + ": its yarn reads neither key, but in DeepSeek's classes",
                 rotary};
}

// sqrt(1 + ln s / ln L) with s the ratio of the lengths, unless the file has both mscales.
MaybeReading vllm_list_amplitude(const Layers& layers) {
  const ParsedPart* const longrope = layers.part({"longrope"});
  if (longrope == nullptr || layers.is_gguf()) return {};
  if (!vllm_takes_lists(layers.rotary().layout)) {
    return Reading{"longrope for interleaved pairs", "refuses the file: pairs in halves only", {}};
  }
  const double longest = layers.number("context_length");
  const auto original = static_cast<double>(layers.trained());
  if (layers.field("long_mscale") != nullptr || longest == 0 || original <= 1) return {};
  const double scale = longest / original;
  const double taken = scale <= 1 ? 1 : std::sqrt(1 + std::log(scale) / std::log(original));
  const double declared = number(*longrope, "amplitude");
  if (same_size(taken, declared)) return {};
  return Reading{"amplitude " + to_text(declared),
                 "amplitude " + to_text(taken) + ": it reads short_mscale and long_mscale only",
                 layers.under(changed(longrope->text, "amplitude", to_text(taken)))};
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

// ---- the table

struct Row {
  EngineRule rule;
  MaybeReading (*read)(const Layers& layers) = nullptr;  // null: told by engine_views_of()
  bool of_rotary = true;                                 // asked of rotary groups only
};

constexpr const char* kOldConverter = "converters up to May 2026";
constexpr const char* kOldTransformers5 = "transformers 5.0, mended by 5.24";

const Row kRows[] = {
    {{1, kLlamaCpp, "yarn_truncate", {}}, yarn_truncate},
    {{2, kLlamaCpp, "yarn_betas", {}}, yarn_betas},
    {{3, kLlamaCpp, "yarn_attention_factor", {}}, attention_factor_llama_cpp},
    {{3, kVllm, "yarn_attention_factor", {}}, attention_factor_vllm},
    {{3, kTransformers, "yarn_attn_factor", {}}, attention_factor_transformers},
    {{4, kTransformers, "yarn_ratio", "transformers 4.46 to 4.5x"}, yarn_ratio},
    {{5, kLlamaCpp, "dynamic", {}}, dynamic_llama_cpp},
    {{5, kVllm, "dynamic", {}}, dynamic_vllm},
    {{6, kLlamaCpp, "longrope_list", {}}, lists_llama_cpp},
    {{6, kVllm, "longrope_list", {}}, lists_vllm},
    {{7, kTransformers, "deepseek_v2_logits", kOldTransformers5}, deepseek_v2_logits},
    {{8, kTransformers, "olmo3_sliding", kOldTransformers5}, olmo3_sliding},
    {{9, kLlamaCpp, "interleaved_axes", {}}, left_over_axes},
    {{10, kLlamaCpp, "hunyuan_length", {}, true}, alpha_length},
    {{10, kTransformers, "hunyuan_alpha", kOldTransformers5}, alpha_lost},
    {{11, kLlamaCpp, "llama3_original", kOldConverter}, llama3_original},
    {{12, kLlamaCpp, "nemotron_width", {}}, nemotron_width},
    {{13, kLlamaCpp, "ntk_type", {}}, unknown_type_dropped},
    {{13, kTransformers, "ntk_type", {}}, other_ntk},
    {{14, kLlamaCpp, "proportional_factor", {}}, proportional_factor},
    {{14, kVllm, "proportional_factor", {}}, proportional_factor},
    {{15, kLlamaCpp, "type_conflict", {}}, nullptr},
    {{15, kVllm, "type_conflict", {}}, nullptr},
    {{15, kTransformers, "type_conflict", {}}, nullptr},
    {{16, kLlamaCpp, "distance_map", {}}, maps_ignored},
    {{16, kTransformers, "distance_map", {}}, maps_ignored},
    {{17, kTransformers, "alibi_bfloat16", {}}, alibi_slopes_rounded, false},
    {{18, kLlamaCpp, "nested_scaling", {}}, nested_half_read},
    {{18, kTransformers, "nested_block", kOldTransformers5}, nested_ignored},
    {{19, kTransformers, "dynamic_state", {}, true}, state_sticks},
    {{20, kVllm, "gguf_scaling", "without a config.json beside the file"}, gguf_scaling_unread},
    {{20, kTransformers, "gguf_scaling", {}}, gguf_scaling_unread},
    {{21, kVllm, "yarn_mscale", {}}, vllm_mscale},
    {{22, kVllm, "longrope_amplitude", {}}, vllm_list_amplitude},
    {{23, kLlamaCpp, "llama3_dropped", {}}, llama3_dropped},
    {{24, kLlamaCpp, "logn", {}}, logn_ignored},
    {{24, kVllm, "logn", {}}, logn_ignored},
    {{25, kLlamaCpp, "t5_distance", {}}, t5_distance, false},
    {{26, kLlamaCpp, "xpos", {}}, decay_ignored},
    {{26, kVllm, "xpos", {}}, decay_ignored},
    {{26, kTransformers, "xpos", {}}, decay_ignored},
};

bool is_fixed(const Rotary& rotary) {
  return rotary.spectrum.length() == SpectrumRule::Length::kFixed;
}

// Of several lengths, the one at which the readings are farthest apart: where both end, where the
// file's trained length ends, and past it.
EngineGap widest_gap(const Layers& layers, const Rotary& taken) {
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

void add_view(const Row& row, const Layers& layers, size_t group, std::vector<EngineView>& views) {
  if (row.read == nullptr || (row.of_rotary && !layers.is_rotary())) return;
  MaybeReading reading = row.read(layers);
  if (!reading) return;
  EngineView view{row.rule, group, std::move(reading->says), std::move(reading->takes), {}};
  if (reading->rotary) view.gap = widest_gap(layers, *reading->rotary);
  // A reading that comes to the same, as a ramp whose ends happen to be whole, is none.
  if (view.gap && view.gap->spectrum.same() && same_size(view.gap->amplitude_ratio, 1) &&
      same_size(view.gap->multiplier_ratio, 1)) {
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
      add_view(row, Layers(config, format, group, context), group, views);
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
  struct Subject {
    int number;
    std::string_view key;  // the last name of a finding's key
  };
  constexpr Subject kSubjects[] = {{1, "truncate"},
                                   {2, "beta_fast"},
                                   {3, "attention_factor"},
                                   {3, "attn_factor"},
                                   {4, "factor"},
                                   {5, "rope_type"},
                                   {5, "type"},
                                   {5, "use_dynamic_ntk"},
                                   {6, "long_factor"},
                                   {7, "mscale_all_dim"},
                                   {9, "mrope_section"},
                                   {10, "alpha"},
                                   {11, "original_max_position_embeddings"},
                                   {12, "partial_rotary_factor"},
                                   {13, "rope_type"},
                                   {13, "type"},
                                   {14, "factor"},
                                   {16, "dual_chunk_attention_config"},
                                   {17, "alibi"},
                                   {19, "factor"},
                                   {22, "attention_factor"},
                                   {22, "short_mscale"},
                                   {26, "rotary_emb_scale_base"}};
  const std::string& key = finding.key;
  const std::string last = key.substr(key.rfind('.') + 1);  // npos + 1 is 0
  return std::ranges::any_of(kSubjects, [&](const Subject& subject) {
    return subject.number == view.rule.number && subject.key == last;
  });
}

std::string to_text(const EngineGap& gap) {
  std::string text;
  if (gap.spectrum.first_pair >= 0) {
    const double ratio = gap.spectrum.largest_ratio;
    text = "pairs from " + std::to_string(gap.spectrum.first_pair) + " on turn otherwise, " +
           (std::isinf(ratio) ? "pair " + std::to_string(gap.spectrum.worst_pair) + " not at all"
                              : "by up to " + short_number(ratio) + " times at pair " +
                                    std::to_string(gap.spectrum.worst_pair));
  }
  if (gap.spectrum.first_decay >= 0) {
    text += (text.empty() ? "" : "; ") + std::string("pairs from ") +
            std::to_string(gap.spectrum.first_decay) + " on decay otherwise";
  }
  const auto add = [&](const std::string& what, double ratio) {
    if (ratio == 1) return;
    text += (text.empty() ? "" : "; ") + what + " " + short_number(ratio) + " times the file's";
  };
  add("amplitude", gap.amplitude_ratio);
  add("logits", gap.multiplier_ratio);
  if (gap.length != 0) text += ", in a sequence of " + std::to_string(gap.length) + " tokens";
  return text;
}

}  // namespace ropewalk
