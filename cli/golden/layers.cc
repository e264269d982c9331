// Cases of kind "layers": what each layer of a config.json does.
#include <algorithm>

#include "cli/golden/compute.h"
#include "ropewalk/base/error.h"
#include "ropewalk/config/model_config.h"
#include "ropewalk/schemes/registry.h"

namespace ropewalk::golden {
namespace {

// The words that a case has for a layer that is rotated; it picks the one that tells its layers
// apart.
enum class Words { kScheme, kBase, kAxes, kRope };

Words words_of(const Json& per_layer) {
  for (const Json& layer : per_layer) {
    const std::string text = layer.is_string() ? layer.get<std::string>() : "";
    if (text.starts_with("theta=")) return Words::kBase;
    if (text == "rope") return Words::kRope;
    if (text == "mrope") return Words::kAxes;
  }
  return Words::kScheme;
}

std::string without_rotation(const LayerGroup& group) {
  if (group.name.find("linear") != std::string::npos) return "none (linear attention)";
  return group.temperature == QueryTemperature{} ? "none" : "none+attn_temperature";
}

std::string described(const LayerGroup& group, Words words) {
  if (!group.rotary) return without_rotation(group);
  switch (words) {
    case Words::kScheme:
      break;
    case Words::kBase:
      return "theta=" + to_text(static_cast<double>(group.rotary->source.base));
    case Words::kAxes:
      return group.rotary->spectrum.at(1).axis.empty() ? "rope" : "mrope";
    case Words::kRope:
      return "rope";
  }
  return group.scheme.substr(0, group.scheme.find_first_of(",+"));
}

}  // namespace

Value compute_layers(const Json& golden) {
  if (rule_of(golden) != "layer_map") refuse_rule(golden);
  const ModelConfig config = read_hf_positions(with_floats(golden.at("config")), "config.json");
  const Words words = words_of(golden.value("per_layer", Json::array()));
  Value layers = Value::list();
  for (const int32_t group : config.group_of_layer) {
    layers.push(Value::exact(described(config.groups.at(static_cast<size_t>(group)), words)));
  }
  Value out = Value::object();
  out.set("per_layer", std::move(layers));
  return out;
}

}  // namespace ropewalk::golden
