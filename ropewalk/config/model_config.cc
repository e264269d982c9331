#include "ropewalk/config/model_config.h"

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
  for (const std::optional<Rotary>& layer : config.layers) {
    if (layer) return layer->source.trained_length;
  }
  return 0;
}

}  // namespace ropewalk
