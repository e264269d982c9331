// Source: transformers, configuration_<model type>.py.
#include "ropewalk/config/hf_families.h"

#include <algorithm>

namespace ropewalk {
namespace {

using Window = HfFamily::Window;

constexpr HfFamily kFamilies[] = {
    {.name = "llama", .trained_length = 2048, .runs = true},
    {.name = "mistral",
     .trained_length = 131072,
     .window = Window::kWhenPresent,
     .window_size = 4096,
     .runs = true},
    {.name = "mixtral", .base = 1e6, .trained_length = 131072, .window = Window::kWhenPresent},
    {.name = "qwen2", .trained_length = 32768, .window = Window::kWhenSwitched},
    {.name = "qwen3", .trained_length = 32768, .head_dim = 128, .window = Window::kWhenSwitched},
    {.name = "qwen3_moe", .trained_length = 32768, .window = Window::kWhenSwitched},
};

}  // namespace

std::span<const HfFamily> hf_families() { return kFamilies; }

const HfFamily* find_hf_family(std::string_view name) {
  const auto* const found = std::ranges::find(kFamilies, name, &HfFamily::name);
  return found == std::end(kFamilies) ? nullptr : found;
}

}  // namespace ropewalk
