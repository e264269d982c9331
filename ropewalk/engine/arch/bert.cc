// BERT and RoBERTa: rows for token, position and token type, and norms of each half's sum. Source:
// Devlin et al. 2018, arXiv 1810.04805; Liu et al. 2019, arXiv 1907.11692. nomic-bert: no row for
// the position but rotation, and SwiGLU; Nussbaum et al. 2024, arXiv 2402.01613.
#include "ropewalk/engine/arch/families.h"

namespace ropewalk {

Blueprint describe_bert(const ModelConfig& config, const ModelKeys&) {
  Blueprint blueprint = plain_blueprint("BERT", config);
  blueprint.norm = NormKind::kLayer;
  blueprint.gated = false;
  // No key tells it; every BERT and RoBERTa that was published has it.
  blueprint.activation = Activation::kGelu;
  blueprint.attention_norm = "";
  blueprint.ffn_norm = "";
  blueprint.attention_post_norm = "attn_output_norm";
  blueprint.ffn_post_norm = "layer_output_norm";
  blueprint.norms_sums = true;
  return blueprint;
}

Blueprint describe_nomic_bert(const ModelConfig& config, const ModelKeys& keys) {
  Blueprint blueprint = describe_bert(config, keys);
  blueprint.family = "nomic-bert";
  blueprint.gated = true;
  blueprint.activation = Activation::kSilu;
  return blueprint;
}

}  // namespace ropewalk
