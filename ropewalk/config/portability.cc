#include "ropewalk/config/portability.h"

#include <algorithm>
#include <iterator>

#include "ropewalk/base/error.h"
#include "ropewalk/config/gguf_form.h"
#include "ropewalk/config/hf_form.h"
#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk {
namespace {

struct EngineName {
  TargetEngine engine;
  std::string_view name;
};

constexpr EngineName kEngines[] = {{TargetEngine::kLlamaCpp, "llama.cpp"},
                                   {TargetEngine::kVllm, "vllm"},
                                   {TargetEngine::kTransformers, "transformers"}};

// Source: llama.cpp of September 2026, src/models: those that create the tensor and hand it to the
// rotation. pangu-embedded, llada and falcon-h1 create it and rotate without it.
constexpr std::string_view kLoadsRopeFreqs[] = {
    "apertus", "arcee",   "deci",        "exaone",        "exaone-moe", "exaone4",
    "gemma4",  "granite", "granite_swa", "granitehybrid", "granitemoe", "llama",
    "llama4",  "minicpm", "mistral3",    "nanbeige",      "step35"};

// general.architecture of a converted model_type, where the two differ.
struct ConvertedName {
  std::string_view model_type;
  std::string_view architecture;
};

constexpr ConvertedName kConvertedNames[] = {
    {"mistral", "llama"}, {"mixtral", "llama"}, {"qwen3_moe", "qwen3moe"}};

}  // namespace

std::string to_string(TargetEngine engine) {
  return std::string(std::ranges::find(kEngines, engine, &EngineName::engine)->name);
}

TargetEngine parse_target_engine(const std::string& name) {
  const auto* const found = std::ranges::find(kEngines, name, &EngineName::name);
  if (found != std::end(kEngines)) return found->engine;
  throw Error("engine", "must be llama.cpp, vllm or transformers", name);
}

bool llama_cpp_loads_rope_freqs(std::string_view architecture) {
  const auto* const converted =
      std::ranges::find(kConvertedNames, architecture, &ConvertedName::model_type);
  if (converted != std::end(kConvertedNames)) architecture = converted->architecture;
  return std::ranges::find(kLoadsRopeFreqs, architecture) != std::end(kLoadsRopeFreqs);
}

Portability judge_portability(const ModelConfig& declared, const std::string& scheme,
                              TargetEngine engine) {
  // What is wrong with the scheme itself is thrown here, before the engine is asked.
  const ParsedScheme parsed = parse_scheme(scheme);
  for (const LayerGroup& group : declared.groups) {
    if (group.rotary) apply_scheme(parsed, *group.rotary);
  }
  try {
    if (engine == TargetEngine::kLlamaCpp) {
      return {.portable = true, .how = gguf_form(declared, scheme).how};
    }
    return {.portable = true, .how = hf_form(declared, scheme, engine).how};
  } catch (const Error& error) {
    return {.why_not = error.what()};
  }
}

}  // namespace ropewalk
