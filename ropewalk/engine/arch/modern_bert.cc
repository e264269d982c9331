// ModernBERT: rotary, layers that see a window on both sides between layers that see all, GeGLU,
// norms before each half but for the first. Source: Warner et al. 2024, arXiv 2412.13663.
#include "ropewalk/base/error.h"
#include "ropewalk/engine/arch/families.h"

namespace ropewalk {

Blueprint describe_modern_bert(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = plain_blueprint("ModernBERT", config);
  blueprint.norm = NormKind::kLayer;
  blueprint.activation = declared_activation(keys, Activation::kGelu);
  blueprint.bare_first = true;
  const int64_t window = keys.whole("attention.sliding_window").value_or(0);
  if (window < 0) {
    throw Error("attention.sliding_window", "must not be negative", std::to_string(window))
        .of(FaultKind::kOutOfRange);
  }
  for (int64_t n = 0; n < config.shape.n_layers; ++n) {
    const size_t entry = config.group_of_layer.size() == 1 ? 0 : static_cast<size_t>(n);
    const auto group = static_cast<size_t>(config.group_of_layer[entry]);
    const bool slides = config.groups[group].name == "sliding_attention";
    blueprint.side_window.push_back(slides && window != 0 ? window / 2 : kUnbounded);
  }
  return blueprint;
}

}  // namespace ropewalk
