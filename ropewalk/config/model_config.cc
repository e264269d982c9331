#include "ropewalk/config/model_config.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace ropewalk {

std::string to_string(Provenance provenance) {
  switch (provenance) {
    case Provenance::kFile:
      return "file";
    case Provenance::kDerived:
      return "derived";
    case Provenance::kFamilyDefault:
      return "family default";
    case Provenance::kAssumed:
      return "assumed";
  }
  return {};
}

int64_t trained_length(const ModelConfig& config) {
  for (const LayerGroup& group : config.groups) {
    if (group.rotary) return group.rotary->source.trained_length;
  }
  return 0;
}

void set_single_group(ModelConfig& config, int64_t n_layers, LayerGroup group) {
  group.layers.resize(static_cast<size_t>(n_layers));
  std::iota(group.layers.begin(), group.layers.end(), 0);
  config.group_of_layer.assign(static_cast<size_t>(std::max<int64_t>(n_layers, 1)), 0);
  config.groups.assign(1, std::move(group));
}

void set_groups(ModelConfig& config, const std::vector<std::string>& name_of_layer,
                const std::function<LayerGroup(const std::string& name)>& group_of) {
  config.groups.clear();
  config.group_of_layer.clear();
  for (size_t layer = 0; layer < name_of_layer.size(); ++layer) {
    auto found = std::ranges::find(config.groups, name_of_layer[layer], &LayerGroup::name);
    if (found == config.groups.end()) {
      LayerGroup group = group_of(name_of_layer[layer]);
      group.name = name_of_layer[layer];
      group.layers.clear();
      found = config.groups.insert(config.groups.end(), std::move(group));
    }
    found->layers.push_back(static_cast<int64_t>(layer));
    config.group_of_layer.push_back(static_cast<int32_t>(found - config.groups.begin()));
  }
}

}  // namespace ropewalk
