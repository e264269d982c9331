// Encoders against the definition in double.
#include "ropewalk/engine/encoder.h"

#include <gmock/gmock.h>

#include "ropewalk/engine/both_ways_layers.h"
#include "ropewalk/engine/test_support.h"
#include "ropewalk/math/reference.h"

namespace ropewalk {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Tensors = std::map<std::string, MemorySource::Tensor>;
using Rows = std::vector<double>;  // (tokens, width)

constexpr int64_t kHidden = 24, kHeads = 4, kHeadDim = 6, kFfn = 40, kVocabulary = 300, kLayers = 2;
constexpr int64_t kPositions = 150, kBuckets = 8;
constexpr double kEpsilon = 1e-3;

ModelConfig config_of(const std::string& architecture, std::optional<Rotary> rotary = {}) {
  ModelConfig config;
  config.architecture = architecture;
  config.shape = {.n_layers = kLayers,
                  .hidden = kHidden,
                  .n_heads = kHeads,
                  .n_kv_heads = kHeads,
                  .head_dim = kHeadDim,
                  .ffn = kFfn,
                  .vocabulary = kVocabulary,
                  .norm_epsilon = kEpsilon};
  set_single_group(config, kLayers, {.rotary = std::move(rotary)});
  return config;
}

class Maker {
 public:
  void add(const std::string& name, std::vector<uint64_t> shape, double deviation) {
    tensors[name] = random_tensor(std::move(shape), deviation, generator_);
  }
  void matrix(const std::string& part, uint64_t outputs, uint64_t inputs, bool bias) {
    add(part + ".weight", {outputs, inputs}, 1 / std::sqrt(static_cast<double>(inputs)));
    if (bias) add(part + ".bias", {outputs}, 0.3);
  }
  void norm(const std::string& part, bool bias) {
    add(part + ".weight", {kHidden}, 0.5);
    if (bias) add(part + ".bias", {kHidden}, 0.3);
  }
  void attention(const std::string& part, const std::string& output, bool bias) {
    for (const char* name : {"q", "k", "v"}) matrix(part + name, kHeads * kHeadDim, kHidden, bias);
    matrix(part + output, kHidden, kHeads * kHeadDim, bias);
  }

  Tensors tensors;

 private:
  std::mt19937 generator_{7};
};

Tensors bert_tensors() {
  Maker maker;
  maker.add("token_embd.weight", {kVocabulary, kHidden}, 1);
  maker.add("token_types.weight", {2, kHidden}, 1);
  maker.add("position_embd.weight", {kPositions, kHidden}, 1);
  maker.norm("token_embd_norm", true);
  for (int64_t n = 0; n < kLayers; ++n) {
    const std::string layer = "blk." + std::to_string(n) + ".";
    maker.attention(layer + "attn_", "output", true);
    maker.norm(layer + "attn_output_norm", true);
    maker.matrix(layer + "ffn_up", kFfn, kHidden, true);
    maker.matrix(layer + "ffn_down", kHidden, kFfn, true);
    maker.norm(layer + "layer_output_norm", true);
  }
  return maker.tensors;
}

ModelConfig bert_config() {
  ModelConfig config = config_of("bert");
  config.mechanisms = {LearnedTable{.n_rows = kPositions}, SegmentTable{.n_types = 2}};
  return config;
}

Tensors t5_tensors() {
  Maker maker;
  maker.add("token_embd.weight", {kVocabulary, kHidden}, 1);
  for (const std::string stack : {"enc.", "dec."}) {
    maker.norm(stack + "output_norm", false);
    for (int64_t n = 0; n < kLayers; ++n) {
      const std::string layer = stack + "blk." + std::to_string(n) + ".";
      maker.norm(layer + "attn_norm", false);
      maker.attention(layer + "attn_", "o", false);
      if (n == 0) maker.add(layer + "attn_rel_b.weight", {kBuckets, kHeads}, 1);
      if (stack == "dec.") {
        maker.norm(layer + "cross_attn_norm", false);
        maker.attention(layer + "cross_attn_", "o", false);
      }
      maker.norm(layer + "ffn_norm", false);
      maker.matrix(layer + "ffn_up", kFfn, kHidden, false);
      maker.matrix(layer + "ffn_down", kHidden, kFfn, false);
    }
  }
  return maker.tensors;
}

ModelConfig t5_config() {
  ModelConfig config = config_of("t5");
  config.shape.tied_output = true;
  config.mechanisms = {T5Buckets{.n_buckets = kBuckets, .max_distance = 20, .bidirectional = true},
                       T5Buckets{.n_buckets = kBuckets, .max_distance = 20}};
  return config;
}

// ---- the definition

struct Definition {
  const Tensors& tensors;

  double value(const std::string& name, int64_t at) const {
    return static_cast<double>(tensors.at(name).values[static_cast<size_t>(at)]);
  }

  Rows times(const Rows& x, int64_t inputs, const std::string& part) const {
    const auto outputs = static_cast<int64_t>(tensors.at(part + ".weight").shape[0]);
    Rows y;
    for (size_t first = 0; first < x.size(); first += static_cast<size_t>(inputs)) {
      for (int64_t o = 0; o < outputs; ++o) {
        double sum = tensors.contains(part + ".bias") ? value(part + ".bias", o) : 0;
        for (int64_t k = 0; k < inputs; ++k)
          sum += x[first + static_cast<size_t>(k)] * value(part + ".weight", o * inputs + k);
        y.push_back(sum);
      }
    }
    return y;
  }

  // With a bias LayerNorm, without one RMSNorm.
  Rows normed(Rows x, const std::string& part) const {
    const bool centred = tensors.contains(part + ".bias");
    for (size_t first = 0; first < x.size(); first += kHidden) {
      double mean = 0, squares = 0;
      for (size_t c = 0; centred && c < kHidden; ++c) mean += x[first + c] / kHidden;
      for (size_t c = 0; c < kHidden; ++c) squares += std::pow(x[first + c] - mean, 2) / kHidden;
      for (size_t c = 0; c < kHidden; ++c) {
        const auto at = static_cast<int64_t>(c);
        x[first + c] =
            (x[first + c] - mean) / std::sqrt(squares + kEpsilon) * value(part + ".weight", at);
        if (centred) x[first + c] += value(part + ".bias", at);
      }
    }
    return x;
  }

  // logit(head, i, j, product); minus infinity where it does not look.
  template <typename Logit>
  Rows attended(const Rows& from, const Rows& to, const std::string& part,
                const std::string& output, const Logit& logit) const {
    const Rows q = times(from, kHidden, part + "q"), k = times(to, kHidden, part + "k");
    const Rows v = times(to, kHidden, part + "v");
    constexpr int64_t kWidth = kHeads * kHeadDim;
    Rows sums(q.size());
    for (int64_t i = 0; i < std::ssize(q) / kWidth; ++i) {
      for (int64_t head = 0; head < kHeads; ++head) {
        Rows weights;
        double total = 0;
        for (int64_t j = 0; j < std::ssize(k) / kWidth; ++j) {
          double product = 0;
          for (int64_t c = head * kHeadDim; c < (head + 1) * kHeadDim; ++c)
            product +=
                q[static_cast<size_t>(i * kWidth + c)] * k[static_cast<size_t>(j * kWidth + c)];
          weights.push_back(std::exp(logit(head, i, j, product)));
          total += weights.back();
        }
        for (size_t j = 0; j < weights.size(); ++j) {
          for (int64_t c = head * kHeadDim; c < (head + 1) * kHeadDim; ++c)
            sums[static_cast<size_t>(i * kWidth + c)] +=
                weights[j] / total * v[j * kWidth + static_cast<size_t>(c)];
        }
      }
    }
    return times(sums, kWidth, part + output);
  }

  template <typename Activation>
  Rows fed(const Rows& x, const std::string& layer, const Activation& f) const {
    Rows inner = times(x, kHidden, layer + "ffn_up");
    for (double& value : inner) value = f(value);
    return times(inner, kFfn, layer + "ffn_down");
  }

  Rows embedded(std::span<const int32_t> ids) const {
    Rows x;
    for (const int32_t id : ids) {
      for (int64_t c = 0; c < kHidden; ++c)
        x.push_back(value("token_embd.weight", id * kHidden + c));
    }
    return x;
  }
};

Rows sum(Rows a, const Rows& b) {
  for (size_t k = 0; k < a.size(); ++k) a[k] += b[k];
  return a;
}

double gelu(double x) { return x / 2 * std::erfc(-x / std::sqrt(2.0)); }

Rows bert_states(const Tensors& tensors, std::span<const int32_t> ids) {
  const Definition def{tensors};
  Rows x = def.embedded(ids);
  for (int64_t k = 0; k < std::ssize(x); ++k) {
    x[static_cast<size_t>(k)] +=
        def.value("token_types.weight", k % kHidden) + def.value("position_embd.weight", k);
  }
  x = def.normed(x, "token_embd_norm");
  for (int64_t n = 0; n < kLayers; ++n) {
    const std::string layer = "blk." + std::to_string(n) + ".";
    const auto logit = [](int64_t, int64_t, int64_t, double product) {
      return product / std::sqrt(static_cast<double>(kHeadDim));
    };
    x = def.normed(sum(x, def.attended(x, x, layer + "attn_", "output", logit)),
                   layer + "attn_output_norm");
    x = def.normed(sum(x, def.fed(x, layer, gelu)), layer + "layer_output_norm");
  }
  return x;
}

// Of either stack.
Rows t5_states(const Tensors& tensors, std::span<const int32_t> ids, const Rows* encoded) {
  const Definition def{tensors};
  const std::string stack = encoded == nullptr ? "enc." : "dec.";
  const T5Buckets buckets{
      .n_buckets = kBuckets, .max_distance = 20, .bidirectional = encoded == nullptr};
  Rows x = def.embedded(ids);
  for (int64_t n = 0; n < kLayers; ++n) {
    const std::string layer = stack + "blk." + std::to_string(n) + ".";
    const auto biased = [&](int64_t head, int64_t i, int64_t j, double product) {
      if (encoded != nullptr && j > i) return -std::numeric_limits<double>::infinity();
      return product +
             def.value(stack + "blk.0.attn_rel_b.weight", buckets.bucket(j - i) * kHeads + head);
    };
    const Rows in = def.normed(x, layer + "attn_norm");
    x = sum(x, def.attended(in, in, layer + "attn_", "o", biased));
    if (encoded != nullptr) {
      const auto plain = [](int64_t, int64_t, int64_t, double product) { return product; };
      x = sum(x, def.attended(def.normed(x, layer + "cross_attn_norm"), *encoded,
                              layer + "cross_attn_", "o", plain));
    }
    const auto relu = [](double value) { return std::max(value, 0.0); };
    x = sum(x, def.fed(def.normed(x, layer + "ffn_norm"), layer, relu));
  }
  return def.normed(x, stack + "output_norm");
}

// ---- the engine

EncoderParts parts_of(const ModelConfig& config, const TensorSource& source) {
  return make_encoder(describe_encoder(config, ModelKeys(true), "memory"), config, source,
                      Precision::kF32);
}

std::span<const float> rows_of(const States& states) {
  return std::span<const float>(states.values).first(static_cast<size_t>(states.n * states.hidden));
}

constexpr double kBound = 2e-5;  // float32, through two layers of values of size 1 to 10

TEST(Encoder, BertIsItsDefinition) {
  const Tensors tensors = bert_tensors();
  const MemorySource source(tensors);
  const ModelConfig config = bert_config();
  const EncoderParts parts = parts_of(config, source);
  EXPECT_EQ(parts.decoder, nullptr);
  const Positions positions = make_positions(config, {});
  for (const size_t n : {1, 5, 16, 17, 140}) {
    SCOPED_TRACE(n);
    const std::vector<int32_t> ids = some_tokens(n, kVocabulary);
    const States states = parts.encoder->encode(ids, positions, {});
    EXPECT_LE(worst_difference(rows_of(states), bert_states(tensors, ids)), kBound);
  }
}

TEST(Encoder, T5AndItsDecoderAreTheirDefinition) {
  const Tensors tensors = t5_tensors();
  const MemorySource source(tensors);
  const ModelConfig config = t5_config();
  const EncoderParts parts = parts_of(config, source);
  ASSERT_NE(parts.decoder, nullptr);
  const std::vector<int32_t> read = some_tokens(135, kVocabulary);
  const std::vector<int32_t> said = some_tokens(41, kVocabulary);
  const States encoded = parts.encoder->encode(read, make_positions(config, {}), {});
  const Rows wanted = t5_states(tensors, read, nullptr);
  EXPECT_LE(worst_difference(rows_of(encoded), wanted), kBound);
  const States decoded = parts.decoder->decode(said, encoded);
  EXPECT_LE(worst_difference(rows_of(decoded), t5_states(tensors, said, &wanted)), kBound);
  // Version 1.0 takes the states by 1 / sqrt(hidden) before the embedding's matrix.
  std::vector<float> logits(kVocabulary, 1);
  parts.decoder->head().finish(0, logits);
  EXPECT_FLOAT_EQ(logits[5], 1 / std::sqrt(static_cast<float>(kHidden)));
}

TEST(Encoder, ThreadsDoNotChangeABit) {
  const MemorySource source(t5_tensors());
  const ModelConfig config = t5_config();
  const EncoderParts parts = parts_of(config, source);
  const Positions positions = make_positions(config, {});
  const std::vector<int32_t> ids = some_tokens(300, kVocabulary);
  const auto both = [&](int count) {
    const Threads threads(count);
    const States encoded = parts.encoder->encode(ids, positions, {});
    std::vector<float> all = copy(rows_of(encoded));
    const States decoded = parts.decoder->decode(ids, encoded);
    for (const float value : rows_of(decoded)) all.push_back(value);
    return all;
  };
  EXPECT_EQ(both(1), both(3));
}

// A window, and rotation by the file's rule or another, change what the definition says they do.
TEST(Encoder, RotationAndWindowsGoByDistance) {
  Tensors tensors = bert_tensors();
  tensors.erase("position_embd.weight");
  const Rotary rotary = plain_rotary({.base = 100.0, .frequency_dim = 6, .trained_length = 64},
                                     {PairOrder::kHalf, kHeadDim, 6});
  ModelConfig config = config_of("bert", rotary);
  config.mechanisms = {SegmentTable{.n_types = 2}};
  const MemorySource source(tensors);
  EncoderBlueprints blueprints = describe_encoder(config, ModelKeys(true), "memory");
  blueprints.encoder.side_window = {3, kUnbounded};
  const EncoderParts parts = make_encoder(blueprints, config, source, Precision::kF32);
  const std::vector<int32_t> ids = some_tokens(20, kVocabulary);
  const Definition def{tensors};

  for (const std::string scheme : {"rope", "linear,factor=4"}) {
    const Positions positions = make_positions(config, {{.scheme = scheme}});
    const std::vector<double> inv_freq = positions.schemes[0].spectrum.at(20).inv_freq();
    Rows x = def.embedded(ids);
    for (size_t k = 0; k < x.size(); ++k)
      x[k] += def.value("token_types.weight", static_cast<int64_t>(k % kHidden));
    x = def.normed(x, "token_embd_norm");
    for (int64_t n = 0; n < kLayers; ++n) {
      const std::string layer = "blk." + std::to_string(n) + ".";
      const Rows q = def.times(x, kHidden, layer + "attn_q");
      const Rows k = def.times(x, kHidden, layer + "attn_k");
      const auto logit = [&](int64_t head, int64_t i, int64_t j, double) {
        if (n == 0 && std::abs(i - j) > 3) return -std::numeric_limits<double>::infinity();
        double score = 0;
        for (int64_t pair = 0; pair < 3; ++pair) {
          const auto at = [&](const Rows& of, int64_t row, int64_t c) {
            return of[static_cast<size_t>((row * kHeads + head) * kHeadDim + c)];
          };
          const double angle = inv_freq[static_cast<size_t>(pair)] * static_cast<double>(i - j);
          const double a = at(q, i, pair), b = at(q, i, pair + 3);
          const double c = at(k, j, pair), d = at(k, j, pair + 3);
          score += (a * c + b * d) * std::cos(angle) + (a * d - b * c) * std::sin(angle);
        }
        return score / std::sqrt(static_cast<double>(kHeadDim));
      };
      x = def.normed(sum(x, def.attended(x, x, layer + "attn_", "output", logit)),
                     layer + "attn_output_norm");
      x = def.normed(sum(x, def.fed(x, layer, gelu)), layer + "layer_output_norm");
    }
    const States states = parts.encoder->encode(ids, positions, {});
    EXPECT_LE(worst_difference(rows_of(states), x), kBound) << scheme;
  }
}

// ---- what is refused

template <typename Body>
std::string refusal(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST(Encoder, RefusesSchemesThatAreMoreThanASpectrum) {
  const ModelConfig config = config_of(
      "nomic-bert", plain_rotary({.base = 100.0, .frequency_dim = 6, .trained_length = 64},
                                 {PairOrder::kHalf, kHeadDim, 6}));
  for (const std::string scheme : {"cap,window=8", "window,size=8"}) {
    const Positions positions = make_positions(config, {{.scheme = scheme}});
    EXPECT_THAT(refusal([&] { row_turns(positions, 10); }), HasSubstr("one spectrum")) << scheme;
  }
  EXPECT_EQ(row_turns(make_positions(config, {{.scheme = "linear,factor=2"}}), 10).size(), 1u);
}

TEST(Encoder, RefusesTokensPastTheLearnedRows) {
  const MemorySource source(bert_tensors());
  const ModelConfig config = bert_config();
  const EncoderParts parts = parts_of(config, source);
  const std::vector<int32_t> ids = some_tokens(kPositions + 1, kVocabulary);
  EXPECT_THAT(refusal([&] { parts.encoder->encode(ids, make_positions(config, {}), {}); }),
              HasSubstr("learned row"));
}

TEST(Encoder, RefusesTensorsThatNobodyAskedFor) {
  Tensors tensors = bert_tensors();
  tensors["blk.1.attn_gate.weight"] = tensors["blk.1.attn_q.weight"];
  const MemorySource source(tensors);
  EXPECT_THAT(refusal([&] { parts_of(bert_config(), source); }),
              HasSubstr("blk.1.attn_gate.weight"));
}

TEST(Encoder, IsNoDecoderAndADecoderIsNone) {
  EXPECT_THAT(refusal([] { describe_model(bert_config(), ModelKeys(true), "file"); }),
              AllOf(HasSubstr("no probability of a text"), HasSubstr("ropewalk states"),
                    HasSubstr("--logits-at")));
  EXPECT_THAT(refusal([] { describe_model(t5_config(), ModelKeys(true), "file"); }),
              HasSubstr("--encoder-ids"));
  EXPECT_THAT(refusal([] { describe_encoder(config_of("llama"), ModelKeys(true), "file"); }),
              HasSubstr("modern-bert"));
}

}  // namespace
}  // namespace ropewalk
