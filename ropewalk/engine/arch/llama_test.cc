#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "ropewalk/engine/test_support.h"
#include "ropewalk/math/reference.h"
#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Tensors = std::map<std::string, MemorySource::Tensor>;

// Every width differs, so that no two can be taken for each other; the vocabulary makes up more
// than one block of outputs, and heads are not hidden / n_heads wide.
constexpr int64_t kHidden = 40, kHeads = 6, kKvHeads = 2, kHeadDim = 10, kRotary = 8, kFfn = 52,
                  kVocabulary = 800, kLayers = 2;

ModelConfig small_config(PairOrder order) {
  ModelConfig config;
  config.architecture = "llama";
  config.shape = {.n_layers = kLayers,
                  .hidden = kHidden,
                  .n_heads = kHeads,
                  .n_kv_heads = kKvHeads,
                  .head_dim = kHeadDim,
                  .ffn = kFfn,
                  .vocabulary = kVocabulary,
                  .norm_epsilon = 1e-3};
  set_single_group(
      config, kLayers,
      {.rotary = plain_rotary({.base = 10000.0, .frequency_dim = kRotary, .trained_length = 64},
                              {order, kHeadDim, kRotary})});
  return config;
}

Tensors hf_tensors() {
  std::mt19937 generator(5);
  Tensors tensors;
  const auto add = [&](const std::string& name, std::vector<uint64_t> shape, double deviation) {
    tensors[name + ".weight"] = random_tensor(std::move(shape), deviation, generator);
  };
  add("model.embed_tokens", {kVocabulary, kHidden}, 1);
  add("lm_head", {kVocabulary, kHidden}, 0.3);
  add("model.norm", {kHidden}, 1);
  for (int64_t n = 0; n < kLayers; ++n) {
    const std::string layer = "model.layers." + std::to_string(n) + ".";
    add(layer + "input_layernorm", {kHidden}, 1);
    add(layer + "self_attn.q_proj", {kHeads * kHeadDim, kHidden}, 0.2);
    add(layer + "self_attn.k_proj", {kKvHeads * kHeadDim, kHidden}, 0.2);
    add(layer + "self_attn.v_proj", {kKvHeads * kHeadDim, kHidden}, 0.2);
    add(layer + "self_attn.o_proj", {kHidden, kHeads * kHeadDim}, 0.1);
    add(layer + "post_attention_layernorm", {kHidden}, 1);
    add(layer + "mlp.gate_proj", {kFfn, kHidden}, 0.2);
    add(layer + "mlp.up_proj", {kFfn, kHidden}, 0.2);
    add(layer + "mlp.down_proj", {kHidden, kFfn}, 0.1);
  }
  return tensors;
}

// ---- the definition, in double

using Rows = std::vector<double>;  // (n_tokens, width)

Rows times(const Rows& x, int64_t inputs, const MemorySource::Tensor& weights) {
  const auto outputs = static_cast<int64_t>(weights.shape[0]);
  Rows y;
  for (size_t row = 0; row < x.size() / inputs; ++row) {
    for (int64_t o = 0; o < outputs; ++o) {
      double sum = 0;
      for (int64_t k = 0; k < inputs; ++k)
        sum += x[row * inputs + k] * static_cast<double>(weights.values[o * inputs + k]);
      y.push_back(sum);
    }
  }
  return y;
}

Rows normed(Rows x, const MemorySource::Tensor& weights) {
  for (size_t first = 0; first < x.size(); first += kHidden) {
    double squares = 0;
    for (int64_t k = 0; k < kHidden; ++k) squares += x[first + k] * x[first + k];
    const double scale = 1 / std::sqrt(squares / kHidden + 1e-3);
    for (int64_t k = 0; k < kHidden; ++k)
      x[first + k] *= scale * static_cast<double>(weights.values[k]);
  }
  return x;
}

void add_to(Rows& x, const Rows& y) {
  for (size_t k = 0; k < x.size(); ++k) x[k] += y[k];
}

// The logits of every token: (n_tokens, vocabulary).
Rows reference_logits(const Tensors& tensors, const Positions& positions,
                      const std::vector<int32_t>& ids) {
  const auto at = [&](const std::string& name) -> const MemorySource::Tensor& {
    return tensors.at(name + ".weight");
  };
  Rows x;
  for (const int32_t id : ids) {
    for (int64_t k = 0; k < kHidden; ++k)
      x.push_back(static_cast<double>(at("model.embed_tokens").values[id * kHidden + k]));
  }
  for (int64_t n = 0; n < kLayers; ++n) {
    const std::string layer = "model.layers." + std::to_string(n) + ".";
    Rows h = normed(x, at(layer + "input_layernorm"));
    const Rows mixed = reference_attention(positions.schemes[positions.layers[n]],
                                           {.n_tokens = static_cast<int64_t>(ids.size()),
                                            .n_heads = kHeads,
                                            .n_kv_heads = kKvHeads,
                                            .scale = {}},
                                           times(h, kHidden, at(layer + "self_attn.q_proj")),
                                           times(h, kHidden, at(layer + "self_attn.k_proj")),
                                           times(h, kHidden, at(layer + "self_attn.v_proj")));
    add_to(x, times(mixed, kHeads * kHeadDim, at(layer + "self_attn.o_proj")));
    h = normed(x, at(layer + "post_attention_layernorm"));
    Rows gate = times(h, kHidden, at(layer + "mlp.gate_proj"));
    const Rows up = times(h, kHidden, at(layer + "mlp.up_proj"));
    for (size_t k = 0; k < gate.size(); ++k) gate[k] *= up[k] / (1 + std::exp(-gate[k]));
    add_to(x, times(gate, kFfn, at(layer + "mlp.down_proj")));
  }
  return times(normed(x, at("model.norm")), kHidden, at("lm_head"));
}

// The engine's logits of every token.
std::vector<float> engine_logits(const ModelConfig& config, const Tensors& tensors, bool is_gguf,
                                 const Positions& positions, const std::vector<int32_t>& ids) {
  const MemorySource source(tensors);
  const auto decoder = decoder_of(config, source, is_gguf, Precision::kF32);
  const auto n = static_cast<int64_t>(ids.size());
  const auto cache = decoder->make_cache(n);
  EXPECT_EQ(cache->capacity(), n);
  const AlignedBuffer<float> states =
      decoder->forward({.ids = ids, .length = n, .positions = &positions}, *cache);
  std::vector<float> logits;
  std::vector<float> block(Dense::kBlockRows * kVocabulary);
  DenseScratch scratch;
  for (int64_t first = 0; first < n; first += Dense::kBlockRows) {
    const int64_t rows = std::min(Dense::kBlockRows, n - first);
    decoder->head().matrix().apply(states.data() + first * kHidden, rows, block.data(), scratch);
    logits.insert(logits.end(), block.begin(), block.begin() + rows * kVocabulary);
  }
  return logits;
}

// Few rows and more than a block of them take different ways.
#ifdef __SANITIZE_ADDRESS__
constexpr size_t kTokenCounts[] = {1, 16, 17, 130};
#else
constexpr size_t kTokenCounts[] = {1, 16, 17, 150};
#endif

TEST(Llama, GivesTheLogitsOfTheDefinition) {
  const Tensors tensors = hf_tensors();
  for (const PairOrder order : {PairOrder::kHalf, PairOrder::kInterleaved}) {
    const ModelConfig config = small_config(order);
    for (const char* scheme : {"rope", "log_tail,window=20+logn", "dynamic_ntk",
                               "yarn,factor=4+sinks,count=3,size=30"}) {
      const Positions positions = make_positions(config, {{.scheme = scheme, .first = 0, .last = 0},
                                                          {.scheme = "cap,window=25", .first = 1}});
      for (const size_t count : kTokenCounts) {
        const std::vector<int32_t> ids = some_tokens(count, kVocabulary);
        EXPECT_LE(worst_difference(engine_logits(config, tensors, false, positions, ids),
                                   reference_logits(tensors, positions, ids)),
                  2e-4)
            << scheme << ", " << count << " tokens";
      }
    }
  }
}

// The names of GGUF for the same tensors.
Tensors gguf_names(const Tensors& tensors) {
  const std::vector<std::pair<std::string, std::string>> pieces = {
      {"model.embed_tokens", "token_embd"}, {"lm_head", "output"},
      {"model.norm", "output_norm"},        {"model.layers", "blk"},
      {"input_layernorm", "attn_norm"},     {"self_attn.q_proj", "attn_q"},
      {"self_attn.k_proj", "attn_k"},       {"self_attn.v_proj", "attn_v"},
      {"self_attn.o_proj", "attn_output"},  {"post_attention_layernorm", "ffn_norm"},
      {"mlp.gate_proj", "ffn_gate"},        {"mlp.up_proj", "ffn_up"},
      {"mlp.down_proj", "ffn_down"},
  };
  Tensors renamed;
  for (const auto& [name, tensor] : tensors) {
    std::string other = name;
    for (const auto& [from, to] : pieces) {
      const size_t place = other.find(from);
      if (place != std::string::npos) other.replace(place, from.size(), to);
    }
    renamed[other] = tensor;
  }
  return renamed;
}

TEST(Llama, BothNamings) {
  const Tensors tensors = hf_tensors();
  const ModelConfig config = small_config(PairOrder::kHalf);
  const Positions positions = make_positions(config, {});
  const std::vector<int32_t> ids = some_tokens(20, kVocabulary);
  EXPECT_EQ(engine_logits(config, gguf_names(tensors), true, positions, ids),
            engine_logits(config, tensors, false, positions, ids));
}

TEST(Llama, WithoutAnOutputMatrixTheEmbeddingIsTaken) {
  Tensors tied = hf_tensors();
  tied["lm_head.weight"] = tied["model.embed_tokens.weight"];
  Tensors without = tied;
  without.erase("lm_head.weight");
  ModelConfig config = small_config(PairOrder::kHalf);
  config.shape.tied_output = true;
  const Positions positions = make_positions(config, {});
  const std::vector<int32_t> ids = some_tokens(20, kVocabulary);
  EXPECT_EQ(engine_logits(config, without, false, positions, ids),
            engine_logits(config, tied, false, positions, ids));
}

// transformers 5 ties nothing where the two differ, whatever the config says; nor does llama.cpp.
TEST(Llama, AnOutputMatrixThatIsThereCounts) {
  ModelConfig config = small_config(PairOrder::kHalf);
  const Positions positions = make_positions(config, {});
  const std::vector<int32_t> ids = some_tokens(20, kVocabulary);
  const Tensors tensors = hf_tensors();
  const auto wanted = engine_logits(config, tensors, false, positions, ids);
  config.shape.tied_output = true;
  EXPECT_EQ(engine_logits(config, tensors, false, positions, ids), wanted);
}

TEST(Llama, AnOutputMatrixThatTheConfigPromisesMustBeThere) {
  const ModelConfig config = small_config(PairOrder::kHalf);
  Tensors tensors = hf_tensors();
  tensors.erase("lm_head.weight");
  const MemorySource source(tensors);
  const auto build = [&](const nlohmann::ordered_json& json) {
    const Blueprint blueprint = describe_model(config, ModelKeys::of(json, "file"), "file");
    make_transformer(blueprint, config, source, Precision::kF32);
  };
  EXPECT_NO_THROW(build(nlohmann::ordered_json::object()));
  EXPECT_NO_THROW(build({{"tie_word_embeddings", true}}));
  EXPECT_THAT(message_of([&] {
                build({{"tie_word_embeddings", false}});
              }),
              AllOf(HasSubstr("lm_head.weight"), HasSubstr("must be present")));
}

TEST(Llama, EveryMissingTensorIsNamed) {
  const ModelConfig config = small_config(PairOrder::kHalf);
  for (const bool is_gguf : {false, true}) {
    const Tensors whole = is_gguf ? gguf_names(hf_tensors()) : hf_tensors();
    for (const auto& [name, tensor] : whole) {
      if (name == "lm_head.weight" || name == "output.weight") continue;
      Tensors tensors = whole;
      tensors.erase(name);
      const MemorySource source(tensors);
      EXPECT_THAT(message_of([&] { decoder_of(config, source, is_gguf, Precision::kF32); }),
                  HasSubstr(name));
    }
  }
}

TEST(Llama, EveryMisshapenTensorIsNamed) {
  const ModelConfig config = small_config(PairOrder::kHalf);
  const Tensors whole = hf_tensors();
  for (const auto& [name, tensor] : whole) {
    Tensors tensors = whole;
    MemorySource::Tensor& wrong = tensors[name];
    if (wrong.shape.size() == 2) {
      std::swap(wrong.shape[0], wrong.shape[1]);
    } else {
      wrong.shape[0] -= 1;
      wrong.values.pop_back();
    }
    const MemorySource source(tensors);
    const std::string message =
        message_of([&] { decoder_of(config, source, false, Precision::kF32); });
    EXPECT_THAT(message, HasSubstr(name));
    EXPECT_THAT(message, HasSubstr(shape_text(wrong.shape)));
    EXPECT_THAT(message, HasSubstr(shape_text(tensor.shape)));
  }
}

// A bias that nobody adds would make every answer wrong without a word; frequencies are the
// configuration's business.
TEST(Llama, ATensorOfAnotherFamilyIsNamed) {
  const ModelConfig config = small_config(PairOrder::kHalf);
  for (const std::string name :
       {"model.layers.1.self_attn.q_proj.bias", "model.layers.2.mlp.up_proj.weight"}) {
    Tensors tensors = hf_tensors();
    tensors[name] = {{kHidden}, std::vector<float>(kHidden)};
    const MemorySource source(tensors);
    EXPECT_THAT(message_of([&] { decoder_of(config, source, false, Precision::kF32); }),
                HasSubstr(name));
  }
  Tensors tensors = hf_tensors();
  tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = {{4}, std::vector<float>(4)};
  const MemorySource source(tensors);
  EXPECT_NE(decoder_of(config, source, false, Precision::kF32), nullptr);
}

TEST(Llama, ATypeThatIsNotDecodedIsNamed) {
  const ModelConfig config = small_config(PairOrder::kHalf);
  for (const char* name : {"model.layers.1.mlp.up_proj.weight", "model.norm.weight"}) {
    Tensors tensors = hf_tensors();
    tensors[name].type = TensorType::kI32;
    const MemorySource source(tensors);
    const std::string message =
        message_of([&] { decoder_of(config, source, false, Precision::kF32); });
    EXPECT_THAT(message, HasSubstr(name));
    EXPECT_THAT(message, HasSubstr("I32"));
  }
}

}  // namespace
}  // namespace ropewalk
