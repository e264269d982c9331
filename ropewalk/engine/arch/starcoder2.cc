// StarCoder2: LayerNorm, biases everywhere, grouped keys. Source: Lozhkov et al. 2024, arXiv 2402.19173.
#include "ropewalk/engine/arch/families.h"

namespace ropewalk {

Blueprint describe_starcoder2(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = plain_blueprint("StarCoder2", config);
  blueprint.norm = NormKind::kLayer;
  blueprint.gated = false;
  blueprint.activation = Activation::kGeluTanh;
  take_hf(blueprint, keys, {{"ffn_up", "mlp.c_fc"}, {"ffn_down", "mlp.c_proj"}});
  return blueprint;
}

}  // namespace ropewalk
