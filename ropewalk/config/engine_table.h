// What llama.cpp, vLLM and transformers load of a model's positions, by engine and architecture:
// the one table that `show` explains by and that `write` and `extend` judge by. docs/engines.md has
// it in words, with what was read where.
#ifndef ROPEWALK_CONFIG_ENGINE_TABLE_H_
#define ROPEWALK_CONFIG_ENGINE_TABLE_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "ropewalk/config/model_format.h"
#include "ropewalk/math/rotary.h"
#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk {

enum class TargetEngine { kLlamaCpp, kVllm, kTransformers };

inline constexpr std::array<TargetEngine, 3> kTargetEngines = {
    TargetEngine::kLlamaCpp, TargetEngine::kVllm, TargetEngine::kTransformers};

// What llama.cpp takes where it does not look at what a file says: YaRN's betas under most
// architectures; Llama 3's original length in a block of config.json, in its converter.
inline constexpr double kLlamaCppBetaFast = 32;
inline constexpr double kLlamaCppBetaSlow = 1;
inline constexpr int64_t kConverterLlama3Length = 8192;

// "llama.cpp", "vllm", "transformers".
std::string to_string(TargetEngine engine);

// The reverse; throws Error on any other name.
TargetEngine parse_target_engine(const std::string& name);

// general.architecture that llama.cpp's converter gives a model_type; the name itself where it
// gives the same one, or is not known to give any.
std::string_view llama_cpp_architecture(std::string_view model_type);

// What llama.cpp's loader reads under an architecture beyond base, factor and original length.
struct LlamaCppLoads {
  bool rope_freqs = false;           // rope_freqs.weight, and turns by it
  bool factor_lists = false;         // rope_factors_long.weight and _short
  bool yarn_betas = false;           // rope.scaling.yarn_beta_fast and _slow
  bool yarn_log_multiplier = false;  // rope.scaling.yarn_log_multiplier: mscale_all_dim
  bool mscale_is_all_dim = false;    // and takes mscale to be the same, not 1
  float log_multiplier_unit = 1;     // times this: DeepSeek's is stored with the 0.1 of 0.1 ln(s)
};

// Of a general.architecture or a model_type. Where a tensor is not loaded, a file that has it does
// not load at all: no tensor may be left over.
LlamaCppLoads llama_cpp_loads(std::string_view architecture);

// llama_cpp_loads(architecture).rope_freqs.
bool llama_cpp_loads_rope_freqs(std::string_view architecture);

// What llama.cpp turns by where a file says yarn: its ramp ends at whole pairs, turns from 32 to 1
// where it does not read the betas, and the amplitude is 1 + 0.1 ln(factor) but for `mscale`s.
//   yarn          a part named yarn
//   architecture  general.architecture or model_type
// Returns a scheme string.
std::string llama_cpp_yarn(const ParsedPart& yarn, std::string_view architecture);

// Whether vLLM takes longrope lists for heads of this layout: in halves only.
bool vllm_takes_lists(const PairLayout& layout);

// Whether transformers' GGUF reader, which vLLM uses as well, knows the general.architecture. Of
// the positions it takes rope.freq_base and context_length, for gpt-oss rope.scaling.* too.
bool transformers_reads_gguf(std::string_view architecture);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_ENGINE_TABLE_H_
