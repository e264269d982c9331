// BLOOM, MPT: ALiBi. Falcon: both halves beside each other, few heads of keys. Source: BigScience 2022,
// arXiv 2211.05100; MosaicML 2023, "MPT-7B"; Almazrouei et al. 2023, arXiv 2311.16867.
#include "ropewalk/engine/arch/families.h"

namespace ropewalk {

Blueprint describe_bloom(const ModelConfig& config, const ModelKeys&) {
  Blueprint blueprint = plain_blueprint("BLOOM", config);
  blueprint.norm = NormKind::kLayer;
  blueprint.gated = false;
  blueprint.activation = Activation::kGeluTanh;
  return blueprint;
}

Blueprint describe_mpt(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = plain_blueprint("MPT", config);
  blueprint.norm = NormKind::kLayer;
  blueprint.gated = false;
  blueprint.activation = Activation::kGelu;
  blueprint.clip = static_cast<float>(keys.number("attention.clamp_kqv").value_or(0));
  blueprint.qk_norm = Presence::kIfThere;
  blueprint.qk_norm_whole = true;
  return blueprint;
}

Blueprint describe_falcon(const ModelConfig& config, const ModelKeys&) {
  Blueprint blueprint = plain_blueprint("Falcon", config);
  blueprint.norm = NormKind::kLayer;
  blueprint.gated = false;
  blueprint.parallel = true;
  blueprint.activation = Activation::kGelu;
  return blueprint;
}

}  // namespace ropewalk
