// Rows 1 to 4, 7 and 21: YaRN.
// docs/engines.md has the numbers and the sources.
#include "ropewalk/config/engine_readings.h"

namespace ropewalk::engine_readings {
namespace {

MaybeReading without_attention_factor(const Layers& layers, const std::string& why) {
  const ParsedPart* const yarn = index_yarn(layers);
  if (yarn == nullptr || layers.is_gguf() || !yarn->params.has("attention_factor")) return {};
  const std::optional<Rotary> rotary =
      layers.under(with_parameter(yarn->text, "attention_factor", {}));
  if (rotary &&
      same_size(rotary->spectrum.at(1).amplitude, layers.rotary().spectrum.at(1).amplitude)) {
    return {};
  }
  return Reading{"attention_factor " + to_text(number(*yarn, "attention_factor")),
                 amplitude_text(rotary) + ": " + why, rotary};
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

}  // namespace

MaybeReading yarn_truncate(const Layers& layers) {
  const ParsedPart* const yarn = index_yarn(layers);
  if (yarn == nullptr || yarn->params.choice("truncate") == "true") return {};
  return Reading{"truncate false: the ramp runs between fractions of a pair",
                 "ends of the ramp rounded to whole pairs, as always",
                 layers.under(with_parameter(yarn->text, "truncate", {}))};
}

MaybeReading yarn_betas(const Layers& layers) {
  const ParsedPart* const yarn = index_yarn(layers);
  if (yarn == nullptr || llama_cpp_loads(layers.config().architecture).yarn_betas) return {};
  const double fast = number(*yarn, "beta_fast");
  const double slow = number(*yarn, "beta_slow");
  if (fast == kLlamaCppBetaFast && slow == kLlamaCppBetaSlow) return {};
  const std::string usual =
      with_parameter(with_parameter(yarn->text, "beta_fast", {}), "beta_slow", {});
  return Reading{"beta_fast " + to_text(fast) + ", beta_slow " + to_text(slow),
                 to_text(kLlamaCppBetaFast) + " and " + to_text(kLlamaCppBetaSlow) +
                     ": its loader does not read the betas of this architecture",
                 layers.under(usual)};
}

MaybeReading attention_factor_llama_cpp(const Layers& layers) {
  return without_attention_factor(layers, "it computes its own from the factor");
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
  const auto longest = static_cast<double>(layers.config().context_length);
  const auto original = static_cast<double>(yarn->params.integer("original"));
  const double factor = number(*yarn, "factor");
  if (longest < original || longest / original == factor) return {};
  const std::string ratio = to_text(longest / original);
  return Reading{"factor " + to_text(factor),
                 "factor " + ratio + ": max_position_embeddings over the original length",
                 layers.under(with_parameter(yarn->text, "factor", ratio))};
}

MaybeReading deepseek_v2_logits(const Layers& layers) {
  const ParsedPart* const yarn = index_yarn(layers);
  if (yarn == nullptr || !layers.family().logits_left) return {};
  if (yarn->params.choice("mscale_logits") == "false") return {};
  return Reading{"logits times " + to_text(layers.rotary().spectrum.at(1).logit_multiplier),
                 "logits times 1: the class lacks the square of mscale_all_dim's magnitude",
                 layers.under(with_parameter(yarn->text, "mscale_logits", {}))};
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
      layers.under(with_parameter(with_parameter(yarn->text, "mscale", {}), "mscale_all_dim", {}));
  return Reading{"mscale " + to_text(mscale) + ", mscale_all_dim " + to_text(all_dim),
                 amplitude_text(rotary) + ": its yarn reads neither key, but in DeepSeek's classes",
                 rotary};
}

}  // namespace ropewalk::engine_readings
