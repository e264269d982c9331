// Rows 5, 6, 10, 19 and 22: frequencies that go by the length.
// docs/engines.md has the numbers and the sources.
#include <cmath>
#include <utility>

#include "ropewalk/config/engine_readings.h"

namespace ropewalk::engine_readings {
namespace {

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

}  // namespace

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

MaybeReading lists_llama_cpp(const Layers& layers) {
  if (!llama_cpp_loads(layers.config().architecture).factor_lists) {
    return dropped(layers, layers.part({"longrope"}), "it loads no lists under this architecture");
  }
  return list_by_context(layers, "-c");
}

MaybeReading lists_vllm(const Layers& layers) { return list_by_context(layers, "max_model_len"); }

// sqrt(1 + ln s / ln L) with s the ratio of the lengths, unless the file has both mscales.
MaybeReading vllm_list_amplitude(const Layers& layers) {
  const ParsedPart* const longrope = layers.part({"longrope"});
  if (longrope == nullptr || layers.is_gguf()) return {};
  if (!vllm_takes_lists(layers.rotary().layout)) {
    return Reading{"longrope for interleaved pairs", "refuses the file: pairs in halves only", {}};
  }
  const auto longest = static_cast<double>(layers.config().context_length);
  const auto original = static_cast<double>(layers.trained());
  if (layers.field("long_mscale") != nullptr || longest == 0 || original <= 1) return {};
  const double scale = longest / original;
  const double taken = scale <= 1 ? 1 : std::sqrt(1 + std::log(scale) / std::log(original));
  const double declared = number(*longrope, "amplitude");
  if (same_size(taken, declared)) return {};
  return Reading{"amplitude " + to_text(declared),
                 "amplitude " + to_text(taken) + ": it reads short_mscale and long_mscale only",
                 layers.under(with_parameter(longrope->text, "amplitude", to_text(taken)))};
}

MaybeReading state_sticks(const Layers& layers) {
  if (layers.part({"dynamic_ntk", "dynamic_yarn"}) == nullptr) return {};
  return Reading{"frequencies by the length of the sequence",
                 "cached keys are not turned again when the length grows, and after one long call "
                 "the long frequencies stay",
                 {}};
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

}  // namespace ropewalk::engine_readings
