#include "ropewalk/engine/weights.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>

#include "ropewalk/engine/mxfp4_matrices.h"
#include "ropewalk/engine/test_support.h"

namespace ropewalk {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Tensors = std::map<std::string, MemorySource::Tensor>;

// 0, 1, 2...
MemorySource::Tensor counting(std::vector<uint64_t> shape, float first = 0) {
  size_t count = 1;
  for (const uint64_t length : shape) count *= length;
  std::vector<float> values(count);
  for (size_t k = 0; k < count; ++k) values[k] = first + static_cast<float>(k);
  return {std::move(shape), std::move(values)};
}

std::vector<float> rows_of(const WeightRows& rows, int64_t first, int64_t count) {
  std::vector<float> values(static_cast<size_t>(count * rows.inputs));
  rows.read(first, count, values);
  return values;
}

// All rows: at once, and one by one, which must give the same.
std::vector<float> all_of(const WeightRows& rows) {
  std::vector<float> single;
  for (int64_t r = 0; r < rows.outputs; ++r) {
    const std::vector<float> row = rows_of(rows, r, 1);
    single.insert(single.end(), row.begin(), row.end());
  }
  EXPECT_EQ(rows_of(rows, 0, rows.outputs), single);
  return single;
}

Weights weights_of(const TensorSource& source, Storage storage) {
  return Weights(source, {.layer = "h.", .renames = {{"ffn_up", "up", std::move(storage)}}});
}

TEST(Weights, TransposedMatrices) {
  const MemorySource source(Tensors{{"h.0.up.weight", counting({2, 3})}});
  Weights weights = weights_of(source, {.transposed = true});
  const std::string name = weights.name_of("ffn_up", 0);
  EXPECT_EQ(name, "h.0.up.weight");
  EXPECT_THAT(all_of(weights.matrix(name, 3, 2)), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(message_of([&] { weights.matrix(name, 2, 3); }),
              testing::AllOf(HasSubstr("h.0.up.weight"), HasSubstr("[3, 2]"), HasSubstr("[2, 3]")));
}

TEST(Weights, StackedMatricesAreTransposedOneByOne) {
  const MemorySource source(Tensors{{"h.0.up", counting({2, 2, 3})}});
  Weights weights = weights_of(source, {.bare = true, .matrices = 2, .transposed = true});
  EXPECT_THAT(all_of(weights.matrix(weights.name_of("ffn_up", 0), 6, 2)),
              ElementsAre(0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11));
}

// Two heads of queries, one of keys and one of values in either group.
TEST(Weights, DealtRows) {
  const MemorySource source(
      Tensors{{"h.0.up.weight", counting({8, 1})}, {"h.0.up.bias", counting({8}, 10)}});
  Weights weights = weights_of(source, {.parts = {4, 2, 2}, .groups = 2});
  EXPECT_THAT(all_of(weights.matrix(weights.name_of("ffn_up", 0), 8, 1)),
              ElementsAre(0, 1, 4, 5, 2, 6, 3, 7));
  EXPECT_THAT(weights.vector(weights.name_of("ffn_up", 0, "bias"), 8),
              ElementsAre(10, 11, 14, 15, 12, 16, 13, 17));
  EXPECT_NO_THROW(weights.refuse_unused("any"));
}

// Columns of gate and up in turn, for each of two experts, as gpt-oss has them.
TEST(Weights, DealtColumnsOfStackedMatrices) {
  const MemorySource source(
      Tensors{{"h.0.up", counting({2, 2, 4})}, {"h.0.up_bias", counting({2, 4})}});
  Weights weights = weights_of(
      source, {.bare = true, .matrices = 2, .transposed = true, .parts = {2, 2}, .groups = 2});
  EXPECT_THAT(all_of(weights.matrix(weights.name_of("ffn_up", 0), 8, 2)),
              ElementsAre(0, 4, 2, 6, 1, 5, 3, 7, 8, 12, 10, 14, 9, 13, 11, 15));
  EXPECT_EQ(weights.name_of("ffn_up", 0, "bias"), "h.0.up_bias");
  EXPECT_THAT(weights.vector("h.0.up_bias", 8), ElementsAre(0, 2, 1, 3, 4, 6, 5, 7));
}

TEST(Weights, ShapesTellWhetherMatricesAreTransposed) {
  const Storage storage = {.bare = true, .matrices = 2, .either_way = true};
  const MemorySource plain(Tensors{{"h.0.up", counting({2, 1, 2})}});
  const MemorySource turned(Tensors{{"h.0.up", counting({2, 2, 1})}});
  for (const MemorySource* source : {&plain, &turned}) {
    Weights weights = weights_of(*source, storage);
    EXPECT_THAT(all_of(weights.matrix("h.0.up", 2, 2)), ElementsAre(0, 1, 2, 3));
  }
  const MemorySource square(Tensors{{"h.0.up", counting({2, 2, 2})}});
  Weights weights = weights_of(square, storage);
  EXPECT_THAT(message_of([&] { weights.matrix("h.0.up", 4, 2); }),
              HasSubstr("h.0.up: must not hold square matrices"));
}

// Numbers of bytes that all are the same: blocks of 16, and a scale for each.
MemorySource::Tensor bytes(std::vector<uint64_t> shape, uint8_t value) {
  size_t count = 1;
  for (const uint64_t length : shape) count *= length;
  std::vector<float> values(count / sizeof(float));
  std::memset(values.data(), value, count);
  return {std::move(shape), std::move(values), TensorType::kU8};
}

// Two experts whose gate and up lie in turn. Every byte is 0.5 below 1; a row's scale tells it.
Tensors mxfp4_experts() {
  Tensors tensors = {{"h.0.up_blocks", bytes({2, 4, 1, 16}, 0x21)},
                     {"h.0.up_scales", bytes({2, 4, 1}, 127)}};
  auto* const scales = reinterpret_cast<uint8_t*>(tensors["h.0.up_scales"].values.data());
  for (uint8_t row = 0; row < 8; ++row) scales[row] += row;
  return tensors;
}

const Storage kMxfp4Experts = {
    .bare = true, .matrices = 2, .parts = {2, 2}, .groups = 2, .mxfp4 = true};

TEST(Weights, Mxfp4WithScalesApart) {
  const MemorySource source(mxfp4_experts());
  Weights weights = weights_of(source, kMxfp4Experts);
  const std::string name = weights.name_of("ffn_up", 0);
  EXPECT_EQ(weights.count_of(name), 256);
  const std::vector<float> values = all_of(weights.matrix(name, 8, 32));
  const int stored[] = {0, 2, 1, 3, 4, 6, 5, 7};
  for (size_t r = 0; r < 8; ++r) {
    EXPECT_EQ(values[32 * r], std::ldexp(0.5f, stored[r])) << r;
    EXPECT_EQ(values[32 * r + 31], std::ldexp(1.0f, stored[r])) << r;
  }
  EXPECT_NO_THROW(weights.refuse_unused("any"));
}

TEST(Weights, SizesOfMxfp4ForCountingMemory) {
  const TensorInfo blocks = {.name = "up_blocks", .type = TensorType::kU8, .shape = {2, 4, 3, 16}};
  const auto sizes = mxfp4_sizes(blocks);
  ASSERT_TRUE(sizes);
  EXPECT_EQ(sizes->matrices, 2);
  EXPECT_EQ(sizes->outputs, 4);
  EXPECT_EQ(sizes->inputs, 96);
  const auto scales =
      mxfp4_sizes({.name = "up_scales", .type = TensorType::kU8, .shape = {2, 4, 3}});
  ASSERT_TRUE(scales);
  EXPECT_EQ(scales->matrices, 0);
  EXPECT_FALSE(
      mxfp4_sizes({.name = "up_blocks", .type = TensorType::kF32, .shape = {2, 4, 3, 16}}));
  EXPECT_FALSE(mxfp4_sizes({.name = "up_blocks", .type = TensorType::kU8, .shape = {8, 16}}));
  const auto none = mxfp4_sizes(
      {.name = "up_blocks", .type = TensorType::kU8, .shape = {uint64_t{1} << 63, 0, 1, 16}});
  ASSERT_TRUE(none);
  EXPECT_EQ(none->matrices, 0) << "without elements its other sizes say nothing";
}

TEST(Weights, DamagedMxfp4IsRefusedByName) {
  const auto refusal = [](const Tensors& tensors, int64_t outputs = 8, int64_t inputs = 32) {
    const MemorySource source(tensors);
    return message_of([&] {
      Weights weights = weights_of(source, kMxfp4Experts);
      all_of(weights.matrix(weights.name_of("ffn_up", 0), outputs, inputs));
    });
  };
  Tensors tensors = mxfp4_experts();
  tensors.erase("h.0.up_scales");
  EXPECT_THAT(refusal(tensors), HasSubstr("h.0.up_scales: must be present, with shape [2, 4, 1]"));
  tensors = mxfp4_experts();
  tensors.erase("h.0.up_blocks");
  EXPECT_THAT(refusal(tensors), HasSubstr("h.0.up_blocks: must be present"));
  tensors = mxfp4_experts();
  tensors["h.0.up_scales"] = bytes({2, 2, 2}, 127);
  EXPECT_THAT(refusal(tensors), HasSubstr("h.0.up_scales: must have shape [2, 4, 1], got [2, 2"));
  tensors = mxfp4_experts();
  tensors["h.0.up_blocks"] = bytes({2, 4, 16}, 0x21);
  EXPECT_THAT(refusal(tensors), HasSubstr("h.0.up_blocks: must have shape [2, 4, 1, 16]"));
  tensors = mxfp4_experts();
  tensors["h.0.up_blocks"].type = TensorType::kI8;
  EXPECT_THAT(refusal(tensors), HasSubstr("h.0.up_blocks: must hold bytes (U8)"));
  EXPECT_THAT(refusal(mxfp4_experts(), 8, 40), HasSubstr("whole blocks of 32, got 40 inputs"));
  tensors = mxfp4_experts();
  reinterpret_cast<uint8_t*>(tensors["h.0.up_scales"].values.data())[6] = 255;
  EXPECT_THAT(refusal(tensors), HasSubstr("h.0.up_scales: must hold scales below 255"));
}

TEST(Weights, ATensorForEachMatrix) {
  const MemorySource source(Tensors{{"h.0.e.0.up.weight", counting({1, 2})},
                                    {"h.0.e.1.up.weight", counting({1, 2}, 2)},
                                    {"h.0.e.0.up.bias", counting({1}, 7)},
                                    {"h.0.e.1.up.bias", counting({1}, 8)},
                                    {"h.1.e.0.up.weight", counting({1, 2})}});
  Weights weights(
      source, {.layer = "h.", .renames = {{"ffn_up", "e.{}.up", {.tensors = 2, .matrices = 2}}}});
  const std::string name = weights.name_of("ffn_up", 0);
  EXPECT_TRUE(weights.has(name));
  EXPECT_EQ(weights.count_of(name), 4);
  EXPECT_THAT(all_of(weights.matrix(name, 2, 2)), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(weights.vector_if(weights.name_of("ffn_up", 0, "bias"), 2), ElementsAre(7, 8));
  EXPECT_THAT(message_of([&] { weights.refuse_unused("any"); }), HasSubstr("h.1.e.0.up.weight"));
  EXPECT_THAT(message_of([&] { weights.matrix(weights.name_of("ffn_up", 1), 2, 2); }),
              HasSubstr("h.1.e.1.up.weight: must be present"));
}

TEST(Weights, ARootThatAFileLacksIsNotAsked) {
  const TensorNames names = {.layer = "transformer.h.",
                             .renames = {{"token_embd", "transformer.wte"}, {"output", "lm_head"}},
                             .root = "transformer.",
                             .ignored = {".attn.bias"}};
  const MemorySource with(Tensors{{"transformer.wte.weight", counting({2, 2})}});
  EXPECT_EQ(Weights(with, names).name_of("token_embd"), "transformer.wte.weight");
  const MemorySource without(
      Tensors{{"wte.weight", counting({2, 2})}, {"h.0.attn.bias", counting({2, 2})}});
  Weights weights(without, names);
  EXPECT_EQ(weights.name_of("attn_q", 0), "h.0.attn_q.weight");
  EXPECT_EQ(weights.layer(), "h.");
  EXPECT_EQ(weights.name_of("output"), "lm_head.weight");
  weights.matrix(weights.name_of("token_embd"), 2, 2);
  EXPECT_NO_THROW(weights.refuse_unused("any"));
}

}  // namespace
}  // namespace ropewalk
