#include "ropewalk/formats/tensor_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>

#include "ropewalk/formats/gguf.h"
#include "ropewalk/formats/safetensors.h"
#include "ropewalk/formats/test_support.h"

namespace ropewalk {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(TensorSource, ReadsAnyRunOfRows) {
  const GgufFile file = GgufFile::open(fixture("types.gguf"));
  for (const TensorInfo& info : file.tensors()) {
    const uint64_t width = row_length(info);
    ASSERT_EQ(row_count(info), 3u);
    std::vector<float> whole(element_count(info));
    file.read_f32(info, whole);
    for (uint64_t first = 0; first <= 3; ++first) {
      for (uint64_t count = 0; first + count <= 3; ++count) {
        std::vector<float> rows(count * width);
        file.read_rows(info, first, count, rows);
        EXPECT_TRUE(std::equal(rows.begin(), rows.end(),
                               whole.begin() + static_cast<ptrdiff_t>(first * width)))
            << info.name << " rows " << first << " + " << count;
      }
    }
  }
}

TEST(TensorSource, NamesTheBlockWhoseScaleIsNoNumber) {
  std::string stored = read_file(fixture("types.gguf"));
  const GgufFile sound = GgufFile::parse(as_bytes(stored), "m");
  const TensorInfo* const info = sound.find_tensor("q5_1");
  ASSERT_NE(info, nullptr);
  // Row 2, block 1: the minimum becomes NaN.
  const uint64_t block = 2 * (row_length(*info) / block_elements(info->type)) + 1;
  const uint16_t nan = 0x7e00;
  std::memcpy(stored.data() + info->offset + block * block_bytes(info->type) + 2, &nan, 2);
  const GgufFile file = GgufFile::parse(as_bytes(stored), "m");
  std::vector<float> rows(2 * row_length(*info));
  EXPECT_NO_THROW(file.read_rows(*info, 0, 2, rows));
  EXPECT_THAT(message_of([&] { file.read_rows(*info, 1, 2, rows); }),
              AllOf(HasSubstr("m: tensor q5_1: must have finite scales"),
                    HasSubstr("nan in block 1 of row 2")));
}

TEST(TensorSource, GettersStateBothShapes) {
  const GgufFile file = GgufFile::open(fixture("tiny_llama.gguf"));
  EXPECT_EQ(read_matrix(file, "blk.0.attn_k.weight", 16, 32).size(), 16u * 32);
  EXPECT_EQ(read_vector(file, "output_norm.weight", 32).size(), 32u);
  EXPECT_THAT(message_of([&] { read_matrix(file, "blk.0.attn_k.weight", 32, 16); }),
              AllOf(HasSubstr("blk.0.attn_k.weight"), HasSubstr("must have shape [32, 16]"),
                    HasSubstr("got [16, 32]")));
  EXPECT_THAT(message_of([&] { read_vector(file, "rope_freqs.weight", 4); }),
              AllOf(HasSubstr("rope_freqs.weight"), HasSubstr("must be present, with shape [4]")));
  EXPECT_EQ(file.find_tensor("blk.0.attn_k"), nullptr);
}

TEST(TensorSource, BothFormatsShowOneModel) {
  const GgufFile gguf = GgufFile::open(fixture("tiny_llama.gguf"));
  const Safetensors single = Safetensors::open(fixture("tiny_llama_hf"));
  const Safetensors sharded = Safetensors::open(fixture("tiny_llama_sharded"));
  const std::pair<const char*, const char*> names[] = {
      {"token_embd.weight", "model.embed_tokens.weight"},
      {"blk.0.attn_v.weight", "model.layers.0.self_attn.v_proj.weight"},
      {"blk.1.ffn_down.weight", "model.layers.1.mlp.down_proj.weight"},
      {"output_norm.weight", "model.norm.weight"},
  };
  for (const auto& [ours, theirs] : names) {
    const TensorInfo* const info = gguf.find_tensor(ours);
    ASSERT_NE(info, nullptr);
    std::vector<float> values(element_count(*info));
    gguf.read_f32(*info, values);
    for (const TensorSource* const source : {&single, &sharded}) {
      const TensorInfo* const other = source->find_tensor(theirs);
      ASSERT_NE(other, nullptr);
      EXPECT_EQ(other->shape, info->shape) << theirs;
      EXPECT_EQ(other->type, TensorType::kBF16);
      std::vector<float> same(element_count(*other));
      source->read_f32(*other, same);
      EXPECT_EQ(values, same) << theirs;
    }
  }
}

// Hugging Face splits each head's rows in halves, llama.cpp interleaves them: the rows are the
// same.
TEST(TensorSource, QueryRowsDifferByTheirOrderAlone) {
  const GgufFile gguf = GgufFile::open(fixture("tiny_llama.gguf"));
  const Safetensors hf = Safetensors::open(fixture("tiny_llama_hf"));
  const auto interleaved = read_matrix(gguf, "blk.1.attn_q.weight", 32, 32);
  const auto halves = read_matrix(hf, "model.layers.1.self_attn.q_proj.weight", 32, 32);
  constexpr int kHeadDim = 8;
  for (int row = 0; row < 32; ++row) {
    const int c = row % kHeadDim;
    const int other = row - c + c % 2 * (kHeadDim / 2) + c / 2;
    EXPECT_EQ(std::memcmp(&interleaved[row * 32], &halves[other * 32], 32 * sizeof(float)), 0)
        << row;
  }
}

}  // namespace
}  // namespace ropewalk
