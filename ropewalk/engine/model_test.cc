#include "ropewalk/engine/model.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <numeric>

#include "ropewalk/engine/test_support.h"
#include "ropewalk/formats/gguf.h"
#include "ropewalk/testing/split_gguf.h"

namespace ropewalk {
namespace {

using testing::HasSubstr;

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

TEST(Model, EveryFormGivesTheExpectedLosses) {
  const Expected expected = tiny_expected();
  std::vector<std::vector<double>> losses;
  for (const char* name : {"tiny_llama.gguf", "tiny_llama_hf", "tiny_llama_sharded"}) {
    const Model model = Model::load(fixture(name), Precision::kF32);
    losses.push_back(
        model.losses(expected.tokens, make_positions(model.config(), {}, AngleMode::kExact)));
    EXPECT_LE(worst_difference(losses.back(), expected.losses), 2e-5) << name;
  }
  EXPECT_EQ(losses[1], losses[2]);
  // Other pairs lie side by side, so sums may run in another order.
  EXPECT_LE(worst_difference(losses[0], losses[1]), 1e-5);
}

TEST(Model, PartsGiveTheLossesOfTheWhole) {
  const std::vector<std::string> parts = split_gguf(GgufFile::open(fixture("tiny_llama.gguf")), 3);
  const TempDirectory folder;
  std::vector<std::string> paths;
  for (size_t k = 0; k < parts.size(); ++k) {
    paths.push_back(folder.write(part_name("m", k, parts.size()), parts[k]));
  }
  const std::vector<int32_t> ids = some_tokens(40);
  for (const std::string& path : paths) {
    const Model model = Model::load(path, Precision::kF32);
    EXPECT_EQ(model.tokenizer().size(), 272u);
    EXPECT_EQ(model.losses(ids, under(model, "declared")),
              tiny_model().losses(ids, under(tiny_model(), "declared")));
  }
  std::filesystem::remove(paths[1]);
  EXPECT_THAT(message_of([&] { Model::load(paths[0], Precision::kF32); }),
              HasSubstr(paths[1] + ": must be there: it is part 2 of 3"));
}

TEST(Model, KnowsItsTokenizerOrSaysWhyNot) {
  EXPECT_EQ(tiny_model().tokenizer().size(), 272u);
  const Model model = Model::load(fixture("tiny_llama_hf"), Precision::kF32);
  EXPECT_THAT(message_of([&] { model.tokenizer(); }), HasSubstr("give token ids"));
}

TEST(Model, Float32AnglesAreNearExactOnes) {
  const std::vector<int32_t> ids = some_tokens(300);
  const Positions exact = under(tiny_model(), "declared");
  const Positions rounded = make_positions(tiny_model().config(), {}, AngleMode::kFloat32);
  const std::vector<double> a = tiny_model().losses(ids, exact);
  const std::vector<double> b = tiny_model().losses(ids, rounded);
  EXPECT_NE(a, b);
  EXPECT_LE(worst_difference(a, b), 5e-3);
}

TEST(Model, ShowsQueriesAndKeysBeforeTheyAreRotated) {
  std::vector<int32_t> ids = some_tokens(200);
  ids[150] = ids[3];
  std::vector<int64_t> layers;
  std::vector<bool> alike;  // the queries and keys of the two equal tokens
  tiny_model().observe(
      ids, under(tiny_model(), "temperature,factor=2"), [&](const LayerView& view) {
        const auto equal = [](const float* rows, size_t width) {
          return std::equal(rows + 3 * width, rows + 4 * width, rows + 150 * width);
        };
        layers.push_back(view.layer);
        alike.push_back(equal(view.q, 4 * 8) && equal(view.k, 2 * 8));
        EXPECT_EQ(view.n_rows, 200);
        EXPECT_EQ(view.row_scale.size(), 200u);
        EXPECT_FLOAT_EQ(view.row_scale[9], 2 / std::sqrt(8.0f));
        EXPECT_EQ(view.chunk, 0);
        EXPECT_TRUE(view.sinks.empty());
      });
  EXPECT_EQ(layers, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(alike, (std::vector<bool>{true, false}));  // the second layer has seen their places
  EXPECT_THROW(tiny_model().observe({}, under(tiny_model(), "declared"), {}), Error);
}

const char* const kManySchemes[] = {
    "declared",
    "yarn,factor=4",
    "cap,window=40+logn",
    "log_tail,window=30",
    "self_extend,window=32,group=4",
    "full_turn",
    "full_turn,mode=freeze",
    "sinks,count=4,size=50",
    "window,size=70",
    "dynamic_ntk,factor=2",
    "dynamic_ntk,block=all",
    "stale_dynamic_ntk",
    "longrope,long=1:2:3:4,short=1:1:1:1",
};

// Past the trained length, over rows that make up no whole blocks.
constexpr size_t kManyTokens = 333;

TEST(Model, ThreadsDoNotChangeABit) {
  const std::vector<int32_t> ids = some_tokens(kManyTokens);
  for (const char* scheme : kManySchemes) {
    const Positions positions = under(tiny_model(), scheme);
    std::vector<double> losses;
    std::vector<float> logits;
    for (const int threads : {1, 2, 3}) {
      const Threads guard(threads);
      const std::vector<double> own = tiny_model().losses(ids, positions);
      Sequence sequence(tiny_model(), positions, kManyTokens);
      sequence.append(std::span(ids).first(200));
      const std::vector<float> own_logits = copy(sequence.append(std::span(ids).subspan(200)));
      if (threads == 1) {
        losses = own;
        logits = own_logits;
      }
      EXPECT_EQ(own, losses) << scheme << ", " << threads << " threads";
      EXPECT_EQ(own_logits, logits) << scheme << ", " << threads << " threads";
    }
  }
}

// Weights are packed by as many threads as there are.
TEST(Model, ThreadsOfLoadingDoNotChangeABit) {
  const Expected expected = tiny_expected();
  std::vector<std::vector<double>> losses;
  for (const int threads : {1, 3}) {
    const Threads guard(threads);
    const Model model = Model::load(fixture("tiny_llama.gguf"), Precision::kF32);
    losses.push_back(model.losses(expected.tokens, under(model, "declared")));
  }
  EXPECT_EQ(losses[0], losses[1]);
}

TEST(Model, Bf16IsNearAndTheSameOnAnyThreads) {
  const Expected expected = tiny_expected();
  std::vector<double> losses;
  try {
    const Model model = Model::load(fixture("tiny_llama.gguf"), Precision::kBf16);
    for (const char* scheme : {"declared", "dynamic_ntk", "log_tail,window=20"}) {
      const Positions positions = under(model, scheme);
      const Threads one(1);
      losses = model.losses(expected.tokens, positions);
      for (const int threads : {2, 3}) {
        const Threads guard(threads);
        EXPECT_EQ(model.losses(expected.tokens, positions), losses) << scheme;
      }
      const std::vector<double> f32 =
          tiny_model().losses(expected.tokens, under(tiny_model(), scheme));
      EXPECT_LE(worst_difference(losses, f32), 0.5) << scheme;
      EXPECT_LE(std::abs(mean(losses) - mean(f32)), 0.02) << scheme;
      EXPECT_GE(worst_difference(losses, f32), 1e-4) << scheme << ": is it rounded at all?";
    }
  } catch (const Error& error) {
    if (error.rule() != "this CPU or its oneDNN has no product for it") throw;
    EXPECT_THAT(error.what(), HasSubstr("--precision f32"));
    GTEST_SKIP() << "this CPU has no product in bfloat16: it is not tested";
  }
}

// What causal means. Under a length-dependent scheme earlier losses may change, and must where the
// spectrum does.
TEST(Model, AnAppendedTokenChangesNoEarlierLoss) {
  const std::vector<int32_t> ids = some_tokens(kManyTokens);
  for (const char* scheme : kManySchemes) {
    const Positions positions = under(tiny_model(), scheme);
    const std::vector<double> all = tiny_model().losses(ids, positions);
    for (const size_t count : {size_t{3}, size_t{129}, kManyTokens - 1}) {
      const std::vector<double> fewer = tiny_model().losses(std::span(ids).first(count), positions);
      const auto head = std::span(all).first(fewer.size());
      const SpectrumRule& rule = positions.schemes.front().spectrum;
      // The last row has no loss yet.
      const bool changes =
          first_stale_row(positions, static_cast<int64_t>(count),
                          static_cast<int64_t>(kManyTokens)) < static_cast<int64_t>(count) - 1;
      if (rule.length() == SpectrumRule::Length::kFixed ||
          rule.length() == SpectrumRule::Length::kToken) {
        EXPECT_FALSE(changes) << scheme;
      }
      if (changes) {
        EXPECT_GT(worst_difference(head, fewer), 1e-5) << scheme << ", " << count << " tokens";
      } else {
        EXPECT_LE(worst_difference(head, fewer), 1e-5) << scheme << ", " << count << " tokens";
      }
    }
  }
}

TEST(Model, OtherLayersKeepTheirScheme) {
  const std::vector<int32_t> ids = some_tokens(200);
  const ModelConfig& config = tiny_model().config();
  const auto losses = [&](const std::vector<LayerScheme>& changes) {
    return tiny_model().losses(ids, make_positions(config, changes));
  };
  const std::vector<double> both = losses({{.scheme = "linear,factor=4"}});
  EXPECT_EQ(losses({{.scheme = "linear,factor=4", .first = 0, .last = 0},
                    {.scheme = "linear,factor=4", .first = 1, .last = 1}}),
            both);
  // The later change lies on the earlier; a spectrum replaces a spectrum.
  EXPECT_EQ(losses({{.scheme = "yarn,factor=2"}, {.scheme = "linear,factor=4"}}), both);
  const std::vector<double> first = losses({{.scheme = "linear,factor=4", .last = 0}});
  const std::vector<double> second = losses({{.scheme = "linear,factor=4", .first = 1}});
  const std::vector<double> none = losses({});
  EXPECT_NE(first, second);
  EXPECT_NE(first, both);
  EXPECT_NE(second, both);
  EXPECT_NE(first, none);
  EXPECT_NE(second, none);
  // A layer may depend on the length beside one that does not.
  EXPECT_NE(losses({{.scheme = "dynamic_ntk", .first = 1}}), none);
}

TEST(Model, ProgressRisesToOne) {
  std::vector<double> shares;
  tiny_model().losses(some_tokens(10), under(tiny_model(), "declared"),
                      [&](double share) { shares.push_back(share); });
  EXPECT_EQ(shares, (std::vector<double>{0.5, 1.0}));
}

TEST(Model, WrongTokensAreNamed) {
  const Positions positions = under(tiny_model(), "declared");
  const auto message = [&](const std::vector<int32_t>& ids) {
    return message_of([&] { tiny_model().losses(ids, positions); });
  };
  EXPECT_THAT(message({1, 2, 272}), HasSubstr("token 2: must be an id from 0 to 271, got 272"));
  EXPECT_THAT(message({1, -1}), HasSubstr("token 1"));
  EXPECT_THAT(message({5}), HasSubstr("at least two, got 1"));
  EXPECT_THAT(message({}), HasSubstr("at least two, got 0"));
}

// A weight that is no number must not come out as a loss.
TEST(Model, ResultsThatAreNoNumbersAreRefused) {
  std::string bytes = read_file(fixture("tiny_llama.gguf"));
  const GgufFile whole = GgufFile::open(fixture("tiny_llama.gguf"));
  const TensorInfo* const info = whole.find_tensor("output_norm.weight");
  ASSERT_NE(info, nullptr);
  const float wrong = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(bytes.data() + info->offset, &wrong, sizeof(wrong));
  const TempDirectory folder;
  const Model model = Model::load(folder.write("nan.gguf", bytes), Precision::kF32);
  const Positions positions = under(model, "declared");
  const std::vector<int32_t> ids = some_tokens(5);
  EXPECT_THAT(message_of([&] { model.losses(ids, positions); }), HasSubstr("must be finite"));
  Sequence sequence(model, positions, 5);
  EXPECT_THAT(message_of([&] { sequence.append(ids); }), HasSubstr("must be finite"));
}

TEST(Model, WrongPathsAreNamed) {
  const TempDirectory folder;
  const auto message = [](const std::string& path) {
    return message_of([&] { Model::load(path, Precision::kF32); });
  };
  EXPECT_THAT(message(folder.path() + "/nothing.gguf"), HasSubstr("nothing.gguf"));
  EXPECT_THAT(message(folder.path()), HasSubstr("config.json"));
  EXPECT_THAT(message(folder.write("empty.gguf", "")), HasSubstr("empty.gguf"));
  folder.write("config.json", read_file(fixture("tiny_llama_hf/config.json")));
  EXPECT_THAT(message(folder.path()), HasSubstr("safetensors"));
}

TEST(Model, WhatIsNotRunIsRefusedByName) {
  const auto refusal = [](const std::string& architecture, bool is_gguf) {
    ModelConfig config;
    config.architecture = architecture;
    return message_of([&] { describe_model(config, ModelKeys(is_gguf), "a file"); });
  };
  EXPECT_THAT(refusal("mamba", true), HasSubstr("gpt2, gptneox"));
  EXPECT_THAT(refusal("mamba", true), HasSubstr("got mamba"));
  EXPECT_THAT(refusal("mamba", false), HasSubstr("olmo3, opt"));
}

TEST(GreedyChoice, TakesTheFirstOfTheLargest) {
  EXPECT_EQ(greedy_choice(std::vector<float>{1}), 0);
  EXPECT_EQ(greedy_choice(std::vector<float>{-3, 2, 1, 2}), 1);
  EXPECT_EQ(greedy_choice(std::vector<float>{-3, -2, -1}), 2);
}

}  // namespace
}  // namespace ropewalk
