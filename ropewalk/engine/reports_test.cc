// Faults that public bug reports tell of, in engines (LNG, LAY, CFG, OVF, INI), by the codes of the
// project's collection: what is right is held to here.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <cmath>
#include <memory>
#include <numbers>

#include "ropewalk/engine/rotation_tables.h"
#include "ropewalk/engine/test_support.h"
#include "ropewalk/math/reference.h"
#include "ropewalk/math/turns.h"

namespace ropewalk {
namespace {

// The tiny model's, as if it had been trained at so many tokens.
Positions trained_at(int64_t length, const std::string& scheme) {
  ModelConfig config = tiny_model().config();
  for (LayerGroup& group : config.groups) group.rotary->source.trained_length = length;
  return make_positions(config, {{.scheme = scheme}});
}

std::vector<float> logits_at_once(const Positions& positions, std::span<const int32_t> ids) {
  Sequence sequence(tiny_model(), positions, static_cast<int64_t>(ids.size()));
  return copy(sequence.append(ids));
}

// The fault: keys of the cache stayed turned by the short factors when the long ones came in.
TEST(Reports, LNG_01_GenerationAcrossTheSwitchIsAFreshPrefill) {
  const Positions positions = trained_at(4096, "longrope,long=1:2:3:4,short=1:1:1:2");
  const std::vector<int32_t> ids = some_tokens(4110);
  Sequence sequence(tiny_model(), positions, 4110);
  sequence.append(std::span(ids).first(4090));
  std::vector<float> generated;
  for (size_t t = 4090; t < ids.size(); ++t) {
    generated = copy(sequence.append(std::span(ids).subspan(t, 1)));
    if (t == 4095) {
      EXPECT_LE(worst_difference(generated, logits_at_once(positions, std::span(ids).first(4096))),
                1e-4);
    }
  }
  EXPECT_LE(worst_difference(generated, logits_at_once(positions, ids)), 1e-4);
  const Positions unchanged = trained_at(4096, "longrope,long=1:1:1:2,short=1:1:1:2");
  EXPECT_GT(worst_difference(generated, logits_at_once(unchanged, ids)), 1e-4) << "no switch seen";
}

// A change of scheme carries the order of pairs and the rotated width over.
TEST(Reports, LAY_10_SchemesKeepTheLayout) {
  ModelConfig config;
  config.shape.head_dim = 16;
  set_single_group(
      config, 2,
      {.rotary = plain_rotary({.base = 10000.0, .frequency_dim = 8, .trained_length = 128},
                              {PairOrder::kInterleaved, 16, 8})});
  for (const char* const scheme :
       {"declared", "rope", "linear,factor=4", "yarn,factor=4", "dynamic_ntk,factor=2",
        "llama3,factor=8,low=1,high=4,original=64", "cap,window=40+logn", "log_tail,window=30"}) {
    const Positions positions = make_positions(config, {{.scheme = scheme}});
    const PairLayout& layout = positions.schemes[positions.layers[0]].layout;
    EXPECT_EQ(layout.order, PairOrder::kInterleaved) << scheme;
    EXPECT_EQ(layout.rotary_dim, 8) << scheme;
    EXPECT_EQ(layout.head_dim, 16) << scheme;
  }
}

// Llama 3's rule, written again in plain double.
std::vector<double> llama3_again(double base, int64_t dim, double factor, double original) {
  std::vector<double> inv_freq;
  for (int64_t pair = 0; pair < dim / 2; ++pair) {
    const double plain =
        std::pow(base, -2.0 * static_cast<double>(pair) / static_cast<double>(dim));
    const double turns = original * plain / (2 * std::numbers::pi);
    const double smooth = std::clamp((turns - 1) / (4 - 1), 0.0, 1.0);
    inv_freq.push_back((1 - smooth) * plain / factor + smooth * plain);
  }
  return inv_freq;
}

// The fault: the checker took the table under test for its own.
TEST(Reports, CFG_21_TablesAgainstASecondComputation) {
  ModelConfig config;
  config.shape.head_dim = 128;
  set_single_group(
      config, 1,
      {.rotary = plain_rotary({.base = 500000.0, .frequency_dim = 128, .trained_length = 131072},
                              {PairOrder::kHalf, 128, 128})});
  const auto worst = [&](const std::string& scheme) {
    const Positions positions = make_positions(config, {{.scheme = scheme}});
    RotationTables tables(positions, 1001, 0, 1001);
    const std::vector<double> wanted = llama3_again(500000, 128, 8, 8192);
    double difference = 0;
    for (const HeardPair& heard : tables.span(0, 0).heard(0)) {
      const double angle = 1000 * wanted[static_cast<size_t>(heard.pair)];
      const double cos = heard.query_cos[1000] * static_cast<double>(heard.key_cos[0]) +
                         heard.query_sin[1000] * static_cast<double>(heard.key_sin[0]);
      difference = std::max(difference, std::abs(cos - std::cos(angle)));
    }
    return difference;
  };
  EXPECT_LE(worst("llama3,factor=8,low=1,high=4,original=8192"), 1e-6);
  EXPECT_GT(worst("rope"), 0.1) << "a forward pass that ignores the rule";
}

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// One layer, as narrow as can be, of a large vocabulary.
Model of_vocabulary(int64_t vocabulary) {
  constexpr uint64_t kWidth = 8;
  ModelFile file;
  file.config.architecture = "llama";
  file.config.shape = {.n_layers = 1,
                       .hidden = kWidth,
                       .n_heads = 1,
                       .n_kv_heads = 1,
                       .head_dim = kWidth,
                       .ffn = kWidth,
                       .vocabulary = vocabulary,
                       .norm_epsilon = 1e-3};
  set_single_group(file.config, 1,
                   {.rotary = plain_rotary({.base = 10000.0, .frequency_dim = kWidth},
                                           {PairOrder::kHalf, kWidth, kWidth})});
  std::mt19937 generator(5);
  std::map<std::string, MemorySource::Tensor> tensors;
  const auto words = static_cast<uint64_t>(vocabulary);
  for (const char* const name : {"model.embed_tokens", "lm_head"}) {
    tensors[std::string(name) + ".weight"] = random_tensor({words, kWidth}, 1, generator);
  }
  const std::string layer = "model.layers.0.";
  for (const std::string& name :
       {std::string("model.norm"), layer + "input_layernorm", layer + "post_attention_layernorm"}) {
    tensors[name + ".weight"] = random_tensor({kWidth}, 1, generator);
  }
  for (const char* const name :
       {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
        "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"}) {
    tensors[layer + name + ".weight"] = random_tensor({kWidth, kWidth}, 0.3, generator);
  }
  file.tensors = std::make_shared<MemorySource>(tensors);
  return Model(std::move(file), Precision::kF32);
}

// Logits of 20480 x 151936 are more than 2^31; losses need those of one block of rows alone.
TEST(Reports, OVF_06_MemoryOfLossesDoesNotGoByTheContext) {
  constexpr int64_t kVocabulary = 151936;
  static_assert(int64_t{20480} * kVocabulary == 3111649280);
  static_assert(std::numeric_limits<int32_t>::max() / kVocabulary == 14134);
  static_assert(Dense::kBlockRows <= 14134);
  const Threads one(1);
  const Model model = of_vocabulary(kVocabulary);
  const Positions positions = make_positions(model.config(), {});
  const std::vector<int32_t> ids = some_tokens(769, kVocabulary);
  const auto short_losses = model.losses(std::span(ids).first(129), positions);
  const double before = peak_megabytes();
  const auto losses = model.losses(ids, positions);
  EXPECT_LT(peak_megabytes() - before, 50) << "all logits are 467 megabytes";
  EXPECT_EQ(losses.size(), 768u);
  EXPECT_LE(worst_difference(std::span(losses).first(128), short_losses), 1e-5);
}

// The fault: the scheme was set after the table had been made from the one before.
TEST(Reports, INI_03_AChangedSchemeIsHeard) {
  const std::vector<double> query = {1, 2, 3, 4, 5, 6, 7, 8}, key = {8, 7, 6, 5, 4, 3, 2, 1};
  const auto score = [&](const Positions& positions) {
    const Rotary& rotary = positions.schemes[positions.layers[0]];
    const Spectrum spectrum = rotary.spectrum.at(5001);
    return reference_logit(rotary, spectrum, spectrum, 5000, 0, query, key);
  };
  const Positions plain = under(tiny_model(), "rope");
  const double before = score(plain);
  const Positions linear = under(tiny_model(), "linear,factor=4");
  EXPECT_GT(std::abs(score(linear) - before), 0.1);
  EXPECT_EQ(score(plain), before);

  // What is used is what the scheme says.
  RotationTables tables(linear, 5001, 5000, 1);
  const Spectrum declared = linear.schemes[linear.layers[0]].spectrum.at(5001);
  for (const HeardPair& heard : tables.span(linear.layers[0], 0).heard(0)) {
    const auto turns = declared.turns_per_token[static_cast<size_t>(heard.pair)];
    const double cos = heard.query_cos[0] * static_cast<double>(heard.key_cos[0]) +
                       heard.query_sin[0] * static_cast<double>(heard.key_sin[0]);
    EXPECT_NEAR(cos, cos_sin_at(5000.0, turns).cos, 2e-7);
  }
  const std::vector<int32_t> ids = some_tokens(100);
  EXPECT_GT(worst_difference(logits_at_once(linear, ids), logits_at_once(plain, ids)), 1e-3);
}

}  // namespace
}  // namespace ropewalk
