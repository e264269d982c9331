// Source: llama.cpp, llama_model_rope_type and the loaders beside it; convert_hf_to_gguf.py for
// `permuted`.
#include "ropewalk/config/gguf_architectures.h"

#include <algorithm>

namespace ropewalk {
namespace {

using Positions = GgufArchitecture::Positions;

constexpr GgufArchitecture kArchitectures[] = {
    {.name = "llama",
     .order = PairOrder::kInterleaved,
     .permuted = true,
     .whole_head = true,
     .runs = true},
    {.name = "arcee", .order = PairOrder::kInterleaved, .permuted = true},
    {.name = "command-r", .order = PairOrder::kInterleaved},
    {.name = "internlm2", .order = PairOrder::kInterleaved, .permuted = true},
    {.name = "olmo", .order = PairOrder::kInterleaved, .permuted = true},
    {.name = "falcon", .whole_head = true},
    {.name = "gptneox"},
    {.name = "orion"},
    {.name = "phi2"},
    {.name = "phi3", .always_loads_factors = true},
    {.name = "qwen2"},
    {.name = "qwen2moe"},
    {.name = "qwen3"},
    {.name = "qwen3moe"},
    {.name = "stablelm"},
    {.name = "starcoder2"},
    {.name = "bloom", .positions = Positions::kAlibi},
    {.name = "gpt2", .positions = Positions::kLearned},
    {.name = "mpt", .positions = Positions::kAlibi},
};

}  // namespace

std::span<const GgufArchitecture> gguf_architectures() { return kArchitectures; }

const GgufArchitecture* find_gguf_architecture(std::string_view name) {
  const auto* const found = std::ranges::find(kArchitectures, name, &GgufArchitecture::name);
  return found == std::end(kArchitectures) ? nullptr : found;
}

}  // namespace ropewalk
