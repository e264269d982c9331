// Sources: llama.cpp of September 2026, conversion/ (names), and gguf_architectures.cc for what is
// loaded; vLLM of August 2026, layers/rotary_embedding; transformers 5.24, integrations/ggml.py.
#include "ropewalk/config/engine_table.h"

#include <algorithm>
#include <iterator>

#include "ropewalk/base/error.h"
#include "ropewalk/config/gguf_architectures.h"

namespace ropewalk {
namespace {

struct EngineName {
  TargetEngine engine;
  std::string_view name;
};

constexpr EngineName kEngines[] = {{TargetEngine::kLlamaCpp, "llama.cpp"},
                                   {TargetEngine::kVllm, "vllm"},
                                   {TargetEngine::kTransformers, "transformers"}};

struct ConvertedName {
  std::string_view model_type;
  std::string_view architecture;
};

// Where the two differ by more than nothing.
constexpr ConvertedName kConvertedNames[] = {{"cohere", "command-r"},
                                             {"deepseek_v2", "deepseek2"},
                                             {"deepseek_v3", "deepseek2"},
                                             {"deepseek_v32", "deepseek32"},
                                             {"ernie4_5_moe", "ernie4_5-moe"},
                                             {"exaone_moe", "exaone-moe"},
                                             {"falcon_h1", "falcon-h1"},
                                             {"glm4_moe", "glm4moe"},
                                             {"glm_moe_dsa", "glm-dsa"},
                                             {"gpt_neox", "gptneox"},
                                             {"gpt_oss", "gpt-oss"},
                                             {"granitemoehybrid", "granitehybrid"},
                                             {"granitemoeshared", "granitemoe"},
                                             {"hunyuan_v1_dense", "hunyuan-dense"},
                                             {"hunyuan_v1_moe", "hunyuan-moe"},
                                             {"internlm3", "llama"},
                                             {"kimi_k2", "deepseek2"},
                                             {"kimi_k25", "deepseek2"},
                                             {"lfm2_moe", "lfm2moe"},
                                             {"mimo_v2_flash", "mimo2"},
                                             {"minimax_m2", "minimax-m2"},
                                             {"ministral3", "mistral3"},
                                             {"mistral", "llama"},
                                             {"mixtral", "llama"},
                                             {"modernbert", "modern-bert"},
                                             {"nemotron-nas", "deci"},
                                             {"nomic_bert", "nomic-bert"},
                                             {"olmo3", "olmo2"},
                                             {"phi", "phi2"},
                                             {"phi-msft", "phi2"},
                                             {"phi3_v", "phi3"},
                                             {"qwen2_5_vl", "qwen2vl"},
                                             {"qwen2_moe", "qwen2moe"},
                                             {"qwen2_vl", "qwen2vl"},
                                             {"qwen3_5", "qwen35"},
                                             {"qwen3_5_moe", "qwen35moe"},
                                             {"qwen3_moe", "qwen3moe"},
                                             {"qwen3_next", "qwen3next"},
                                             {"qwen3_vl", "qwen3vl"},
                                             {"qwen3_vl_moe", "qwen3vlmoe"},
                                             {"voxtral", "llama"}};

constexpr std::string_view kReadByTransformers[] = {
    "bloom", "deci",     "falcon",   "gemma2",     "gemma3",   "gemma4",   "gpt-oss", "gpt2",
    "lfm2",  "llama",    "mamba",    "minimax-m2", "nemotron", "phi3",     "qwen2",   "qwen2moe",
    "qwen3", "qwen3moe", "stablelm", "starcoder2", "t5",       "t5encoder"};

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
  const auto* const found =
      std::ranges::find(kConvertedNames, model_type, &ConvertedName::model_type);
  if (found != std::end(kConvertedNames)) return found->architecture;
  // The text part of a model that sees, too: "llama4_text".
  constexpr std::string_view kText = "_text";
  if (!model_type.ends_with(kText)) return model_type;
  model_type.remove_suffix(kText.size());
  return llama_cpp_architecture(model_type);
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
    // It takes mscale to be 1, and to be mscale_all_dim in DeepSeek-V2's architecture.
    const bool ratio_is_one = llama_cpp_architecture(architecture) == "deepseek2";
    scheme += ",mscale=" + (ratio_is_one ? to_text(static_cast<double>(all_dim)) : "1");
    scheme += number("mscale_all_dim");
    scheme += ",mscale_logits=" + params.choice("mscale_logits");
  }
  return scheme;
}

bool vllm_takes_lists(const PairLayout& layout) { return layout.order == PairOrder::kHalf; }

bool transformers_reads_gguf(std::string_view architecture) {
  return std::ranges::find(kReadByTransformers, architecture) != std::end(kReadByTransformers);
}

}  // namespace ropewalk
