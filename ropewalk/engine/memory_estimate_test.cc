#include "ropewalk/engine/memory_estimate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ropewalk/base/aligned_size.h"
#include "ropewalk/engine/test_support.h"

namespace ropewalk {
namespace {

using testing::HasSubstr;

ModelFile tiny_file() { return open_model(fixture("tiny_llama.gguf")); }

Positions declared(const ModelFile& file) { return make_positions(file.config, {}); }

MemoryEstimate losses_of(const ModelFile& file, Precision precision, int64_t tokens) {
  const Positions positions = declared(file);
  return estimate_memory(file, MemoryRun::losses(precision, tokens, &positions));
}

// Every number of the file once, and what packing adds to the smallest matrices.
TEST(MemoryEstimate, WeightsAreThoseOfTheFile) {
  const ModelFile file = tiny_file();
  int64_t numbers = 0;
  for (const TensorInfo& info : file.tensors->tensors())
    numbers += static_cast<int64_t>(element_count(info));
  const int64_t weights = losses_of(file, Precision::kF32, 64).weights;
  EXPECT_GE(weights, numbers * 4 * 3 / 4);  // rows of the embedding are taken from the file
  EXPECT_LE(weights, numbers * 4 * 4);
}

// What has been packed is given back.
TEST(MemoryEstimate, OneTensorOfTheFileIsThereAtOnce) {
  const ModelFile file = tiny_file();
  int64_t largest = 0;
  for (const TensorInfo& info : file.tensors->tensors())
    largest = std::max(largest, static_cast<int64_t>(info.bytes));
  EXPECT_EQ(losses_of(file, Precision::kF32, 64).file, largest);
}

// 2 layers of 2 heads of keys and of values, head_dim 8 stored as 16 for values.
TEST(MemoryEstimate, TheCacheIsOfWholeTilesOfTokens) {
  const ModelFile file = tiny_file();
  EXPECT_EQ(losses_of(file, Precision::kF32, 64).cache, 2 * 2 * 64 * (8 + 16) * 4);
  EXPECT_EQ(losses_of(file, Precision::kF32, 65).cache, 2 * 2 * 128 * (8 + 16) * 4);
}

TEST(MemoryEstimate, ActivationsEndWithTheLargestPart) {
  const ModelFile file = tiny_file();
  const auto of = [&](int64_t tokens) {
    return estimate_memory(file, MemoryRun::losses(Precision::kF32, tokens, nullptr)).activations;
  };
  EXPECT_LT(of(1024), of(Model::kPartRows + 1));
  EXPECT_EQ(of(Model::kPartRows + 1), of(8 * Model::kPartRows));
}

TEST(MemoryEstimate, WhatLiesBesideIsThereWithEachPass) {
  const ModelFile file = tiny_file();
  MemoryRun run = MemoryRun::losses(Precision::kF32, 64, nullptr);
  const MemoryEstimate alone = estimate_memory(file, run);
  run.beside = 12345;
  const MemoryEstimate beside = estimate_memory(file, run);
  EXPECT_EQ(beside.activations, alone.activations + 12345);
  EXPECT_EQ(beside.logits, alone.logits);
}

TEST(MemoryEstimate, LogitsAreOfABlockForEachThread) {
  const ModelFile file = tiny_file();
  const Threads two(2);
  const MemoryEstimate scored = losses_of(file, Precision::kF32, 2048);
  const int64_t block = static_cast<int64_t>(aligned_bytes(size_t{128} * 272 * 4));
  EXPECT_LE(scored.logits, 2 * block + static_cast<int64_t>(aligned_bytes(size_t{2048} * 32 * 4)));
}

TEST(MemoryEstimate, SizesThatFitNoMachineAreRefused) {
  ModelFile file = tiny_file();
  file.config.shape.n_layers = 1 << 20;
  file.config.shape.hidden = 1 << 30;
  EXPECT_THROW(losses_of(file, Precision::kF32, 1 << 20), Error);
}

// A whole prompt is one pass, and a length-dependent scheme's last token computes all rows anew.
TEST(MemoryEstimate, GenerationReadsItsPromptAtOnce) {
  const ModelFile file = tiny_file();
  const Positions plain = declared(file);
  const Positions dynamic = make_positions(file.config, {{.scheme = "dynamic_ntk,factor=2"}});
  EXPECT_EQ(MemoryRun::generation(Precision::kF32, 300, 400, plain).rows, 300);
  EXPECT_EQ(MemoryRun::generation(Precision::kF32, 300, 400, dynamic).rows, 400);
}

// Nothing where this CPU has no product in it.
std::optional<int64_t> wanted_in_bf16(const ModelFile& file, MemoryRun run) {
  if (!has_bf16()) return std::nullopt;
  run.precision = Precision::kBf16;
  return estimate_memory(file, run).wanted();
}

// A layer at a time; what the cache and the pass take stays the same.
TEST(MemoryEstimate, StreamedWeightsAreThoseOfTheLargestLayer) {
  ModelFile file = tiny_file();
  const MemoryEstimate packed = losses_of(file, Precision::kF32, 64);
  file.holding = Holding::kStreamed;
  const MemoryEstimate streamed = losses_of(file, Precision::kF32, 64);
  EXPECT_EQ(streamed.cache, packed.cache);
  EXPECT_EQ(streamed.activations, packed.activations);
  const Threads one(1);
  EXPECT_LT(losses_of(file, Precision::kF32, 64).weights, packed.weights);
}

// A model whose layers outweigh what reading one takes.
TEST(MemoryEstimate, WeightsAreStreamedWhereOnlyThatFits) {
  const Threads one(1);
  ModelFile file = tiny_file();
  const Positions positions = declared(file);
  const auto run = MemoryRun::losses(Precision::kF32, 64, &positions);
  const int64_t packed = estimate_memory(file, run).wanted();
  fit_memory(file, run, "a shorter text", AvailableMemory{packed, "MemAvailable"});
  EXPECT_FALSE(file.streams());
  fit_memory(file, run, "a shorter text", AvailableMemory{packed - 1, "MemAvailable"});
  EXPECT_TRUE(file.streams());
  EXPECT_LT(estimate_memory(file, run).wanted(), packed);
  file.holding = Holding::kPacked;
  const auto refusal = message_of([&] {
    fit_memory(file, run, "a shorter text", AvailableMemory{1000, "MemAvailable"});
  });
  EXPECT_THAT(refusal, HasSubstr("--weights streamed keeps one layer in memory"));
}

TEST(MemoryEstimate, WhatDoesNotFitIsRefusedWithAWord) {
  ModelFile file = tiny_file();
  file.holding = Holding::kStreamed;  // nothing takes less
  const Positions positions = declared(file);
  const auto run = MemoryRun::losses(Precision::kF32, 100000, &positions);
  const int64_t wanted = estimate_memory(file, run).wanted();
  const std::optional<int64_t> less = wanted_in_bf16(file, run);
  fit_memory(file, run, "a shorter text", AvailableMemory{wanted + (1 << 20), "MemAvailable"});
  fit_memory(file, run, "a shorter text", std::nullopt);
  const auto refusal = [&](int64_t bytes) {
    try {
      fit_memory(file, run, "a shorter text", AvailableMemory{bytes, "MemAvailable"});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("not refused");
  };
  const std::string tight = refusal(less.value_or(wanted) / 2);
  EXPECT_THAT(tight, HasSubstr("tiny_llama.gguf: memory: must be at most the"));
  EXPECT_THAT(tight, HasSubstr("(MemAvailable), got " + bytes_text(wanted) + " for 100000 tokens"));
  EXPECT_THAT(tight, HasSubstr("give a shorter text"));
  EXPECT_THAT(refusal(1000), HasSubstr("take a smaller model"));
  if (!less) GTEST_SKIP() << "this CPU has no product in bfloat16: that it is named is not tested";
  EXPECT_THAT(refusal((wanted + *less) / 2), HasSubstr("--precision bf16 wants"));
}

TEST(MemoryEstimate, BytesAreWrittenInTheUnitThatFits) {
  EXPECT_EQ(bytes_text(int64_t{3} << 19), "1.5 MiB");
  EXPECT_EQ(bytes_text(int64_t{5} << 29), "2.50 GiB");
}

}  // namespace
}  // namespace ropewalk
