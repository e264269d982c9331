// Encoders of Hugging Face directories: the same weights under transformers' names and under GGUF's
// give the same states, bit for bit.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "ropewalk/base/error.h"
#include "ropewalk/engine/both_ways_layers.h"
#include "ropewalk/engine/encoder.h"
#include "ropewalk/engine/test_support.h"

namespace ropewalk {
namespace {

using testing::HasSubstr;
using Json = nlohmann::ordered_json;
using Tensors = std::map<std::string, MemorySource::Tensor>;

constexpr uint64_t kHidden = 16, kHeads = 2, kFfn = 24, kVocabulary = 60, kRows = 40, kBuckets = 8;
constexpr int64_t kLayers = 3;

// The same tensors under both names.
class Twins {
 public:
  void add(const std::string& ours, const std::string& theirs, std::vector<uint64_t> shape) {
    const double deviation = shape.size() == 1 ? 0.5 : 1 / std::sqrt(shape.back());
    gguf[ours] = hf[theirs] = random_tensor(std::move(shape), deviation, generator_);
  }
  void matrix(const std::string& ours, const std::string& theirs, uint64_t outputs, uint64_t inputs,
              bool bias = false) {
    add(ours + ".weight", theirs + ".weight", {outputs, inputs});
    if (bias) add(ours + ".bias", theirs + ".bias", {outputs});
  }
  void norm(const std::string& ours, const std::string& theirs, bool bias = false) {
    add(ours + ".weight", theirs + ".weight", {kHidden});
    if (bias) add(ours + ".bias", theirs + ".bias", {kHidden});
  }

  Tensors gguf, hf;

 private:
  std::mt19937 generator_{5};
};

Twins bert_twins() {
  Twins twins;
  const std::string start = "bert.embeddings.";
  twins.matrix("token_embd", start + "word_embeddings", kVocabulary, kHidden);
  twins.matrix("position_embd", start + "position_embeddings", kRows, kHidden);
  twins.matrix("token_types", start + "token_type_embeddings", 2, kHidden);
  twins.norm("token_embd_norm", start + "LayerNorm", true);
  for (int64_t n = 0; n < kLayers; ++n) {
    const std::string ours = "blk." + std::to_string(n) + ".";
    const std::string theirs = "bert.encoder.layer." + std::to_string(n) + ".";
    twins.matrix(ours + "attn_q", theirs + "attention.self.query", kHidden, kHidden, true);
    twins.matrix(ours + "attn_k", theirs + "attention.self.key", kHidden, kHidden, true);
    twins.matrix(ours + "attn_v", theirs + "attention.self.value", kHidden, kHidden, true);
    twins.matrix(ours + "attn_output", theirs + "attention.output.dense", kHidden, kHidden, true);
    twins.norm(ours + "attn_output_norm", theirs + "attention.output.LayerNorm", true);
    twins.matrix(ours + "ffn_up", theirs + "intermediate.dense", kFfn, kHidden, true);
    twins.matrix(ours + "ffn_down", theirs + "output.dense", kHidden, kFfn, true);
    twins.norm(ours + "layer_output_norm", theirs + "output.LayerNorm", true);
  }
  return twins;
}

Twins modern_bert_twins() {
  Twins twins;
  twins.matrix("token_embd", "model.embeddings.tok_embeddings", kVocabulary, kHidden);
  twins.norm("token_embd_norm", "model.embeddings.norm");
  twins.norm("output_norm", "model.final_norm");
  for (int64_t n = 0; n < kLayers; ++n) {
    const std::string ours = "blk." + std::to_string(n) + ".";
    const std::string theirs = "model.layers." + std::to_string(n) + ".";
    if (n > 0) twins.norm(ours + "attn_norm", theirs + "attn_norm");
    twins.matrix(ours + "attn_qkv", theirs + "attn.Wqkv", 3 * kHidden, kHidden);
    twins.matrix(ours + "attn_output", theirs + "attn.Wo", kHidden, kHidden);
    twins.norm(ours + "ffn_norm", theirs + "mlp_norm");
    twins.matrix(ours + "ffn_up", theirs + "mlp.Wi", 2 * kFfn, kHidden);
    twins.matrix(ours + "ffn_down", theirs + "mlp.Wo", kHidden, kFfn);
  }
  return twins;
}

Twins nomic_twins() {
  Twins twins;
  twins.matrix("token_embd", "embeddings.word_embeddings", kVocabulary, kHidden);
  twins.matrix("token_types", "embeddings.token_type_embeddings", 2, kHidden);
  twins.norm("token_embd_norm", "emb_ln", true);
  for (int64_t n = 0; n < kLayers; ++n) {
    const std::string ours = "blk." + std::to_string(n) + ".";
    const std::string theirs = "encoder.layers." + std::to_string(n) + ".";
    twins.matrix(ours + "attn_qkv", theirs + "attn.Wqkv", 3 * kHidden, kHidden);
    twins.matrix(ours + "attn_output", theirs + "attn.out_proj", kHidden, kHidden);
    twins.norm(ours + "attn_output_norm", theirs + "norm1", true);
    twins.matrix(ours + "ffn_up", theirs + "mlp.fc11", kFfn, kHidden);
    twins.matrix(ours + "ffn_gate", theirs + "mlp.fc12", kFfn, kHidden);
    twins.matrix(ours + "ffn_down", theirs + "mlp.fc2", kHidden, kFfn);
    twins.norm(ours + "layer_output_norm", theirs + "norm2", true);
  }
  return twins;
}

Twins t5_twins(bool gated) {
  Twins twins;
  twins.matrix("token_embd", "shared", kVocabulary, kHidden);
  for (const bool decoder : {false, true}) {
    const std::string stack = decoder ? "dec." : "enc.", block = decoder ? "decoder." : "encoder.";
    twins.norm(stack + "output_norm", block + "final_layer_norm");
    for (int64_t n = 0; n < kLayers; ++n) {
      const std::string ours = stack + "blk." + std::to_string(n) + ".";
      const std::string theirs = block + "block." + std::to_string(n) + ".layer.";
      const std::string feed = theirs + (decoder ? "2." : "1.");
      const std::string inner = feed + "DenseReluDense.";
      twins.norm(ours + "attn_norm", theirs + "0.layer_norm");
      for (const std::string part : {"q", "k", "v", "o"}) {
        twins.matrix(ours + "attn_" + part, theirs + "0.SelfAttention." + part, kHidden, kHidden);
        if (decoder)
          twins.matrix(ours + "cross_attn_" + part, theirs + "1.EncDecAttention." + part, kHidden,
                       kHidden);
      }
      if (decoder) twins.norm(ours + "cross_attn_norm", theirs + "1.layer_norm");
      if (n == 0)
        twins.matrix(ours + "attn_rel_b", theirs + "0.SelfAttention.relative_attention_bias",
                     kBuckets, kHeads);
      twins.norm(ours + "ffn_norm", feed + "layer_norm");
      if (gated) twins.matrix(ours + "ffn_gate", inner + "wi_0", kFfn, kHidden);
      twins.matrix(ours + "ffn_up", inner + (gated ? "wi_1" : "wi"), kFfn, kHidden);
      twins.matrix(ours + "ffn_down", inner + "wo", kHidden, kFfn);
    }
  }
  return twins;
}

Json bert_json(const std::string& type = "bert") {
  return {{"model_type", type},
          {"hidden_size", kHidden},
          {"num_attention_heads", kHeads},
          {"num_hidden_layers", kLayers},
          {"intermediate_size", kFfn},
          {"vocab_size", kVocabulary},
          {"max_position_embeddings", kRows},
          {"hidden_act", "gelu"},
          {"layer_norm_eps", 1e-5}};
}

Json t5_json(bool gated) {
  return {{"model_type", "t5"},
          {"d_model", kHidden},
          {"d_kv", kHidden / kHeads},
          {"d_ff", kFfn},
          {"num_heads", kHeads},
          {"num_layers", kLayers},
          {"vocab_size", kVocabulary},
          {"relative_attention_num_buckets", kBuckets},
          {"relative_attention_max_distance", 20},
          {"feed_forward_proj", gated ? "gated-gelu" : "relu"}};
}

// What make_encoder() makes of a configuration and tensors.
struct Opened {
  ModelConfig config;
  std::unique_ptr<MemorySource> source;  // rows are read as they are asked for
  EncoderParts parts;

  std::vector<float> states(std::span<const int32_t> ids) const {
    const States states = parts.encoder->encode(ids, make_positions(config, {}), {});
    return {states.values.data(), states.values.data() + states.n * states.hidden};
  }
};

Opened open_as(const ModelConfig& config, const ModelKeys& keys, const Tensors& tensors,
               WithMaskedHead head = WithMaskedHead::kNo) {
  auto source = std::make_unique<MemorySource>(tensors);
  EncoderParts parts = make_encoder(describe_encoder(config, keys, "memory"), config, *source,
                                    Precision::kF32, head);
  return {config, std::move(source), std::move(parts)};
}

Opened of_directory(const Json& json, const Tensors& tensors,
                    WithMaskedHead head = WithMaskedHead::kNo) {
  return open_as(read_hf_config(json, "config.json"), ModelKeys::of(json, "config.json"), tensors,
                 head);
}

// The same sizes and positions; GGUF says the rest by itself.
Opened of_gguf(const Json& json, const std::string& architecture, const Tensors& tensors,
               const std::function<void(ModelConfig&)>& change = {}) {
  ModelConfig config = read_hf_config(json, "config.json");
  config.architecture = architecture;
  if (change) change(config);
  return open_as(config, ModelKeys(true), tensors);
}

std::string refusal(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was refused";
}

const std::vector<int32_t>& text() {
  static const std::vector<int32_t> ids = some_tokens(30, kVocabulary);
  return ids;
}

Tensors renamed(const Tensors& tensors, const std::string& from, const std::string& to) {
  Tensors result;
  for (const auto& [name, tensor] : tensors) {
    std::string other = name;
    const size_t at = other.find(from);
    if (at != other.npos) other.replace(at, from.size(), to);
    result[other] = tensor;
  }
  return result;
}

TEST(EncoderDirectory, BertUnderAnyOfItsNames) {
  const Twins twins = bert_twins();
  const std::vector<float> wanted = of_gguf(bert_json(), "bert", twins.gguf).states(text());
  EXPECT_EQ(of_directory(bert_json(), twins.hf).states(text()), wanted);
  EXPECT_EQ(of_directory(bert_json(), renamed(twins.hf, "bert.", "")).states(text()), wanted);
  Tensors older = renamed(twins.hf, "LayerNorm.weight", "LayerNorm.gamma");
  older = renamed(older, "LayerNorm.bias", "LayerNorm.beta");
  EXPECT_EQ(of_directory(bert_json(), older).states(text()), wanted);
}

TEST(EncoderDirectory, HeadsBehindTheStatesAreOfNoMatter) {
  const Twins twins = bert_twins();
  Tensors more = twins.hf;
  const MemorySource::Tensor any = twins.gguf.at("blk.0.attn_q.weight");
  for (const char* name :
       {"cls.predictions.transform.dense.weight", "bert.pooler.dense.weight", "classifier.weight"})
    more[name] = any;
  EXPECT_EQ(of_directory(bert_json(), more).states(text()),
            of_directory(bert_json(), twins.hf).states(text()));
  more["bert.encoder.layer.0.gate.weight"] = any;
  EXPECT_THAT(refusal([&] { of_directory(bert_json(), more); }), HasSubstr("layer.0.gate.weight"));
}

// The text begins behind the row of the padding token.
TEST(EncoderDirectory, RobertaBeginsBehindItsPadding) {
  const Twins twins = bert_twins();
  Json json = bert_json("roberta");
  json["pad_token_id"] = 1;
  Tensors cut = twins.gguf;
  MemorySource::Tensor& rows = cut.at("position_embd.weight");
  rows.values.erase(rows.values.begin(), rows.values.begin() + 2 * kHidden);
  rows.shape[0] -= 2;
  const auto from_first_row = [](ModelConfig& config) {
    config.mechanisms = {LearnedTable{.n_rows = kRows - 2}, SegmentTable{.n_types = 2}};
  };
  EXPECT_EQ(of_directory(json, renamed(twins.hf, "bert.", "roberta.")).states(text()),
            of_gguf(bert_json(), "bert", cut, from_first_row).states(text()));
  const std::vector<int32_t> long_text = some_tokens(kRows - 1, kVocabulary);
  EXPECT_THAT(refusal([&] { of_directory(json, twins.hf).states(long_text); }),
              HasSubstr("one of the 38"));
}

TEST(EncoderDirectory, BertWithOtherPositionsIsRefused) {
  const Twins twins = bert_twins();
  for (const char* type : {"alibi", "rotary"}) {
    Json json = bert_json();
    json["position_embedding_type"] = type;
    EXPECT_THAT(refusal([&] { of_directory(json, twins.hf); }), HasSubstr("absolute")) << type;
  }
  Json decoder = bert_json();
  decoder["is_decoder"] = true;
  EXPECT_THAT(refusal([&] { of_directory(decoder, twins.hf); }), HasSubstr("is_decoder"));
}

TEST(EncoderDirectory, ModernBertSeesAsFarOnBothSides) {
  const Twins twins = modern_bert_twins();
  Json json = bert_json("modernbert");
  json["local_attention"] = 8;
  json["norm_eps"] = 1e-5;
  const Opened opened = of_directory(json, twins.hf);
  const std::vector<float> states = opened.states(text());
  // The layers between see 4 tokens on each side; without their windows, all.
  json["local_attention"] = 8 * kRows;
  EXPECT_NE(of_directory(json, twins.hf).states(text()), states);
  // GGUF's way to say it: no window in the scheme.
  const Opened plain = of_gguf(json, "modern-bert", twins.gguf, [](ModelConfig& config) {
    for (LayerGroup& group : config.groups) group.rotary->visibility.window = kUnbounded;
  });
  json["local_attention"] = 1000;
  EXPECT_EQ(of_directory(json, twins.hf).states(text()), plain.states(text()));
  // Another window than the layers' own is refused as before.
  const Positions other = make_positions(opened.config, {{.scheme = "window,size=3"}});
  EXPECT_THAT(refusal([&] { opened.parts.encoder->encode(text(), other, {}); }),
              HasSubstr("one spectrum"));
}

// Logits by their definition, in double.
std::vector<double> guessed(const Tensors& tensors, std::span<const float> state,
                            const std::string& dense, const std::string& norm,
                            const std::string& matrix, const std::string& bias) {
  const auto at = [&](const std::string& name, size_t k) {
    const auto found = tensors.find(name);
    return found == tensors.end() ? 0 : static_cast<double>(found->second.values[k]);
  };
  const auto product = [&](const std::string& name, size_t row, const std::vector<double>& x) {
    double sum = 0;
    for (size_t c = 0; c < kHidden; ++c) sum += at(name, row * kHidden + c) * x[c];
    return sum;
  };
  const std::vector<double> x(state.begin(), state.end());
  std::vector<double> inner;
  double mean = 0, variance = 0;
  for (size_t r = 0; r < kHidden; ++r) {
    const double y = product(dense + ".weight", r, x) + at(dense + ".bias", r);
    inner.push_back(y / 2 * std::erfc(-y / std::sqrt(2.0)));
    mean += inner.back() / kHidden;
  }
  for (const double y : inner) variance += (y - mean) * (y - mean) / kHidden;
  for (size_t r = 0; r < kHidden; ++r) {
    inner[r] = (inner[r] - mean) / std::sqrt(variance + 1e-5) * at(norm + ".weight", r) +
               at(norm + ".bias", r);
  }
  std::vector<double> logits;
  for (size_t id = 0; id < kVocabulary; ++id)
    logits.push_back(product(matrix, id, inner) + at(bias, id));
  return logits;
}

struct HeadNames {
  std::string type, dense, norm, output, bias, embedding;
};

class HeadsOfMaskedTokens : public testing::TestWithParam<HeadNames> {};

TEST_P(HeadsOfMaskedTokens, AreTheirDefinition) {
  const HeadNames& names = GetParam();
  const bool biased = names.type != "modernbert";
  Json json = bert_json(names.type);
  json["norm_eps"] = 1e-5;
  Tensors tensors = biased ? bert_twins().hf : modern_bert_twins().hf;
  EXPECT_THAT(refusal([&] { of_directory(json, tensors, WithMaskedHead::kYes); }),
              HasSubstr(names.dense));
  std::mt19937 generator(9);
  tensors[names.dense + ".weight"] = random_tensor({kHidden, kHidden}, 0.3, generator);
  tensors[names.norm + ".weight"] = random_tensor({kHidden}, 1, generator);
  for (const std::string& part : {names.dense, names.norm}) {
    if (biased) tensors[part + ".bias"] = random_tensor({kHidden}, 1, generator);
  }
  tensors[names.bias] = random_tensor({kVocabulary}, 1, generator);
  for (const std::string& matrix : {names.embedding, names.output}) {
    if (matrix == names.output)
      tensors[matrix] = random_tensor({kVocabulary, kHidden}, 1, generator);
    const Opened opened = of_directory(json, tensors, WithMaskedHead::kYes);
    const std::vector<float> states = opened.states(text());
    const std::span<const float> state = std::span(states).subspan(3 * kHidden, kHidden);
    std::vector<float> logits(kVocabulary);
    opened.parts.masked_head->logits_of_one(state, logits);
    const std::vector<double> wanted =
        guessed(tensors, state, names.dense, names.norm, matrix, names.bias);
    EXPECT_LE(worst_difference(logits, wanted), 2e-5) << matrix;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, HeadsOfMaskedTokens,
    testing::Values(HeadNames{"bert", "cls.predictions.transform.dense",
                              "cls.predictions.transform.LayerNorm",
                              "cls.predictions.decoder.weight", "cls.predictions.bias",
                              "bert.embeddings.word_embeddings.weight"},
                    HeadNames{"roberta", "lm_head.dense", "lm_head.layer_norm",
                              "lm_head.decoder.weight", "lm_head.bias",
                              "bert.embeddings.word_embeddings.weight"},
                    HeadNames{"modernbert", "head.dense", "head.norm", "decoder.weight",
                              "decoder.bias", "model.embeddings.tok_embeddings.weight"}),
    [](const auto& given) { return given.param.type; });

TEST(EncoderDirectory, FamiliesWithoutAHeadOfMaskedTokensSaySo) {
  Json json = bert_json("nomic_bert");
  json.erase("hidden_act");
  EXPECT_THAT(refusal([&] { of_directory(json, nomic_twins().hf, WithMaskedHead::kYes); }),
              HasSubstr("guesses masked tokens"));
}

TEST(EncoderDirectory, NomicBertOfBothConfigurations) {
  const Twins twins = nomic_twins();
  Json json = bert_json("nomic_bert");
  json.erase("hidden_act");
  const std::vector<float> wanted = of_gguf(json, "nomic-bert", twins.gguf).states(text());
  EXPECT_EQ(of_directory(json, twins.hf).states(text()), wanted);
  const Json makers = {{"model_type", "nomic_bert"},
                       {"n_embd", kHidden},
                       {"n_head", kHeads},
                       {"n_layer", kLayers},
                       {"n_inner", kFfn},
                       {"vocab_size", kVocabulary},
                       {"n_positions", kRows},
                       {"activation_function", "swiglu"},
                       {"layer_norm_epsilon", 1e-5},
                       {"prenorm", false}};
  Tensors prefixed;
  for (const auto& [name, tensor] : twins.hf) prefixed["bert." + name] = tensor;
  EXPECT_EQ(of_directory(makers, prefixed).states(text()), wanted);
  Json other = makers;
  other["activation_function"] = "gelu";
  EXPECT_THAT(refusal([&] { of_directory(other, twins.hf); }), HasSubstr("swiglu"));
}

TEST(EncoderDirectory, T5OfBothVersions) {
  for (const bool gated : {false, true}) {
    const Twins twins = t5_twins(gated);
    const Json json = t5_json(gated);
    const auto tied = [](ModelConfig& config) { config.shape.tied_output = true; };
    const Opened ours = of_gguf(json, "t5", twins.gguf, tied);
    const Opened theirs = of_directory(json, twins.hf);
    EXPECT_EQ(theirs.states(text()), ours.states(text()));
    const auto losses_of = [](const Opened& opened) {
      const States read =
          opened.parts.encoder->encode(text(), make_positions(opened.config, {}), {});
      const States said = opened.parts.decoder->decode(std::span(text()).first(20), read);
      std::vector<double> losses(20);
      opened.parts.decoder->head().losses(said.values.data(), std::span(text()).subspan(1), losses);
      return losses;
    };
    EXPECT_EQ(losses_of(theirs), losses_of(ours));
    // Version 1.1 has an output matrix of its own, and nothing is scaled, whichever key says it.
    Tensors own = twins.hf;
    own["lm_head.weight"] = own.at("shared.weight");
    for (const char* key : {"tie_word_embeddings", "scale_decoder_outputs"}) {
      Json unscaled = json;
      unscaled[key] = false;
      EXPECT_GT(worst_difference(losses_of(of_directory(unscaled, own)), losses_of(ours)), 0.1)
          << key;
    }
  }
}

TEST(EncoderDirectory, T5EncodersAlone) {
  Tensors tensors = t5_twins(true).hf;
  std::erase_if(tensors, [](const auto& entry) { return entry.first.starts_with("decoder."); });
  Json json = t5_json(true);
  EXPECT_THAT(refusal([&] { of_directory(json, tensors); }), HasSubstr("decoder."));
  json["architectures"] = {"T5EncoderModel"};
  EXPECT_EQ(of_directory(json, tensors).parts.decoder, nullptr);
  json.erase("architectures");
  json["is_encoder_decoder"] = false;
  EXPECT_EQ(of_directory(json, tensors).parts.decoder, nullptr);
}

}  // namespace
}  // namespace ropewalk
