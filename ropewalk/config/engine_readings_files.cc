// Rows 11, 13, 14, 16, 18, 20, 23 and 24: keys, blocks and files that an engine does not read.
// docs/engines.md has the numbers and the sources.
#include <algorithm>

#include "ropewalk/config/engine_readings.h"
#include "ropewalk/math/spectrum_gap.h"

namespace ropewalk::engine_readings {
namespace {

bool is_nested(const Layers& layers) {
  const LayerGroup& group = layers.group();
  if (layers.is_gguf() || group.name.empty()) return false;
  return std::ranges::any_of(group.fields, [&](const DeclaredField& field) {
    return field.from.find("rope_parameters." + group.name + ".") != std::string::npos;
  });
}

}  // namespace

MaybeReading llama3_original(const Layers& layers) {
  const ParsedPart* const llama3 = layers.part({"llama3"});
  if (llama3 == nullptr || layers.is_gguf()) return {};
  if (!llama_cpp_loads_rope_freqs(layers.config().architecture)) return {};
  // In a block of config.json, not at the top of the text model, which may be "text_config.".
  const bool inside = layers.comes_from("original_length", "rope_scaling.") ||
                      layers.comes_from("original_length", "rope_parameters.");
  const int64_t original =
      llama3->params.has("original") ? llama3->params.integer("original") : layers.trained();
  if (!inside || original == kConverterLlama3Length) return {};
  const std::string converters = std::to_string(kConverterLlama3Length);
  return Reading{"original length " + std::to_string(original),
                 converters + ": its converter looked for the key at the top level only",
                 layers.under(with_parameter(llama3->text, "original", converters))};
}

MaybeReading llama3_dropped(const Layers& layers) {
  if (llama_cpp_loads_rope_freqs(layers.config().architecture)) return {};
  return dropped(layers, layers.part({"llama3"}),
                 "it loads no rope_freqs.weight under this architecture");
}

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
                 layers.under(with_parameter(part->text, "factor", {}))};
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

}  // namespace ropewalk::engine_readings
