#include "ropewalk/engine/arch/families.h"

#include <algorithm>
#include <span>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

struct Family {
  const char* name;
  Describe describe;
};

// By general.architecture, as llama.cpp names them.
constexpr Family kGguf[] = {
    {"bloom", describe_bloom},
    {"cohere2", describe_command_r},
    {"command-r", describe_command_r},
    {"deepseek2", describe_deepseek2},
    {"exaone4", describe_exaone4},
    {"falcon", describe_falcon},
    {"gemma", describe_gemma},
    {"gemma2", describe_gemma},
    {"gemma3", describe_gemma},
    {"glm4", describe_glm4},
    {"gpt-oss", describe_gpt_oss},
    {"gpt2", describe_gpt2},
    {"gptneox", describe_gpt_neox},
    {"granite", describe_granite},
    {"granitemoe", describe_granite},
    {"internlm2", describe_llama},
    {"llama", describe_llama},
    {"llama4", describe_llama4},
    {"minicpm", describe_minicpm},
    {"minicpm3", describe_minicpm3},
    {"mpt", describe_mpt},
    {"nemotron", describe_nemotron},
    {"olmo", describe_olmo},
    {"olmo2", describe_olmo2},
    {"phi2", describe_phi2},
    {"phi3", describe_phi3},
    {"qwen2", describe_qwen},
    {"qwen2moe", describe_qwen_experts},
    {"qwen3", describe_qwen},
    {"qwen3moe", describe_qwen_experts},
    {"smollm3", describe_llama},
    {"stablelm", describe_stablelm},
    {"starcoder2", describe_starcoder2},
};

// By model_type.
constexpr Family kHf[] = {
    {"bloom", describe_bloom},
    {"cohere", describe_command_r},
    {"cohere2", describe_command_r},
    {"deepseek_v2", describe_deepseek2},
    {"exaone4", describe_exaone4},
    {"falcon", describe_falcon},
    {"gemma", describe_gemma},
    {"gemma2", describe_gemma},
    {"gemma3", describe_gemma},
    {"gemma3_text", describe_gemma},
    {"glm4", describe_glm4},
    {"gpt2", describe_gpt2},
    {"gpt_neox", describe_gpt_neox},
    {"gpt_oss", describe_gpt_oss},
    {"gptj", describe_gptj},
    {"granite", describe_granite},
    {"granitemoe", describe_granite},
    {"llama", describe_llama},
    {"llama4", describe_llama4},
    {"llama4_text", describe_llama4},
    {"minicpm3", describe_minicpm3},
    {"ministral3", describe_llama},
    {"mistral", describe_llama},
    {"mixtral", describe_llama},
    {"mpt", describe_mpt},
    {"nemotron", describe_nemotron},
    {"olmo", describe_olmo},
    {"olmo2", describe_olmo2},
    {"olmo3", describe_olmo2},
    {"opt", describe_opt},
    {"phi", describe_phi2},
    {"phi3", describe_phi3},
    {"qwen2", describe_qwen},
    {"qwen2_5_vl", describe_qwen},
    {"qwen2_5_vl_text", describe_qwen},
    {"qwen2_moe", describe_qwen_experts},
    {"qwen2_vl", describe_qwen},
    {"qwen2_vl_text", describe_qwen},
    {"qwen3", describe_qwen},
    {"qwen3_moe", describe_qwen_experts},
    {"qwen3_vl_moe_text", describe_qwen_experts},
    {"qwen3_vl_text", describe_qwen},
    {"smollm3", describe_llama},
    {"stablelm", describe_stablelm},
    {"starcoder2", describe_starcoder2},
};

struct EncoderFamily {
  const char* name;
  Describe describe;
  Describe describe_decoder;  // or null
};

// By general.architecture.
constexpr EncoderFamily kGgufEncoders[] = {
    {"bert", describe_bert, nullptr},
    {"modern-bert", describe_modern_bert, nullptr},
    {"nomic-bert", describe_nomic_bert, nullptr},
    {"t5", describe_t5_encoder, describe_t5_decoder},
    {"t5encoder", describe_t5_encoder, nullptr},
};

// By model_type.
constexpr EncoderFamily kHfEncoders[] = {
    {"bert", describe_bert, nullptr},
    {"camembert", describe_bert, nullptr},
    {"modernbert", describe_modern_bert, nullptr},
    {"mt5", describe_t5_encoder, describe_t5_decoder},
    {"nomic_bert", describe_nomic_bert, nullptr},
    {"roberta", describe_bert, nullptr},
    {"t5", describe_t5_encoder, describe_t5_decoder},
    {"umt5", describe_t5_encoder, describe_t5_decoder},
    {"xlm-roberta", describe_bert, nullptr},
};

std::span<const EncoderFamily> encoder_families(bool gguf) {
  return gguf ? std::span<const EncoderFamily>(kGgufEncoders) : kHfEncoders;
}

const EncoderFamily* find_encoder(const ModelConfig& config, const ModelKeys& keys) {
  for (const EncoderFamily& family : encoder_families(keys.is_gguf())) {
    if (config.architecture == family.name) return &family;
  }
  return nullptr;
}

std::string names_of(const auto& families) {
  std::string names;
  for (const auto& family : families)
    names += (names.empty() ? "" : ", ") + std::string(family.name);
  return names;
}

// Saved configs leave out what is a class's default, so only a word of the file counts.
bool says_own_output(const ModelKeys& keys) {
  return !keys.is_gguf() && keys.flag("tie_word_embeddings") == false;
}

}  // namespace

bool has_encoder(const ModelConfig& config, const ModelKeys& keys) {
  return find_encoder(config, keys) != nullptr;
}

EncoderBlueprints describe_encoder(const ModelConfig& config, const ModelKeys& keys,
                                   const std::string& place) {
  const EncoderFamily* const family = find_encoder(config, keys);
  if (family == nullptr) {
    throw Error(place, "must be an encoder that the engine runs: " + known_encoders(keys.is_gguf()),
                config.architecture)
        .of(FaultKind::kUnknownValue);
  }
  EncoderBlueprints found{.encoder = family->describe(config, keys), .decoder = {}, .cross = {}};
  if (family->describe_decoder == nullptr || is_t5_encoder_alone(keys)) return found;
  found.decoder = family->describe_decoder(config, keys);
  found.cross = t5_cross_names(keys);
  return found;
}

std::string known_families(bool gguf) { return gguf ? names_of(kGguf) : names_of(kHf); }

std::string known_encoders(bool gguf) { return names_of(encoder_families(gguf)); }

Blueprint describe_model(const ModelConfig& config, const ModelKeys& keys,
                         const std::string& place) {
  const auto find = [&](const auto& families) -> Describe {
    for (const Family& family : families) {
      if (config.architecture == family.name) return family.describe;
    }
    return nullptr;
  };
  if (const EncoderFamily* const encoder = find_encoder(config, keys)) {
    throw Error(
        place, "must be a decoder, which predicts the next token", config.architecture,
        encoder->describe_decoder == nullptr
            ? "an encoder sees the tokens behind each one, too: the next one is no guess of "
              "its own, and guesses of each from all others multiply to no probability of a "
              "text. `ropewalk states` gives its states, and with --logits-at what a "
              "masked-LM head guesses"
            : "`ropewalk losses --encoder-ids` says what its encoder reads")
        .of(FaultKind::kUnknownValue);
  }
  const Describe describe = keys.is_gguf() ? find(kGguf) : find(kHf);
  if (describe == nullptr) {
    throw Error(
        place, "must be of an architecture that the engine runs: " + known_families(keys.is_gguf()),
        config.architecture)
        .of(FaultKind::kUnknownValue);
  }
  Blueprint blueprint = describe(config, keys);
  blueprint.own_output = says_own_output(keys);
  return blueprint;
}

Blueprint plain_blueprint(const std::string& family, const ModelConfig& config) {
  Blueprint blueprint{.family = family, .shape = config.shape};
  for (const PositionMechanism& mechanism : config.mechanisms) {
    if (const auto* const table = std::get_if<LearnedTable>(&mechanism)) {
      blueprint.position_table = *table;
    } else if (const auto* const alibi = std::get_if<AlibiBias>(&mechanism)) {
      blueprint.alibi_slopes = alibi->slopes;
    } else if (std::holds_alternative<SegmentTable>(mechanism)) {
      blueprint.token_types = true;
    } else {
      throw Error(config.architecture, "must have positions that the engine runs",
                  "another mechanism", "`ropewalk show` tells which");
    }
  }
  return blueprint;
}

TensorNames usual_hf_names() {
  return {.layer = "model.layers.",
          .renames = {{"token_embd", "model.embed_tokens"},
                      {"output_norm", "model.norm"},
                      {"output", "lm_head"},
                      {"attn_norm", "input_layernorm"},
                      {"attn_q", "self_attn.q_proj"},
                      {"attn_k", "self_attn.k_proj"},
                      {"attn_v", "self_attn.v_proj"},
                      {"attn_output", "self_attn.o_proj"},
                      {"attn_q_norm", "self_attn.q_norm"},
                      {"attn_k_norm", "self_attn.k_norm"},
                      {"ffn_norm", "post_attention_layernorm"},
                      {"ffn_gate", "mlp.gate_proj"},
                      {"ffn_up", "mlp.up_proj"},
                      {"ffn_down", "mlp.down_proj"}}};
}

TensorNames usual_hf_names_but(const std::vector<Rename>& other) {
  TensorNames names = usual_hf_names();
  for (const Rename& rename : other) {
    std::erase_if(names.renames, [&](const Rename& usual) { return usual.ours == rename.ours; });
    names.renames.push_back(rename);
  }
  return names;
}

void take_hf(Blueprint& blueprint, const ModelKeys& keys, const std::vector<Rename>& other) {
  if (keys.is_gguf()) return;
  blueprint.names = usual_hf_names_but(other);
  blueprint.activation = declared_activation(keys, blueprint.activation);
}

std::vector<Rename> norms_behind() {
  return {{"post_attention_norm", "post_attention_layernorm"},
          {"post_ffw_norm", "post_feedforward_layernorm"}};
}

Storage dealt_heads(const ModelShape& shape) {
  const int64_t keys = shape.n_kv_heads * shape.head_dim;
  return {.parts = {shape.n_heads * shape.head_dim, keys, keys}, .groups = shape.n_kv_heads};
}

Storage each_expert(int64_t count) { return {.tensors = count, .matrices = count}; }

void require_flag(const ModelKeys& keys, const std::string& key, bool wanted) {
  const bool said = keys.flag(key).value_or(wanted);
  if (said == wanted) return;
  throw Error(key, std::string("must be ") + (wanted ? "true" : "false") + ": the other is not run",
              said ? "true" : "false")
      .of(FaultKind::kUnknownValue);
}

Activation declared_activation(const ModelKeys& keys, Activation otherwise) {
  std::optional<std::string> name;
  for (const char* key : {"hidden_act", "hidden_activation", "activation_function", "activation"}) {
    if (!name) name = keys.text(key);
  }
  return name ? activation_of_name(*name, "hidden_act") : otherwise;
}

Activation activation_of_name(const std::string& name, const std::string& key) {
  if (name == "silu" || name == "swish") return Activation::kSilu;
  if (name == "gelu") return Activation::kGelu;
  if (name == "gelu_new" || name == "gelu_pytorch_tanh" || name == "gelu_fast")
    return Activation::kGeluTanh;
  if (name == "relu") return Activation::kRelu;
  if (name == "relu2") return Activation::kReluSquared;
  throw Error(key, "must be silu, gelu, gelu_new, gelu_pytorch_tanh, relu or relu2", name)
      .of(FaultKind::kUnknownValue);
}

std::optional<ExpertKnobs> declared_experts(const ModelKeys& keys) {
  // config.json's name differs by family.
  std::string count_key = "expert_count";
  for (const char* key : {"num_local_experts", "num_experts", "n_routed_experts"}) {
    if (!keys.is_gguf() && keys.whole(key)) count_key = key;
  }
  const int64_t count = keys.whole(count_key).value_or(0);
  if (count == 0) return {};
  ExpertKnobs experts;
  experts.count = count;
  experts.used = keys.needed("expert_used_count", "num_experts_per_tok");
  if (experts.used < 1 || experts.used > count) {
    throw Error(keys.is_gguf() ? "expert_used_count" : "num_experts_per_tok",
                "must be from 1 to " + count_key + " = " + std::to_string(count),
                std::to_string(experts.used))
        .of(FaultKind::kOutOfRange);
  }
  experts.ffn = keys.whole("expert_feed_forward_length", "moe_intermediate_size").value_or(0);
  experts.scale =
      static_cast<float>(keys.number("expert_weights_scale", "routed_scaling_factor").value_or(1));
  if (experts.scale == 0) experts.scale = 1;  // llama.cpp takes 0 for none
  experts.normalised = keys.flag("expert_weights_norm", "norm_topk_prob").value_or(false);
  experts.groups = keys.whole("expert_group_count", "n_group").value_or(1);
  experts.used_groups =
      keys.whole("expert_group_used_count", "topk_group").value_or(experts.groups);
  if (experts.groups < 1 || count % experts.groups != 0) {
    throw Error("expert_group_count", "must divide " + count_key + " = " + std::to_string(count),
                std::to_string(experts.groups))
        .of(FaultKind::kNotDivisible);
  }
  switch (keys.whole("expert_gating_func").value_or(0)) {
    case 0:
    case 1:
      break;
    case 2:
      experts.gate = ExpertKnobs::Gate::kSigmoid;
      break;
    case 3:
      experts.gate = ExpertKnobs::Gate::kSoftmaxOfUsed;
      break;
    default:
      throw Error("expert_gating_func",
                  "must be 1 (softmax), 2 (sigmoid) or 3 (softmax of the used)",
                  std::to_string(keys.needed("expert_gating_func")))
          .of(FaultKind::kUnknownValue);
  }
  return experts;
}

}  // namespace ropewalk
