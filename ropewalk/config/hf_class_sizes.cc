#include "ropewalk/config/hf_class_sizes.h"

#include <algorithm>
#include <iterator>

namespace ropewalk {
namespace {

constexpr HfClassSizes kSizes[] = {
    // family, layers, hidden, heads, heads of keys, feed-forward, vocabulary, epsilon
    {"cohere", 40, 8192, 64, 64, 22528, 256000, 1e-5},
    {"cohere2", 40, 8192, 64, 64, 22528, 256000, 1e-5},
    {"gemma", 28, 3072, 16, 16, 24576, 256000, 1e-6},
    {"gemma2", 26, 2304, 8, 4, 9216, 256000, 1e-6},
    {"gemma3", 26, 2304, 8, 4, 9216, 262208, 1e-6},
    {"llama", 32, 4096, 32, 32, 11008, 32000, 1e-6},
    {"llama4", 48, 5120, 40, 8, 8192, 202048, 1e-5},
    {"ministral3", 34, 4096, 32, 8, 14336, 131072, 1e-5},
    {"mistral", 32, 4096, 32, 8, 14336, 32000, 1e-6},
    {"phi3", 32, 3072, 32, 32, 8192, 32064, 1e-5},
    {"qwen2", 32, 4096, 32, 32, 22016, 151936, 1e-6},
    {"qwen2_5_vl", 80, 8192, 64, 8, 29568, 152064, 1e-5},
    {"qwen2_vl", 80, 8192, 64, 8, 29568, 152064, 1e-5},
    {"qwen3", 32, 4096, 32, 32, 22016, 151936, 1e-6},
    {"qwen3_vl", 32, 4096, 32, 32, 22016, 151936, 1e-6},
    {"qwen3_vl_moe", 24, 2048, 16, 16, 5632, 151936, 1e-6},
    {"smollm3", 36, 2048, 16, 4, 11008, 128256, 1e-6},
};

}  // namespace

const HfClassSizes* find_hf_class_sizes(std::string_view family) {
  const auto* const found = std::ranges::find(kSizes, family, &HfClassSizes::family);
  return found == std::end(kSizes) ? nullptr : found;
}

}  // namespace ropewalk
