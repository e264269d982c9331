// Cases of kind "layers": what each layer of a config.json does.
#include <algorithm>

#include "cli/golden/compute.h"
#include "ropewalk/base/error.h"
#include "ropewalk/config/model_config.h"
#include "ropewalk/schemes/registry.h"

namespace ropewalk::golden {
namespace {

bool is_linear(const LayerGroup& group) { return group.name.find("linear") != std::string::npos; }

bool has_temperature(const LayerGroup& group) {
  const QueryTemperature& temperature =
      group.rotary ? group.rotary->temperature : group.temperature;
  return temperature != QueryTemperature{};
}

std::string scheme_name(const LayerGroup& group) {
  return group.scheme.substr(0, group.scheme.find_first_of(",+"));
}

// What can truly be said of a layer that is rotated, in the words of cases.
std::vector<std::string> statements(const LayerGroup& group) {
  std::vector<std::string> said = {"rope", scheme_name(group)};
  if (has_temperature(group)) said.push_back("attn_temperature");
  if (scheme_name(group) == "rope") said.push_back("default");
  said.push_back("theta=" + to_text(static_cast<double>(group.rotary->source.base)));
  if (!group.rotary->spectrum.at(1).axis.empty()) said.push_back("mrope");
  return said;
}

std::string described(const LayerGroup& group) {
  if (group.rotary) return scheme_name(group);
  if (is_linear(group)) return "none (linear attention)";
  return has_temperature(group) ? "none+attn_temperature" : "none";
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == ' ' || c == '+' || c == ',') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

// A case says of its layers what tells them apart: the scheme, the base, the axes, or only that
// they are rotated. Its own words where all are true of the layer, else ours.
Value in_words_of(const Json& wanted, const LayerGroup& group) {
  const std::string ours = described(group);
  if (!wanted.is_string() || !group.rotary) return Value::exact(ours);
  const auto text = wanted.get<std::string>();
  const std::vector<std::string> said = statements(group);
  const auto is_true = [&](const std::string& word) {
    return std::ranges::find(said, word) != said.end();
  };
  return std::ranges::all_of(words_of(text), is_true) ? Value::reworded(ours, text)
                                                      : Value::exact(ours);
}

}  // namespace

Value compute_layers(const Json& golden) {
  if (rule_of(golden) != "layer_map") refuse_rule(golden);
  const ModelConfig config = read_hf_positions(with_floats(golden.at("config")), "config.json");
  const Json wanted = golden.value("per_layer", Json::array());
  Value layers = Value::list();
  for (size_t layer = 0; layer < config.group_of_layer.size(); ++layer) {
    const auto group = static_cast<size_t>(config.group_of_layer[layer]);
    const Json words = layer < wanted.size() ? wanted[layer] : Json();
    layers.push(in_words_of(words, config.groups.at(group)));
  }
  Value out = Value::object();
  out.set("per_layer", std::move(layers));
  return out;
}

}  // namespace ropewalk::golden
