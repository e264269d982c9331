// Sources: gguf_architectures.cc for what llama.cpp loads; vLLM of August 2026,
// layers/rotary_embedding.
#include "ropewalk/config/engine_table.h"

#include <algorithm>
#include <iterator>

#include "ropewalk/base/error.h"
#include "ropewalk/config/gguf_architectures.h"
#include "ropewalk/config/hf_families.h"

namespace ropewalk {
namespace {

struct EngineName {
  TargetEngine engine;
  std::string_view name;
};

constexpr EngineName kEngines[] = {{TargetEngine::kLlamaCpp, "llama.cpp"},
                                   {TargetEngine::kVllm, "vllm"},
                                   {TargetEngine::kTransformers, "transformers"}};

// Model types of whole models that are converted by what they wrap: no row of hf_families.h.
struct Wrapper {
  std::string_view model_type;
  std::string_view architecture;
};

constexpr Wrapper kWrappers[] = {{"kimi_k25", "deepseek2"}, {"voxtral", "llama"}};

}  // namespace

std::string to_string(TargetEngine engine) {
  return std::string(std::ranges::find(kEngines, engine, &EngineName::engine)->name);
}

TargetEngine parse_target_engine(const std::string& name) {
  const auto* const found = std::ranges::find(kEngines, name, &EngineName::name);
  if (found != std::end(kEngines)) return found->engine;
  throw Error("engine", "must be llama.cpp, vllm or transformers", name);
}

std::string_view llama_cpp_architecture(std::string_view model_type) {
  if (const HfFamily* const family = find_hf_family(model_type)) {
    return family->gguf.empty() ? family->name : family->gguf;
  }
  const auto* const found = std::ranges::find(kWrappers, model_type, &Wrapper::model_type);
  return found == std::end(kWrappers) ? model_type : found->architecture;
}

LlamaCppLoads llama_cpp_loads(std::string_view architecture) {
  using A = GgufArchitecture;
  const A* const found = find_gguf_architecture(llama_cpp_architecture(architecture));
  if (found == nullptr) return {};
  const bool either = found->factors == A::Factors::kFreqsOrLists;
  return {.rope_freqs = either || found->factors == A::Factors::kFreqs,
          .factor_lists = either || found->factors == A::Factors::kLists,
          .yarn_betas = found->yarn_keys != A::YarnKeys::kNone,
          .yarn_log_multiplier = found->log_multiplier != A::LogMultiplier::kIgnored,
          .mscale_is_all_dim = found->mscale_is_all_dim,
          .log_multiplier_unit = found->log_multiplier == A::LogMultiplier::kTenth ? 0.1F : 1.0F};
}

bool llama_cpp_loads_rope_freqs(std::string_view architecture) {
  return llama_cpp_loads(architecture).rope_freqs;
}

std::string llama_cpp_yarn(const ParsedPart& yarn, std::string_view architecture) {
  const LlamaCppLoads loads = llama_cpp_loads(architecture);
  const SchemeParams& params = yarn.params;
  const auto number = [&](const std::string& name) {
    return "," + name + "=" + to_text(static_cast<double>(params.number(name)));
  };
  std::string scheme = "yarn" + number("factor");
  if (params.has("original")) {
    scheme += ",original=" + std::to_string(params.integer("original"));
  }
  if (loads.yarn_betas) scheme += number("beta_fast") + number("beta_slow");
  const DoubleDouble all_dim = params.number("mscale_all_dim");
  if (loads.yarn_log_multiplier && all_dim != 0) {
    scheme += ",mscale=" + (loads.mscale_is_all_dim ? to_text(static_cast<double>(all_dim)) : "1");
    scheme += number("mscale_all_dim");
    scheme += ",mscale_logits=" + params.choice("mscale_logits");
  }
  return scheme;
}

bool vllm_takes_lists(const PairLayout& layout) { return layout.order == PairOrder::kHalf; }

bool transformers_reads_gguf(std::string_view architecture) {
  const GgufArchitecture* const found = find_gguf_architecture(architecture);
  return found != nullptr && found->read_by_transformers;
}

}  // namespace ropewalk
