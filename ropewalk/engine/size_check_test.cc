#include "ropewalk/engine/size_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "ropewalk/engine/memory_estimate.h"
#include "ropewalk/engine/test_support.h"

namespace ropewalk {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// What is said of a file whose shape is changed so.
template <typename Change>
std::string refusal(const std::string& path, Change change) {
  ModelFile file = open_model(path);
  change(file.config.shape);
  return message_of(
      [&] { estimate_memory(file, MemoryRun::losses(Precision::kF32, 64, nullptr)); });
}

TEST(SizeCheck, SizesThatTensorsDoNotHaveAreNamedByTheirKeys) {
  const std::string gguf = fixture("tiny_llama.gguf");
  const auto heads = [](ModelShape& shape) { shape.n_heads = 1 << 14; };
  EXPECT_THAT(refusal(gguf, heads),
              AllOf(HasSubstr("llama.attention.head_count: must fit tensor "
                              "blk.0.attn_output.weight"),
                    HasSubstr("got 16384; the configuration or the weights are of another model")));
  EXPECT_THAT(refusal(fixture("tiny_llama_hf"), heads),
              HasSubstr("num_attention_heads: must fit tensor "
                        "model.layers.0.self_attn.o_proj.weight"));
  EXPECT_THAT(refusal(gguf, [](ModelShape& shape) { shape.n_kv_heads = 4; }),
              HasSubstr("llama.attention.head_count_kv: must fit tensor blk.0.attn_k.weight"));
  EXPECT_THAT(refusal(gguf, [](ModelShape& shape) { shape.hidden = 1 << 20; }),
              HasSubstr("llama.embedding_length: must fit tensor token_embd.weight"));
  EXPECT_THAT(refusal(gguf, [](ModelShape& shape) { shape.ffn = 1 << 22; }),
              HasSubstr("llama.feed_forward_length: must fit tensor blk.0.ffn_down.weight"));
  EXPECT_THAT(refusal(fixture("tiny_llama_hf"), [](ModelShape& shape) { shape.vocabulary = 9; }),
              HasSubstr("vocab_size: must fit tensor model.embed_tokens.weight"));
  EXPECT_THAT(refusal(gguf, [](ModelShape& shape) { shape.n_layers = 4096; }),
              HasSubstr("llama.block_count: must be 2, as tensors are of, got 4096"));
}

TEST(SizeCheck, SizesOfTheFileAreTakenAsTheyAre) {
  std::vector<std::string> paths = {fixture("tiny_llama_hf"), fixture("tiny_llama_sharded")};
  for (const auto& entry : std::filesystem::directory_iterator(fixture("families"))) {
    if (entry.path().extension() == ".gguf") paths.push_back(entry.path().string());
  }
  EXPECT_GT(paths.size(), 20u);
  for (const std::string& path : paths) {
    const ModelFile file = open_model(path);
    EXPECT_NO_THROW(refuse_other_sizes(file, describe_file(file))) << path;
  }
}

}  // namespace
}  // namespace ropewalk
