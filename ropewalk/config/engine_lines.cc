// Source: llama.cpp, common/arg.cpp; vLLM, --hf-overrides; transformers 5, rope_parameters.
#include "ropewalk/config/engine_lines.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "ropewalk/config/gguf_form.h"
#include "ropewalk/config/hf_form.h"
#include "ropewalk/config/portability.h"
#include "ropewalk/config/spectrum_form.h"

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;

// Flags set one rotation for all layers.
bool is_uniform(const ModelConfig& declared) { return declared.groups.size() == 1; }

// llama.cpp's flags; empty where they do not say all of it.
std::string llama_cpp_flags(const ModelConfig& declared, const GgufForm& form) {
  if (form.as_declared) return form.temperature ? "" : " ";
  const bool more = form.amplitude || form.alpha || form.log_multiplier || form.temperature ||
                    !form.divisors.empty() || !form.long_divisors.empty();
  // What else the file declares would stay beside the flags.
  if (more || !is_uniform(declared) || leading_group(declared).scheme != "rope") return "";
  std::string flags = " --rope-scaling " + form.scaling_type;
  const auto base =
      static_cast<float>(static_cast<double>(leading_group(declared).rotary->source.base));
  if (form.freq_base != base) flags += fmt::format(" --rope-freq-base {}", form.freq_base);
  if (form.factor) flags += fmt::format(" --rope-scale {}", *form.factor);
  if (form.scaling_type == "yarn")
    flags += fmt::format(" --yarn-orig-ctx {}", form.original_length);
  if (form.beta_fast) flags += fmt::format(" --yarn-beta-fast {}", *form.beta_fast);
  if (form.beta_slow) flags += fmt::format(" --yarn-beta-slow {}", *form.beta_slow);
  return flags + " ";
}

// The keys of config.json that say it; null where they cannot be told without the file.
Json hf_keys(const ModelConfig& declared, const HfForm& form, int64_t target_length) {
  if (form.step_scale) return nullptr;
  Json keys = Json::object();
  if (!form.as_declared) {
    const Rotary& rotary = *leading_group(declared).rotary;
    // A block would replace shares and layer types that the file's own has.
    if (!is_uniform(declared) || rotary.layout.rotary_dim != rotary.layout.head_dim) return nullptr;
    Json block = form.block.is_null() ? Json{{"rope_type", "default"}} : form.block;
    block["rope_theta"] = form.base.value_or(static_cast<double>(rotary.source.base));
    keys["rope_parameters"] = block;
  }
  keys.update(form.top);
  if (!form.keeps_length) keys["max_position_embeddings"] = target_length;
  return keys;
}

std::string write_line(const std::string& model, const std::string& scheme, TargetEngine engine,
                       int64_t target_length) {
  return fmt::format("ropewalk write {} --scheme '{}' --to {} --for {} -o LONGER{}", model, scheme,
                     target_length, to_string(engine),
                     engine == TargetEngine::kLlamaCpp ? ".gguf" : "");
}

std::vector<std::string> llama_cpp_lines(const ModelConfig& declared, const std::string& scheme,
                                         int64_t target_length) {
  const std::string flags = llama_cpp_flags(declared, gguf_form(declared, scheme));
  if (!flags.empty()) return {fmt::format("llama-cli -m MODEL.gguf{}-c {}", flags, target_length)};
  return {write_line("MODEL.gguf", scheme, TargetEngine::kLlamaCpp, target_length),
          fmt::format("llama-cli -m LONGER.gguf -c {}", target_length)};
}

}  // namespace

std::vector<std::string> engine_lines(const ModelConfig& declared, ModelFormat format,
                                      const std::string& scheme, TargetEngine engine,
                                      int64_t target_length) {
  if (!judge_portability(declared, format, scheme, engine).portable) return {};
  if (engine == TargetEngine::kLlamaCpp) return llama_cpp_lines(declared, scheme, target_length);
  const Json keys = hf_keys(declared, hf_form(declared, scheme, engine), target_length);
  const bool vllm = engine == TargetEngine::kVllm;
  if (!keys.is_null()) {
    if (!vllm) return {"in config.json: " + keys.dump()};
    return {fmt::format("vllm serve MODEL --max-model-len {} --hf-overrides '{}'", target_length,
                        keys.dump())};
  }
  return {write_line("MODEL", scheme, engine, target_length),
          vllm ? fmt::format("vllm serve LONGER --max-model-len {}", target_length)
               : "AutoModelForCausalLM.from_pretrained(\"LONGER\")"};
}

}  // namespace ropewalk
