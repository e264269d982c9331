// The families that the engine runs: one file each, which says what sets it apart.
#ifndef ROPEWALK_ENGINE_ARCH_FAMILIES_H_
#define ROPEWALK_ENGINE_ARCH_FAMILIES_H_

#include <optional>
#include <string>

#include "ropewalk/config/model_config.h"
#include "ropewalk/engine/blueprint.h"
#include "ropewalk/engine/model_keys.h"

namespace ropewalk {

// The blueprint of a file's architecture (general.architecture or model_type). Throws Error where the
// engine does not run it, naming those it does, and where a key is missing or out of range.
//   place  the file, for messages
Blueprint describe_model(const ModelConfig& config, const ModelKeys& keys,
                         const std::string& place);

// Whether it is an encoder, or has one before its decoder: not what describe_model() takes.
bool has_encoder(const ModelConfig& config, const ModelKeys& keys);

// The blueprint of an encoder; and that of the decoder behind it, nothing where there is none. Throws
// Error as above.
struct EncoderBlueprints {
  Blueprint encoder;
  std::optional<Blueprint> decoder;
  TensorNames cross;  // of the decoder's attention to what the encoder has read
};
EncoderBlueprints describe_encoder(const ModelConfig& config, const ModelKeys& keys,
                                   const std::string& place);

// "bloom, ...": what describe_model() takes of GGUF files, or of Hugging Face directories.
std::string known_families(bool gguf);
// The same of describe_encoder().
std::string known_encoders(bool gguf);

// One family, under one of its names.
using Describe = Blueprint (*)(const ModelConfig& config, const ModelKeys& keys);

// What every family starts from: sizes, and positions that are no rotation.
Blueprint plain_blueprint(const std::string& family, const ModelConfig& config);

// The names that most Hugging Face checkpoints give to GGUF's parts.
TensorNames usual_hf_names();
// The same with some named otherwise, or more.
TensorNames usual_hf_names_but(const std::vector<Rename>& other);

// Of a Hugging Face directory: the usual names but for `other`, and the activation that config.json
// names. Leaves a GGUF file's blueprint alone.
void take_hf(Blueprint& blueprint, const ModelKeys& keys, const std::vector<Rename>& other = {});

// Norms behind each half alone: what OLMo 2 and EXAONE 4 call theirs.
std::vector<Rename> norms_behind();

// Queries, keys and values of one tensor, dealt by heads of keys.
Storage dealt_heads(const ModelShape& shape);

// A tensor for each expert.
Storage each_expert(int64_t count);

// Throws Error where config.json says that a flag is not as the engine has it.
void require_flag(const ModelKeys& keys, const std::string& key, bool wanted);

// Experts as a file's keys count them; nothing where it has none.
std::optional<ExpertKnobs> declared_experts(const ModelKeys& keys);

// By transformers' name. Throws Error, naming `key`, for one that is not known.
Activation activation_of_name(const std::string& name, const std::string& key);

// What hidden_act names; `otherwise` where it is absent. Throws Error for a name that is not known.
Activation declared_activation(const ModelKeys& keys, Activation otherwise);

Blueprint describe_llama(const ModelConfig& config, const ModelKeys& keys);
Blueprint describe_minicpm(const ModelConfig& config, const ModelKeys& keys);
Blueprint describe_llama4(const ModelConfig& config, const ModelKeys& keys);
Blueprint describe_qwen(const ModelConfig& config, const ModelKeys& keys);
Blueprint describe_qwen_experts(const ModelConfig& config, const ModelKeys& keys);
Blueprint describe_gemma(const ModelConfig& config, const ModelKeys& keys);
Blueprint describe_phi2(const ModelConfig& config, const ModelKeys& keys);
Blueprint describe_phi3(const ModelConfig& config, const ModelKeys& keys);
Blueprint describe_gpt_neox(const ModelConfig& config, const ModelKeys& keys);
Blueprint describe_gpt2(const ModelConfig& config, const ModelKeys& keys);
Blueprint describe_gptj(const ModelConfig& config, const ModelKeys& keys);
Blueprint describe_opt(const ModelConfig& config, const ModelKeys& keys);
Blueprint describe_bloom(const ModelConfig& config, const ModelKeys& keys);
Blueprint describe_mpt(const ModelConfig& config, const ModelKeys& keys);
Blueprint describe_falcon(const ModelConfig& config, const ModelKeys& keys);
Blueprint describe_stablelm(const ModelConfig& config, const ModelKeys& keys);
Blueprint describe_starcoder2(const ModelConfig& config, const ModelKeys& keys);
Blueprint describe_olmo(const ModelConfig& config, const ModelKeys& keys);
Blueprint describe_olmo2(const ModelConfig& config, const ModelKeys& keys);
Blueprint describe_granite(const ModelConfig& config, const ModelKeys& keys);
Blueprint describe_command_r(const ModelConfig& config, const ModelKeys& keys);
Blueprint describe_glm4(const ModelConfig& config, const ModelKeys& keys);
Blueprint describe_exaone4(const ModelConfig& config, const ModelKeys& keys);
Blueprint describe_nemotron(const ModelConfig& config, const ModelKeys& keys);
Blueprint describe_gpt_oss(const ModelConfig& config, const ModelKeys& keys);
Blueprint describe_deepseek2(const ModelConfig& config, const ModelKeys& keys);
Blueprint describe_minicpm3(const ModelConfig& config, const ModelKeys& keys);

// Encoders.
Blueprint describe_bert(const ModelConfig& config, const ModelKeys& keys);
Blueprint describe_modern_bert(const ModelConfig& config, const ModelKeys& keys);
Blueprint describe_nomic_bert(const ModelConfig& config, const ModelKeys& keys);
Blueprint describe_t5_encoder(const ModelConfig& config, const ModelKeys& keys);
Blueprint describe_t5_decoder(const ModelConfig& config, const ModelKeys& keys);
// Of an encoder's file without the decoder.
bool is_t5_encoder_alone(const ModelKeys& keys);
TensorNames t5_cross_names(const ModelKeys& keys);

}  // namespace ropewalk

#endif  // ROPEWALK_ENGINE_ARCH_FAMILIES_H_
