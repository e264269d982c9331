#include "ropewalk/config/hf_families.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ropewalk/config/hf_spelling.h"

namespace ropewalk {
namespace {

// Positions of these are of images, sounds or poses.
constexpr std::pair<std::string_view, std::string_view> kNotText[] = {
    {"dinov3_vit", "images"},          {"efficientloftr", "images"},
    {"eomt_dinov3", "images"},         {"gemma4_vision", "images"},
    {"llama4_vision_model", "images"}, {"pixtral", "images"},
    {"qwen2_vl_vision", "images"},     {"siglip_vision_model", "images"},
    {"clip_vision_model", "images"},   {"vit", "images"},
};

std::string_view without_suffix(std::string_view name) {
  for (const std::string_view suffix : {"_text_model", "_text"}) {
    if (name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
  }
  return name;
}

}  // namespace

std::span<const std::span<const HfFamily>> hf_families() {
  static const std::array<std::span<const HfFamily>, 3> kGroups = {
      hf_alike_families(), hf_layered_families(), hf_unrotated_families()};
  return kGroups;
}

const HfFamily* find_hf_family(std::string_view name) {
  for (const std::string_view wanted : {name, without_suffix(name)}) {
    for (const std::span<const HfFamily> group : hf_families()) {
      const auto found = std::ranges::find(group, wanted, &HfFamily::name);
      if (found != group.end()) return &*found;
    }
  }
  return nullptr;
}

std::string_view why_not_text(std::string_view name) {
  const auto* const found =
      std::ranges::find(kNotText, name, &std::pair<std::string_view, std::string_view>::first);
  return found == std::end(kNotText) ? std::string_view() : found->second;
}

std::string nearest_hf_family(std::string_view name) {
  std::vector<std::string> names;
  for (const std::span<const HfFamily> group : hf_families()) {
    for (const HfFamily& family : group) names.emplace_back(family.name);
  }
  return nearest_spelling(std::string(name), names);
}

}  // namespace ropewalk
