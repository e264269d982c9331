// Every family's forward pass against its maker's own class: tools/make_family_fixtures.py.
#include "ropewalk/engine/arch/families.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "ropewalk/engine/test_support.h"

namespace ropewalk {
namespace {

using testing::HasSubstr;

struct Case {
  std::string file;
  std::vector<int32_t> ids;
  std::vector<double> losses;
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.file; }

std::vector<Case> all_cases() {
  const auto json = nlohmann::json::parse(read_file(fixture("families/losses.json")));
  std::vector<Case> cases;
  for (const auto& [file, losses] : json["losses"].items())
    cases.push_back({file, json["ids"], losses});
  return cases;
}

class Families : public testing::TestWithParam<Case> {};

TEST_P(Families, LossesAreTheMakers) {
  const Case& one = GetParam();
  const Model model = Model::load(fixture("families/" + one.file), Precision::kF32);
  const Positions positions = make_positions(model.config(), {}, AngleMode::kFloat32);
  EXPECT_LE(worst_difference(model.losses(one.ids, positions), one.losses), 1e-4);
}

Model load(const Case& one, Precision precision, Holding holding) {
  ModelFile file = open_model(fixture("families/" + one.file));
  file.holding = holding;
  return Model(std::move(file), precision);
}

struct Grown {
  std::vector<float> one_by_one;  // logits after the last token, the last nine alone
  std::vector<float> at_once;
};

Grown grow(const Case& one, Precision precision, Holding holding = Holding::kPacked) {
  const Model model = load(one, precision, holding);
  const Positions positions = make_positions(model.config(), {});
  constexpr size_t kTokens = 80;
  const std::span<const int32_t> ids = std::span(one.ids).first(kTokens);
  Sequence grown(model, positions, kTokens);
  std::vector<float> last = copy(grown.append(ids.first(kTokens - 9)));
  for (size_t t = kTokens - 9; t < kTokens; ++t) last = copy(grown.append(ids.subspan(t, 1)));
  Sequence whole(model, positions, kTokens);
  return {std::move(last), copy(whole.append(ids))};
}

// One by one and at once: what generation computes is what losses are computed from.
TEST_P(Families, OneByOneIsAtOnce) {
  const Grown grown = grow(GetParam(), Precision::kF32);
  EXPECT_LE(worst_difference(grown.one_by_one, grown.at_once), 2e-5);
}

// In bf16 generation reads weights and cache by kernels of its own. What is left between the two is
// what bf16 costs either: a sum of roundings of 2^-9 each.
TEST_P(Families, OneByOneIsAtOnceInBf16) {
  SKIP_WITHOUT_BF16();
  const auto [last, wanted] = grow(GetParam(), Precision::kBf16);
  double squares = 0, apart = 0;
  for (size_t id = 0; id < wanted.size(); ++id) {
    squares += static_cast<double>(wanted[id]) * static_cast<double>(wanted[id]);
    apart += std::pow(static_cast<double>(wanted[id]) - static_cast<double>(last[id]), 2);
  }
  std::printf("%-34s %.4f of the logits' size\n", GetParam().file.c_str(),
              std::sqrt(apart / squares));
  EXPECT_LE(std::sqrt(apart / squares), 0.05);
}

TEST_P(Families, StreamedWeightsGiveTheSameBits) {
  const auto losses = [](Holding holding) {
    const Model model = load(GetParam(), Precision::kF32, holding);
    return model.losses(GetParam().ids, make_positions(model.config(), {}));
  };
  EXPECT_EQ(losses(Holding::kStreamed), losses(Holding::kPacked));
  const Precision precision = has_bf16() ? Precision::kBf16 : Precision::kF32;
  const Grown packed = grow(GetParam(), precision);
  const Grown streamed = grow(GetParam(), precision, Holding::kStreamed);
  EXPECT_EQ(streamed.one_by_one, packed.one_by_one);
  EXPECT_EQ(streamed.at_once, packed.at_once);
}

// A weight that is left out must not go by without a word.
TEST_P(Families, EveryMissingMatrixIsNamed) {
  const ModelFile file = open_model(fixture("families/" + GetParam().file));
  std::map<std::string, MemorySource::Tensor> tensors;
  for (const TensorInfo& info : file.tensors->tensors()) {
    std::vector<float> values(element_count(info));
    file.tensors->read_f32(info, values);
    tensors[info.name] = {info.shape, std::move(values)};
  }
  const Blueprint blueprint = describe_model(file.config, file.keys, "a file");
  const auto message = [&](const std::map<std::string, MemorySource::Tensor>& left) {
    const MemorySource source(left);
    return message_of([&] { make_transformer(blueprint, file.config, source, Precision::kF32); });
  };
  const MemorySource all(tensors);
  EXPECT_NO_THROW(make_transformer(blueprint, file.config, all, Precision::kF32));
  for (const auto& [name, tensor] : tensors) {
    const bool used_if_there = name.starts_with("output.") || name.starts_with("rope_f") ||
                               name.ends_with(".bias") || name.starts_with("token_embd_norm") ||
                               tensor.shape.size() < 2;
    if (used_if_there) continue;
    std::map<std::string, MemorySource::Tensor> left = tensors;
    left.erase(name);
    SCOPED_TRACE(name);
    EXPECT_THAT(message(left), testing::Not(testing::IsEmpty()));
  }
  std::map<std::string, MemorySource::Tensor> more = tensors;
  more["blk.0.of_nobody.weight"] = tensors.at("token_embd.weight");
  EXPECT_THAT(message(more), HasSubstr("blk.0.of_nobody.weight"));
}

INSTANTIATE_TEST_SUITE_P(OfEach, Families, testing::ValuesIn(all_cases()), [](const auto& one) {
  std::string name;
  for (const char c : one.param.file.substr(0, one.param.file.find(".gguf")))
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

TEST(Experts, CountsThatCannotBeAreNamed) {
  EXPECT_FALSE(declared_experts(ModelKeys(true)).has_value());
}

TEST(CommandR, LogitsAreScaledAsInTheClassWhereAWrapperSaysNothing) {
  const auto scale_of = [](const nlohmann::ordered_json& config) {
    return describe_command_r(ModelConfig(), ModelKeys::of(config, "config.json")).logit_scale;
  };
  EXPECT_EQ(scale_of({{"model_type", "cohere2"}}), 0.0625f);
  EXPECT_EQ(scale_of({{"logit_scale", 0.25}}), 0.25f);
}

TEST(Gemma, WhatSeesBothWaysIsRefused) {
  const nlohmann::ordered_json config = {{"use_bidirectional_attention", true}};
  const ModelKeys keys = ModelKeys::of(config, "config.json");
  EXPECT_THAT(message_of([&] { describe_gemma(ModelConfig(), keys); }),
              HasSubstr("use_bidirectional_attention: must be false"));
}

TEST(Activations, AnUnknownNameIsRefused) {
  const auto named = [](const std::string& name) {
    return ModelKeys::of(nlohmann::ordered_json{{"hidden_act", name}}, "config.json");
  };
  EXPECT_EQ(declared_activation(named("gelu_new"), Activation::kSilu), Activation::kGeluTanh);
  EXPECT_EQ(declared_activation(ModelKeys(false), Activation::kSilu), Activation::kSilu);
  EXPECT_THAT(message_of([&] { declared_activation(named("mish"), Activation::kSilu); }),
              HasSubstr("got mish"));
}

}  // namespace
}  // namespace ropewalk
